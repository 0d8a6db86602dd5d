/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the current mappings made by mmap() and its family as address ranges, which
 * munmap() and mremap() can cut. Takes the probes' events in the order of the calls. */
#ifndef UNWIND_MISS_MAPPING_BOOK_H
#define UNWIND_MISS_MAPPING_BOOK_H

#include <stdint.h>

#include "abi.h"
#include "snapshot/snapshot.h"
#include "util/vec.h"

/* A contiguous, page-aligned range that one call mapped. */
struct mapping_piece {
	uint64_t start, end;
	uint32_t stack, tid;
	uint64_t ticks; /* ABI_TICKS */
};

/* A running munmap() or mremap() with the ranges that it removed; they come back if it
 * fails. */
struct mapping_call {
	uint32_t tid;
	bool is_remap;  /* mremap, not munmap */
	bool keeps_old; /* it removes nothing: MREMAP_DONTUNMAP and the like */
	VEC(struct mapping_piece) taken;
};

struct mapping_book {
	uint64_t page_bytes;
	VEC(struct mapping_piece) pieces; /* sorted, disjoint */
	VEC(struct mapping_call) calls;   /* one for each thread inside such a call */
	struct snapshot_totals totals;
};

void mapping_book_init(struct mapping_book *book, uint64_t page_bytes);
void mapping_book_deinit(struct mapping_book *book);

/* Apply one event. Returns false without memory: the event is lost, the book stays
 * consistent. */
bool mapping_book_apply(struct mapping_book *book, const struct abi_event *event);

#endif
