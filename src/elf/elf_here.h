/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of elf_tables_here, as specified at struct elf_tables. */
#ifndef ELF_ELF_HERE_H
#define ELF_ELF_HERE_H

#include "elf/elf_file.h"

struct error *elf_here_find_functions(struct elf_file *file, const char *const names[],
				      size_t count, struct elf_symbol ret[])
	__attribute__((warn_unused_result));
struct error *elf_here_offer_functions(struct elf_file *file, struct nearest *nearest)
	__attribute__((warn_unused_result));
struct error *elf_here_read_links(struct elf_file *file, struct elf_links *ret)
	__attribute__((warn_unused_result));
struct error *elf_here_find_usdt(struct elf_file *file, const char *provider,
				 const char *name, struct nearest *nearest,
				 struct usdt_places *ret)
	__attribute__((warn_unused_result));

#endif
