/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What code a process has mapped where, and since when: with it a copy of a stack can be
 * unwound later, also when the code is gone by then, or the process. Times are those of
 * CLOCK_MONOTONIC in ns. Ranges may overlap: at each address the latest is in force.
 */
#ifndef UNWIND_IMAGES_H
#define UNWIND_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/proc.h"
#include "unwind/image_store.h"
#include "unwind/walk.h"
#include "util/error.h"

struct images;

/* No code yet. The store must outlive the result. */
struct error *images_create(struct image_store *store, struct images **ret)
	__attribute__((warn_unused_result));
void images_destroy(struct images *images);

/* The code of a new process that was forked at `at_ns`: what was in force then. */
struct error *images_copy(const struct images *images, uint64_t at_ns,
			  struct images **ret) __attribute__((warn_unused_result));

/* Code that took another's place. */
struct images_change {
	bool is_new;      /* it was not known */
	bool is_replaced; /* other code was known there */
	uint64_t tag;     /* the highest of that code, */
	uint64_t last_ns; /* and since when the last of it was there */
};

/*
 * Since when there is a mapping. Where other code was known it is certain since
 * `since_ns`, and came after `after_ns`: what there was between is not known, and nothing
 * is found there at such a time, unless both are the same. Elsewhere it was there since
 * `unless_known_ns`.
 */
struct images_time {
	uint64_t since_ns, after_ns, unless_known_ns;
};

/* One at which it was mapped for certain. */
static inline struct images_time images_since(uint64_t ns)
{
	return (struct images_time){ns, ns, ns};
}

/*
 * The process `pid` has this mapping; nothing happens when the same code is known to be
 * there. An image that cannot be read is code without unwind information, tried again
 * when it is added again. Memory of no file that has the text of a file which is known
 * there or next to it counts as that file's. `tag` is the caller's. The mapping's path
 * may be of a process that is gone. ERROR_NO_MEMORY, or ERROR_UNSUPPORTED when there are
 * too many.
 */
struct error *images_add(struct images *images, int pid,
			 const struct proc_mapping *mapping, struct images_time time,
			 uint64_t tag, struct images_change *ret)
	__attribute__((warn_unused_result));

/* From `at_ns` on nothing of it is in force: the process has executed a program. */
void images_end(struct images *images, uint64_t at_ns);

/* Forget what was not in force any more at `before_ns`. */
void images_prune(struct images *images, uint64_t before_ns);

/* How many ranges are known, and how many of those that are in force of files that could
 * not be read. */
size_t images_count(const struct images *images);
size_t images_unread(const struct images *images);

/* The code at a pc at some time. What it gives is borrowed until images_prune() or
 * images_destroy(). */
bool images_find(const struct images *images, uint64_t pc, uint64_t at_ns,
		 struct walk_code *ret);

/* Code with unwind information that is mapped in one piece; end exclusive. */
struct images_range {
	uint64_t start, end;
	struct walk_code code;
};

/*
 * List at most `max`, those at the highest addresses, of the ranges that are in force at
 * some time and have unwind information, ascending and without overlaps: a range of which
 * a part has given way to a later one is left out. Returns their number.
 */
size_t images_list(const struct images *images, uint64_t at_ns, struct images_range ret[],
		   size_t max);

/* Another number each time that images_list() may give something else for the present. */
uint64_t images_version(const struct images *images);

/* Where the code at a pc at some time begins and ends, as it was added. */
bool images_extent(const struct images *images, uint64_t pc, uint64_t at_ns,
		   uint64_t *start, uint64_t *end);

/* A walk_find_fn for a time; `moment` is a struct images_moment. */
struct images_moment {
	const struct images *images;
	uint64_t at_ns;
};
bool images_find_then(void *moment, uint64_t pc, struct walk_code *ret);

#endif
