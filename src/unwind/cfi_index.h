/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the FDE of an address: in the sorted table that the linker wrote into
 * .eh_frame_hdr (LSB 5.0 Core Generic, section 10.6.2), or in a table of our own if the
 * linker's is missing (static programs) or invalid.
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

/* The contents of .eh_frame_hdr. */
struct cfi_header {
	uint64_t address;         /* of .eh_frame_hdr itself */
	uint64_t section_address; /* of .eh_frame */
	const uint8_t *table;     /* NULL: no sorted table of the usual form */
	size_t table_len;
};

/* Read .eh_frame_hdr from `size_bytes` bytes at `address`; false if it is malformed. */
bool cfi_header_read(const uint8_t *data, size_t size_bytes, uint64_t address,
		     struct cfi_header *ret);

/* Index a section, whose data must outlive the index. Uses the table in `header` (may
 * be NULL) if it has one, else reads every entry. */
struct error *cfi_index_init(struct cfi_index *index, const struct cfi_section *section,
			     const struct cfi_header *header)
	__attribute__((warn_unused_result));
void cfi_index_deinit(struct cfi_index *index);

/* Find the FDE that contains `address`; false: none. */
bool cfi_index_find(const struct cfi_index *index, uint64_t address, struct cfi_fde *ret);

/* The lowest address above `address` at which a function of the index begins, or
 * UINT64_MAX. */
uint64_t cfi_index_next(const struct cfi_index *index, uint64_t address);

#endif
