/* SPDX-License-Identifier: Apache-2.0 */
/* An arena: memory that is allocated in pieces and freed all at once. */
#ifndef REPORT_ARENA_H
#define REPORT_ARENA_H

#include <stddef.h>

struct report_arena;

/* NULL when memory is out. */
struct report_arena *report_arena_create(void);
void report_arena_destroy(struct report_arena *arena);

/* Zeroed memory for `count` elements of `size_bytes`, aligned for any type. NULL if
 * memory is out; not NULL for 0 elements. */
void *report_arena_alloc(struct report_arena *arena, size_t count, size_t size_bytes)
	__attribute__((warn_unused_result));

#endif
