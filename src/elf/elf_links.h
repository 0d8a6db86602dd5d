/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of an ELF file that the dynamic linker fills with addresses of functions. The
 * stubs of the procedure linkage table jump through them (psABI, 5.2 of x86-64's).
 */
#ifndef ELF_ELF_LINKS_H
#define ELF_ELF_LINKS_H

#include <stddef.h>
#include <stdint.h>

#include "elf/elf.h"
#include "util/error.h"
#include "util/strbuf.h"
#include "util/vec.h"

struct elf_link {
	uint64_t slot; /* address of the word, in the file's address space */
	/* name of the symbol that the word will point to; NULL: none. Owned by the file
	 * or by `names`. */
	const char *name;
	/* address of the function if this file defines it, else 0. Also 0 for an
	 * indirect function, which its resolver picks. */
	uint64_t address;
};

struct elf_links {
	VEC(struct elf_link) list; /* ordered by slot */
	struct strbuf names;
};

/*
 * Read the relocations of words (R_*_JUMP_SLOT, GLOB_DAT, 64, RELATIVE and IRELATIVE)
 * in all loaded SHT_RELA sections. A table is skipped if it is malformed or has more
 * entries than any allocator's library.
 */
struct error *elf_links_read(struct elf_file *file, struct elf_links *ret)
	__attribute__((warn_unused_result));
void elf_links_deinit(struct elf_links *links);

/* The link whose word is at `slot`, or NULL. Borrowed. */
const struct elf_link *elf_links_find(const struct elf_links *links, uint64_t slot);

#endif
