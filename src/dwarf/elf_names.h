/* SPDX-License-Identifier: Apache-2.0 */
/* Function names by address, from the symbol tables of one ELF file. Used for files
 * whose tables bcc_symcache does not read: the vdso, the small symbol table in
 * .gnu_debugdata, and files that no path leads to. */
#ifndef DWARF_ELF_NAMES_H
#define DWARF_ELF_NAMES_H

#include "dwarf/debug_elf.h"
#include "util/error.h"

struct elf_names;

/* The functions of .symtab, or if that is missing of .dynsym. Tables of more than 256
 * MiB are ignored. Takes ownership of `image`, also on failure. */
struct error *elf_names_create(struct debug_elf *image, struct elf_names **ret)
	__attribute__((warn_unused_result));
void elf_names_destroy(struct elf_names *names);

/*
 * The names in the section .gnu_debugdata of `image`: an ELF file compressed by xz (GDB
 * manual, "Debugging Information in a Special Section"). *ret is NULL if the section is
 * missing or unusable: decompression may take at most 64 MiB and give at most 256 MiB.
 */
struct error *elf_names_from_debugdata(const struct debug_elf *image,
				       struct elf_names **ret)
	__attribute__((warn_unused_result));

/* The function at `address` (in the file's address space); NULL: none. *ret_offset is
 * the distance from its start. Borrowed. */
const char *elf_names_find(const struct elf_names *names, uint64_t address,
			   uint64_t *ret_offset);

/* The same for the code at `file_offset` of the file. */
const char *elf_names_find_at(const struct elf_names *names, uint64_t file_offset,
			      uint64_t *ret_offset);

#endif
