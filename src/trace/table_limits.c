// SPDX-License-Identifier: Apache-2.0
#include "trace/table_limits.h"

#include <unistd.h>

/* Hashes have their memory from the start, for the deepest stacks. */
#define BLOCKS_BY_HASH (UINT64_C(1) << 20)
#define STACKS_BY_HASH (UINT64_C(64) << 10)

#define BLOCKS_MAX     (UINT64_C(1) << 24)
#define STACKS_MAX     (UINT64_C(1) << 20)
#define WHOLE_STACKS   (UINT64_C(256) << 10)
#define BLOCKS_MIN     UINT64_C(1024)
#define STACKS_MIN     UINT64_C(64)

/* With half of its slots in use, the table takes 48 bytes for a block. */
#define BYTES_PER_BLOCK 48
/* A stack has a record of 24 bytes, four words in the index, and 16 return addresses on
 * average (compile/source_sizes.c). */
#define BYTES_PER_STACK (24 + 4 * 8 + 16 * 8)

/* Of the machine's memory, for both tables; of this, for stacks. */
#define MEMORY_SHARE 8
#define STACKS_SHARE 4

/* Clear all bits but the first three. */
static uint64_t round_down(uint64_t n)
{
	uint64_t unit = 1;

	while (n / unit >= 8)
		unit *= 2;
	return n / unit * unit;
}

static uint64_t clamp(uint64_t n, uint64_t least, uint64_t most)
{
	n = round_down(n);
	return n < least ? least : n > most ? most : n;
}

struct table_limits table_limits_of(uint64_t memory_bytes, bool whole_stacks)
{
	uint64_t for_stacks = memory_bytes / STACKS_SHARE;

	return (struct table_limits){
		.blocks = clamp((memory_bytes - for_stacks) / BYTES_PER_BLOCK, BLOCKS_MIN,
				BLOCKS_MAX),
		.stacks = clamp(for_stacks / BYTES_PER_STACK, STACKS_MIN,
				whole_stacks ? WHOLE_STACKS : STACKS_MAX),
	};
}

struct table_limits table_limits_choose(const struct trace_config *config, bool by_hash,
					bool whole_stacks)
{
	uint64_t machine =
		(uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t memory = config->table_memory_bytes ? config->table_memory_bytes
						     : machine / MEMORY_SHARE;
	struct table_limits limits =
		by_hash ? (struct table_limits){BLOCKS_BY_HASH, STACKS_BY_HASH}
			: table_limits_of(memory, whole_stacks);

	if (config->max_allocations)
		limits.blocks = config->max_allocations;
	if (config->max_stacks)
		limits.stacks = config->max_stacks;
	return limits;
}
