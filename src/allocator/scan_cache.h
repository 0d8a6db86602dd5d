/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps which allocators the libraries of one process have, for other processes that map
 * them: reading their symbols takes milliseconds. Only files whose struct target_file is
 * shared (struct opened_files) are found again. The options must be the same for all.
 */
#ifndef ALLOCATOR_SCAN_CACHE_H
#define ALLOCATOR_SCAN_CACHE_H

#include <stdbool.h>

#include "allocator/allocator.h"

struct scan_cache;

/* NULL: out of memory, and nothing is kept. */
struct scan_cache *scan_cache_create(void);
void scan_cache_destroy(struct scan_cache *cache);

/* Drop all. `cache` may be NULL. */
void scan_cache_clear(struct scan_cache *cache);

/* allocators_scan(), or what it has found before. `cache` may be NULL. */
struct error *scan_cache_scan(struct scan_cache *cache, const struct allocator_file *file,
			      const struct allocator_options *options,
			      struct allocators *ret, char **why_none)
	__attribute__((warn_unused_result));

#endif
