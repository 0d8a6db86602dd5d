// SPDX-License-Identifier: Apache-2.0
#include "target/linker.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "target/elf.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct elf_file *, elf_file_close);

void auxv_read(pid_t pid, struct auxv *ret)
{
	char path[64];
	uint64_t pair[2];

	*ret = (struct auxv){0};
	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)pid);

	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);

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

struct error *linker_find_notice(const char *path, uint64_t *ret)
{
	static const char *const names[] = {LINKER_NOTICE};
	_cleanup_(elf_file_closep) struct elf_file *file = NULL;
	struct elf_symbol symbol = {0};
	struct error *err = elf_file_open(path, &file);

	if (!err)
		err = elf_file_find_functions(file, names, 1, &symbol);
	*ret = symbol.name ? symbol.file_offset : 0;
	return err;
}
