/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sites that were found in files, for the next process that maps one of them: the
 * analysis of a library takes milliseconds, and a build starts a library's users by the
 * hundred. Sites are used again only if the file is the same and unchanged, and if the
 * next process's memory has all the code that the analysis looked at.
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
 * Add the known sites and skipped functions of `file` to `object`, whose allocator was
 * found in it. Returns false, and adds nothing, if the file is not in the cache, if the
 * memory of `target` differs, or if memory is out.
 */
bool plan_cache_find(const struct plan_cache *cache, struct elf_file *file,
		     const struct site_target *target, struct plan_object *object);

/* Keep what was found of `object` for other processes, if it can be of use to them:
 * `target->checks` is what the analysis has looked at. Without memory nothing happens. */
void plan_cache_add(struct plan_cache *cache, struct elf_file *file,
		    const struct site_target *target, const struct plan_object *object);

#endif
