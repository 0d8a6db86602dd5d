/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of ELF files: temporary files, and the libc in our memory. */
#ifndef TESTS_UNIT_ELF_ELF_COPIES_H
#define TESTS_UNIT_ELF_ELF_COPIES_H

#include "check.h"

#include <dlfcn.h>
#include <link.h>

#include "elf/elf.h"
#include "unit/process/child.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct elf_file *, elf_file_close);

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static inline char *temp_path(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", child_tmpdir(), name);
	return path;
}

static inline void remove_temp(char *path)
{
	unlink(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
}

static inline struct link_map *libc_in_memory(void **handle)
{
	struct link_map *map = NULL;

	*handle = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	if (!*handle || dlinfo(*handle, RTLD_DI_LINKMAP, &map))
		check_skip("this test looks at a shared glibc");
	return map;
}

#endif
