/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sites that were found in files, for the next process that maps one of them: the
 * analysis of a library takes milliseconds, and a build starts a library's users by the
 * hundred. Taken again are only sites of the same file, unchanged, of which all the code
 * that was looked at is in the next process's memory, too.
 */
#ifndef PLAN_PLAN_CACHE_H
#define PLAN_PLAN_CACHE_H

#include <stdbool.h>

#include "plan/plan.h"
#include "plan/site_text.h"
#include "target/elf.h"

struct plan_cache;

/* NULL: no memory; plans can do without. All plans that share a cache are made with the
 * same options, but for plan_options.known, .unmapped and .find_breakpoints. */
struct plan_cache *plan_cache_create(void);
void plan_cache_destroy(struct plan_cache *cache);

/*
 * Add to `object`, whose allocator was found in `file`, the sites and the skipped
 * functions that are known of it. False, and nothing is added, when none are, when the
 * memory of `target` differs, or when there is no memory.
 */
bool plan_cache_find(const struct plan_cache *cache, struct elf_file *file,
		     const struct site_target *target, struct plan_object *object);

/* Keep what was found of `object` for other processes, if it can be of use to them:
 * `target->checks` is what the analysis has looked at. Without memory nothing happens. */
void plan_cache_add(struct plan_cache *cache, struct elf_file *file,
		    const struct site_target *target, const struct plan_object *object);

#endif
