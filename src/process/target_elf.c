// SPDX-License-Identifier: Apache-2.0
#include "process/target_elf.h"

#include <errno.h>

struct error *target_elf_open(const struct target_file *from, struct elf_file **ret)
{
	const char *name = target_file_name(from);
	int fd = target_file_open(from);

	if (fd < 0)
		return elf_cannot_open(name, errno);
	return elf_file_open_by(fd, name, target_file_reader(from), ret);
}

struct error *target_elf_open_function(const struct target_file *from, const char *name,
				       struct elf_file **ret, struct elf_symbol *symbol)
{
	const char *const names[] = {name};
	struct elf_file *file = NULL;
	struct error *err = target_elf_open(from, &file);

	*symbol = (struct elf_symbol){0};
	if (!err)
		err = elf_file_find_functions(file, names, 1, symbol);
	if (err)
		elf_file_close(file);
	else
		*ret = file;
	return err;
}
