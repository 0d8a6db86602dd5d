/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that enlarges the tables when the probes ask for it. */
#ifndef DRAIN_TABLE_GROWER_H
#define DRAIN_TABLE_GROWER_H

#include "drain/journal_table.h"
#include "drain/live_table.h"
#include "drain/stack_tables.h"
#include "util/error.h"

struct table_grower;

/* Start the thread. `live` and `journal` may be NULL. `ring` is the map `room_news`; it
 * and the tables must live until table_grower_destroy(). */
struct error *table_grower_create(struct live_table *live, struct stack_tables *stacks,
				  const struct journal_table *journal, int ring,
				  struct table_grower **ret)
	__attribute__((warn_unused_result));

/* Wait until the probes can use the first parts of the tables, which the thread puts
 * first. */
struct error *table_grower_wait(struct table_grower *grower)
	__attribute__((warn_unused_result));

/* Stop the thread. `grower` may be NULL. */
void table_grower_destroy(struct table_grower *grower);

#endif
