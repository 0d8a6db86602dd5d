// SPDX-License-Identifier: Apache-2.0
/* Ways to open an ELF file. */
#include <errno.h>

#include "elf/elf_file.h"
#include "util/regular_file.h"

struct error *elf_file_open_fd(int fd, const char *name, struct elf_file **ret)
{
	return elf_file_open_as(fd, name, &elf_tables_here, ret);
}

struct error *elf_file_open(const char *path, struct elf_file **ret)
{
	int fd = regular_file_open(path);

	return fd < 0 ? elf_cannot_open(path, errno) : elf_file_open_fd(fd, path, ret);
}

struct error *elf_file_open_by(int fd, const char *name, struct elf_reader *reader,
			       struct elf_file **ret)
{
	struct error *err = elf_file_open_fd(fd, name, ret);

	if (!err && reader) {
		(*ret)->tables = &elf_tables_remote;
		(*ret)->reader = reader;
	}
	return err;
}
