/* SPDX-License-Identifier: Apache-2.0 */
/* memtrace's side of the tables (src/drain), on the maps of the stand-in. */
#ifndef STRESS_TABLES_H
#define STRESS_TABLES_H

#include "host_bpf/variants.h"
#include "drain/drain.h"
#include "drain/traffic_tables.h"

struct tables {
	struct variant variant;
	struct source_sizes sizes;
	struct drain_maps maps;
	struct fence fence;
	struct traffic_maps traffic_maps;
	struct traffic_tables traffic;
	bool has_traffic;
};

/* The table of live blocks; NULL in a variant without it. */
struct live_table *tables_live(void);

/* The journal; NULL: it is a ring. */
struct journal_table *tables_journal(void);

/* The tables of stacks. */
struct stack_tables *tables_stacks(void);

/* After host_maps_reset(), and before it. */
void tables_begin(void);
void tables_end(void);

/* Enlarge the tables that need it, unless another thread does so. As memtrace's thread
 * does (drain/table_grower.c). */
void tables_grow(void);

void tables_open(struct tables *ret);
void tables_close(struct tables *tables);

/* Called while memtrace reads; when it waits until all programs that run have ended; and
 * at the moment whose state a reading gives, also before it begins. NULL: nothing
 * happens. */
extern void (*tables_pause)(void);
extern void (*tables_fence)(void);
extern void (*tables_applied)(void);

#endif
