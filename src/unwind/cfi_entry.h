/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entries of .eh_frame (LSB 5.0 Core Generic, section 10.6) and .debug_frame (DWARF
 * 5 section 6.4.1): CIEs, which functions share, and one FDE for each function.
 */
#ifndef UNWIND_CFI_ENTRY_H
#define UNWIND_CFI_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/cursor.h"

struct cfi_section {
	const uint8_t *data; /* NULL: no section */
	size_t size_bytes;
	uint64_t address; /* of the section in the image's address space */
	bool is_debug;    /* .debug_frame */
};

struct cfi_cie {
	uint64_t code_align;
	int64_t data_align;
	const uint8_t *program; /* initial instructions */
	size_t program_size;
	uint8_t pointer_encoding; /* DW_EH_PE_... of the FDE's addresses */
	bool has_augmentation;    /* 'z': the FDE has augmentation data */
	bool is_signal_frame;     /* 'S' */
};

struct cfi_fde {
	struct cfi_cie cie;
	uint64_t start, end; /* end exclusive */
	const uint8_t *program;
	size_t program_size;
};

enum cfi_entry {
	CFI_ENTRY_END, /* the section ends, or the rest cannot be read */
	CFI_ENTRY_FDE,
	CFI_ENTRY_OTHER, /* a CIE, or an unusable FDE: continue at *ret_next */
};

/*
 * Read the entry at `offset`. *ret_next is the offset of the next entry, which is
 * greater. An FDE is usable if its CIE is: version 1, 3 or 4, the return address in the
 * machine's column, an augmentation that begins with 'z' or is empty (so "eh" is
 * refused), and no indirect or unusual encoding of addresses.
 */
enum cfi_entry cfi_entry_read(const struct cfi_section *section, size_t offset,
			      struct cfi_fde *ret, size_t *ret_next);

/*
 * Read a pointer with DWARF exception header encoding `encoding` (LSB 10.5.1) whose
 * first byte is at `address`. `data_base` is added for DW_EH_PE_datarel. False if it
 * cannot be read, or is indirect, relative to anything else, or omitted.
 */
bool cfi_read_pointer(struct cursor *c, uint8_t encoding, uint64_t address,
		      uint64_t data_base, uint64_t *ret);

#endif
