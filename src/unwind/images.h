/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The address-space layout of a process's code over time. With it a copied stack can be
 * unwound later, even if the code is unmapped or the process has exited. Times are
 * CLOCK_MONOTONIC, in ns. Ranges may overlap: at each address the latest one is in
 * force.
 */
#ifndef UNWIND_IMAGES_H
#define UNWIND_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/proc.h"
#include "unwind/image_store.h"
#include "unwind/walk.h"
#include "util/error.h"

struct images;

/* Create an empty layout. The store must outlive the result. */
struct error *images_create(struct image_store *store, struct images **ret)
	__attribute__((warn_unused_result));
void images_destroy(struct images *images);

/* The layout of a process that was forked at `at_ns`: a copy of the ranges in force
 * then. */
struct error *images_copy(const struct images *images, uint64_t at_ns,
			  struct images **ret) __attribute__((warn_unused_result));

/* The result of adding a mapping. */
struct images_change {
	bool is_new;      /* it was not known */
	bool is_replaced; /* other code was known at its place */
	uint64_t tag;     /* the highest tag of the replaced code */
	uint64_t last_ns; /* the latest start of the replaced code */
};

/*
 * The time at which a mapping began, which may be known only roughly. If other code was
 * known at its place, the mapping began after `after_ns` and exists for certain since
 * `since_ns`. Between the two the code is unknown, and lookups find nothing, unless
 * both are equal. If no other code was known, the mapping counts from `unless_known_ns`
 * on.
 */
struct images_time {
	uint64_t since_ns, after_ns, unless_known_ns;
};

/* A mapping that began exactly at `ns`. */
static inline struct images_time images_since(uint64_t ns)
{
	return (struct images_time){ns, ns, ns};
}

/*
 * Add a mapping of the process `pid`, which may have exited: then the mapping's path is
 * used. Nothing changes if the same code is already known there. An image that cannot be
 * read counts as code without unwind information until it is added again. Anonymous
 * memory with the text of a file known at its place or next to it counts as that file.
 * `tag` is the caller's. ERROR_NO_MEMORY; ERROR_UNSUPPORTED: too many ranges.
 */
struct error *images_add(struct images *images, int pid,
			 const struct proc_mapping *mapping, struct images_time time,
			 uint64_t tag, struct images_change *ret)
	__attribute__((warn_unused_result));

/* End all ranges at `at_ns`: the process has executed a program. */
void images_end(struct images *images, uint64_t at_ns);

/* Remove ranges that were no longer in force at `before_ns`. */
void images_prune(struct images *images, uint64_t before_ns);

/* How many ranges are known, and how many of those in force are of files that could not
 * be read. */
size_t images_count(const struct images *images);
size_t images_unread(const struct images *images);

/* Find the code at a pc at some time; false: unknown. The result is borrowed until
 * images_prune() or images_destroy(). */
bool images_find(const struct images *images, uint64_t pc, uint64_t at_ns,
		 struct walk_code *ret);

/* Code with unwind information that is mapped in one piece; end exclusive. */
struct images_range {
	uint64_t start, end;
	struct walk_code code;
};

/*
 * List the ranges that are in force at some time and have unwind information, ascending
 * and without overlaps: a range that a later one partly overlaps is left out. Lists at
 * most `max` ranges, those at the highest addresses. Returns their number.
 */
size_t images_list(const struct images *images, uint64_t at_ns, struct images_range ret[],
		   size_t max);

/* A number that changes whenever the current result of images_list() may change. */
uint64_t images_version(const struct images *images);

/* The start and end of the mapping, as it was added, that contains a pc at some time. */
bool images_extent(const struct images *images, uint64_t pc, uint64_t at_ns,
		   uint64_t *start, uint64_t *end);

/* A walk_find_fn for one point in time; `moment` is a struct images_moment. */
struct images_moment {
	const struct images *images;
	uint64_t at_ns;
};
bool images_find_then(void *moment, uint64_t pc, struct walk_code *ret);

#endif
