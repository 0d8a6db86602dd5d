/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding the FDE of an address: by the sorted table that the linker wrote into
 * .eh_frame_hdr (LSB 5.0 Core Generic, section 10.6.2), or by a table of our own where
 * there is none (static programs) or it is not to be trusted.
 */
#ifndef UNWIND_CFI_INDEX_H
#define UNWIND_CFI_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/cfi_entry.h"
#include "util/error.h"
#include "util/vec.h"

struct cfi_index_row {
	uint64_t start, end;
	size_t offset; /* of the FDE in the section */
};

struct cfi_index {
	struct cfi_section section;
	VEC(struct cfi_index_row) rows; /* by address; empty when `table` is used */
	const uint8_t *table;           /* of .eh_frame_hdr, or NULL; borrowed */
	size_t table_len;
	uint64_t table_base; /* address of .eh_frame_hdr */
};

/* What .eh_frame_hdr says. */
struct cfi_header {
	uint64_t address;         /* its own */
	uint64_t section_address; /* of .eh_frame */
	const uint8_t *table;     /* NULL when it has none of the usual form, sorted */
	size_t table_len;
};

/* Read `size_bytes` bytes that begin with .eh_frame_hdr; false when they do not. */
bool cfi_header_read(const uint8_t *data, size_t size_bytes, uint64_t address,
		     struct cfi_header *ret);

/* Index a section, whose data must outlive the index: by `header` (NULL: none) if it has
 * a table, else by reading every entry. */
struct error *cfi_index_init(struct cfi_index *index, const struct cfi_section *section,
			     const struct cfi_header *header)
	__attribute__((warn_unused_result));
void cfi_index_deinit(struct cfi_index *index);

/* The FDE around `address`. */
bool cfi_index_find(const struct cfi_index *index, uint64_t address, struct cfi_fde *ret);

/* The lowest address above `address` at which the index has a function begin, or
 * UINT64_MAX. */
uint64_t cfi_index_next(const struct cfi_index *index, uint64_t address);

#endif
