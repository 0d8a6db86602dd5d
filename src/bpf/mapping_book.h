/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The book of mappings made by mmap and its family: ranges of addresses that can be cut
 * by munmap and mremap. Fed with the probes' events in the order in which they happened.
 */
#ifndef BPF_MAPPING_BOOK_H
#define BPF_MAPPING_BOOK_H

#include <stdint.h>

#include "abi.h"
#include "snapshot/snapshot.h"
#include "util/vec.h"

/* One contiguous range from one call, page-aligned. */
struct mapping_piece {
	uint64_t start, end;
	uint32_t stack, tid;
	uint64_t ticks; /* ABI_TICKS */
};

/* Ranges that a call of munmap or mremap has taken out and may have to put back. */
struct mapping_call {
	uint32_t tid;
	bool is_remap;  /* mremap, not munmap */
	bool keeps_old; /* nothing was to be taken: MREMAP_DONTUNMAP and the like */
	VEC(struct mapping_piece) taken;
};

struct mapping_book {
	uint64_t page_bytes;
	VEC(struct mapping_piece) pieces; /* sorted, disjoint */
	VEC(struct mapping_call) calls;   /* one a thread that is inside such a call */
	struct snapshot_totals totals;
};

void mapping_book_init(struct mapping_book *book, uint64_t page_bytes);
void mapping_book_deinit(struct mapping_book *book);

/* Enter one event. False when memory is out: the event is lost, the book stays sound. */
bool mapping_book_apply(struct mapping_book *book, const struct abi_event *event);

#endif
