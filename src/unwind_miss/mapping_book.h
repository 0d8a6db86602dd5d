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

/* The most pieces that all books of a run hold, 40 bytes each, and two more for each
 * running call. One event takes at most as long as copying them. */
#define MAPPING_PIECES_MAX (1u << 19)

/* Most running calls in a book. A target can leave any number behind, by threads that
 * exit inside a call. */
#define MAPPING_CALLS_MAX 1024u

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
	VEC(struct mapping_call)
	calls; /* one for each thread inside such a call; the
		* oldest first */
	struct snapshot_totals totals;
	size_t *held; /* pieces in all books, including those that calls removed */
};

/* `held` counts the pieces of all books that share it. Borrowed. */
void mapping_book_init(struct mapping_book *book, uint64_t page_bytes, size_t *held);
void mapping_book_deinit(struct mapping_book *book);

/* Apply one event. Returns false without memory, or where the books would hold more than
 * MAPPING_PIECES_MAX pieces: the event is lost, the book stays consistent. Where a book
 * has MAPPING_CALLS_MAX calls, a new one ends the oldest as if it had removed its ranges.
 */
bool mapping_book_apply(struct mapping_book *book, const struct abi_event *event);

/* Events that are read after this much processor time of one reading are lost: the target
 * must not keep memtrace from reports and signals. */
#define MAPPING_READING_NS (1000 * 1000000ull)

/* One reading of all events in the ring. */
struct mapping_reading {
	uint64_t since_ns; /* clock_thread_cpu_ns() */
	uint32_t events;
	bool is_late;
};

void mapping_reading_begin(struct mapping_reading *reading);
/* Must the next event be dropped? Called before each event; reads the clock at every
 * 64th. */
bool mapping_reading_is_late(struct mapping_reading *reading);

#endif
