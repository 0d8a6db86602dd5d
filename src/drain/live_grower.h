/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that enlarges the table of live blocks when the probes ask for it. */
#ifndef DRAIN_LIVE_GROWER_H
#define DRAIN_LIVE_GROWER_H

#include "drain/live_table.h"
#include "util/error.h"

struct live_grower;

/* Start the thread. `ring` is the map `live_news`; it and the table must live until
 * live_grower_destroy(). */
struct error *live_grower_create(struct live_table *table, int ring,
				 struct live_grower **ret)
	__attribute__((warn_unused_result));

/* Stop the thread. `grower` may be NULL. */
void live_grower_destroy(struct live_grower *grower);

#endif
