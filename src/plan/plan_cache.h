/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache of the sites found in files, for the next process that maps the same file.
 * The analysis of a library takes milliseconds, and a build starts hundreds of programs
 * that use it. Cached sites are used only if the file is the same and unchanged, and if
 * the next process's memory has all the code that the analysis read.
 */
#ifndef PLAN_PLAN_CACHE_H
#define PLAN_PLAN_CACHE_H

#include <stdbool.h>

#include "plan/plan.h"
#include "plan/site_text.h"
#include "elf/elf.h"

struct plan_cache;

/* NULL: memory is out; plans work without a cache. All plans that share a cache must
 * have the same options, except plan_options.known, .unmapped and .find_breakpoints. */
struct plan_cache *plan_cache_create(void);
void plan_cache_destroy(struct plan_cache *cache);

/*
 * Add the known sites and skipped functions of `file` to `object`, whose allocator was
 * found in it. Returns false, and adds nothing, if the file is not in the cache, if the
 * memory of `target` differs, or if memory is out.
 */
bool plan_cache_find(const struct plan_cache *cache, struct elf_file *file,
		     const struct site_target *target, struct plan_object *object);

/* Store the results for `object`, if other processes can use them. `target->checks` is
 * the code that the analysis has read. Does nothing if memory is out. */
void plan_cache_add(struct plan_cache *cache, struct elf_file *file,
		    const struct site_target *target, const struct plan_object *object);

#endif
