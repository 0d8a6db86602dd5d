/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many blocks and stacks a run has room for. The tables take memory as they need it,
 * so the limits are high. They only keep a target from filling the machine's memory.
 */
#ifndef TRACE_TABLE_LIMITS_H
#define TRACE_TABLE_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "compile/trace_config.h"

struct table_limits {
	uint64_t blocks, stacks;
};

/*
 * The limits of the configuration. Without them, three quarters of
 * config->table_memory_bytes (0: an eighth of the machine's memory) are for blocks, and
 * the rest is for stacks. `by_hash`: the tables are hashes, which take their memory at
 * the start. `whole_stacks`: other tables have an element for each possible stack from
 * the start.
 */
struct table_limits table_limits_choose(const struct trace_config *config, bool by_hash,
					bool whole_stacks);

/* The limits for tables that are no hashes and may take this memory. They are rounded, so
 * that a little more or less memory does not need other code: kept code is for certain
 * sizes of tables. */
struct table_limits table_limits_of(uint64_t memory_bytes, bool whole_stacks);

#endif
