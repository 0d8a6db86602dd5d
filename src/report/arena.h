/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is given out piece by piece and released all at once. */
#ifndef REPORT_ARENA_H
#define REPORT_ARENA_H

#include <stddef.h>

struct report_arena;

/* NULL when memory is out. */
struct report_arena *report_arena_create(void);
void report_arena_destroy(struct report_arena *arena);

/* Zeroed room for `count` elements of `size_bytes`, aligned for any type; NULL when
 * memory is out. Room for none is not NULL either. */
void *report_arena_alloc(struct report_arena *arena, size_t count, size_t size_bytes)
	__attribute__((warn_unused_result));

#endif
