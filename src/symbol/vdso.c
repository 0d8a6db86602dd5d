// SPDX-License-Identifier: Apache-2.0
#include "symbol/vdso.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

struct error *vdso_names(struct elf_names **ret)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	struct debug_elf *image;
	struct error *err;
	size_t size;
	void *copy;

	*ret = NULL;
	if (!header)
		return NULL;
	/* The section headers are at the end of the image. */
	size = header->e_shoff + (size_t)header->e_shnum * sizeof(Elf64_Shdr);
	copy = malloc(size);
	if (!copy)
		return error_no_memory();
	memcpy(copy, header, size);
	err = debug_elf_from_memory(copy, size, &image);
	return err ? error_only_no_memory(err) : elf_names_create(image, ret);
}
