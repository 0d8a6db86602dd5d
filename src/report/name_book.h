/* SPDX-License-Identifier: Apache-2.0 */
/* The names of a run's frames, kept from snapshot to snapshot: only frames of new stacks
 * are looked up. Others create one for report/recorded.h; the rest is private to report/.
 */
#ifndef REPORT_NAME_BOOK_H
#define REPORT_NAME_BOOK_H

#include "report/report.h"
#include "symbol/cache.h"
#include "util/hashmap.h"
#include "util/vec.h"

/* What the names of a process depend on, beside addresses. */
struct name_source {
	uint64_t version; /* frame_cache_version(); 0: no cache */
	uint64_t modules; /* a hash of them */
	int pid;
	bool exited;
};

struct name_book {
	uint64_t seed;
	VEC(struct name_source) sources; /* by process */
	/* By stack: a hash of its process and frames when they were named; 0: never. */
	VEC(uint64_t) named;
	VEC(struct hashmap) seen; /* by process: the addresses looked up so far */
	/* Only names, sources and strings. Names are in order. */
	struct snapshot store;
	VEC(struct snapshot_name) fresh; /* scratch */
};

/* NULL when out of memory. */
struct name_book *name_book_create(void);
void name_book_destroy(struct name_book *book);

/* Remove all names if `snap` has other processes, or if their code has changed. False:
 * memory is out. */
bool name_book_begin(struct name_book *book, const struct snapshot *snap,
		     struct frame_cache *const frames[])
	__attribute__((warn_unused_result));

/* Put the addresses of the `used` stacks that are not in the book yet into book->fresh,
 * without names, in order. False: memory is out. */
bool name_book_find_fresh(struct name_book *book, const struct snapshot *snap,
			  const bool *used) __attribute__((warn_unused_result));

/* Put book->fresh, which has its names now, in order with the others, and copy all names
 * to `snap`, which has none. False: memory is out. */
bool name_book_finish(struct name_book *book, struct snapshot *snap)
	__attribute__((warn_unused_result));

void name_book_clear(struct name_book *book);

#endif
