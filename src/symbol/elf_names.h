/* SPDX-License-Identifier: Apache-2.0 */
/* Function names of one ELF file by address, from its own symbol tables, where
 * bcc_symcache does not read them: of the vdso, of the small symbol table of
 * .gnu_debugdata, and of files that no path leads to. */
#ifndef SYMBOL_ELF_NAMES_H
#define SYMBOL_ELF_NAMES_H

#include "symbol/debug_elf.h"
#include "util/error.h"

struct elf_names;

/* The functions of .symtab, or without one of .dynsym; of tables of more than 256 MiB
 * none. Takes `image` over, also after an error. */
struct error *elf_names_create(struct debug_elf *image, struct elf_names **ret)
	__attribute__((warn_unused_result));
void elf_names_destroy(struct elf_names *names);

/*
 * The names in the section .gnu_debugdata of `image`: an ELF file compressed by xz (GDB
 * manual, "Debugging Information in a Special Section"). *ret is NULL when there is none,
 * or none that can be used: it may need at most 64 MiB to decompress, to at most 256 MiB.
 */
struct error *elf_names_from_debugdata(const struct debug_elf *image,
				       struct elf_names **ret)
	__attribute__((warn_unused_result));

/* The function at `address` (in the file's address space), NULL: none. *ret_offset is the
 * distance from its start. Borrowed. */
const char *elf_names_find(const struct elf_names *names, uint64_t address,
			   uint64_t *ret_offset);

/* The same for the code at `file_offset` of the file. */
const char *elf_names_find_at(const struct elf_names *names, uint64_t file_offset,
			      uint64_t *ret_offset);

#endif
