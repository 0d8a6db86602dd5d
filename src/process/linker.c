// SPDX-License-Identifier: Apache-2.0
#include "process/linker.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "process/live_thread.h"
#include "util/cleanup.h"
#include "util/path.h"

void auxv_read(pid_t pid, struct auxv *ret)
{
	uint64_t pair[2];

	*ret = (struct auxv){0};

	_cleanup_(closep) int fd = live_thread_open(pid, "auxv", O_RDONLY | O_CLOEXEC);

	while (fd >= 0 && read(fd, pair, sizeof(pair)) == sizeof(pair) &&
	       pair[0] != AT_NULL) {
		if (pair[0] == AT_BASE)
			ret->linker_base = pair[1];
		if (pair[0] == AT_PHDR)
			ret->phdr = pair[1];
		if (pair[0] == AT_PHNUM)
			ret->phnum = pair[1];
	}
}

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* Before 2.34 the file of glibc has its version in its name; libc.so.6 is a link to
 * it. */
static bool is_libc(const char *name)
{
	return begins(name, "libc.so") || begins(name, "libc-2.") ||
	       begins(name, "ld-musl-") || begins(name, "libc.musl-");
}

const struct proc_mapping *linker_find_libc(const struct proc_maps *maps,
					    const struct auxv *auxv)
{
	vec_foreach (m, &maps->mappings) {
		bool is_own = auxv->phdr >= m->start && auxv->phdr < m->end;

		if (m->inode &&
		    (auxv->linker_base ? m->executable && is_libc(path_base_name(m->path))
				       : is_own))
			return m;
	}
	return NULL;
}
