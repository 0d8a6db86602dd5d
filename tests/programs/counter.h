/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file where the preloaded counter (counter.c) keeps its counts. The process maps it
 * shared, so it is up to date at every moment, however the process ends. The counter
 * outside (outside.c) writes such files when it ends, with one shard in use.
 */
#ifndef PROGRAMS_COUNTER_H
#define PROGRAMS_COUNTER_H

#include <stdint.h>

/* Environment variable with the directory of the files. If it is not set, nothing is
 * counted. */
#define COUNTER_DIRECTORY "MEMTRACE_COUNTER"

#define COUNTER_MAGIC     UINT64_C(0x31306365636f756e)
#define COUNTER_SHARDS    64

/* Counts of the blocks whose addresses belong to this shard. Guarded by its lock. */
struct counter_shard {
	uint64_t allocations, allocated_bytes; /* sizes as requested */
	uint64_t frees, freed_bytes;           /* frees of counted blocks */
	/* addresses that were returned again without a free, and the former sizes */
	uint64_t replaced, replaced_bytes;
	uint64_t overflow; /* allocations that found no room: the counts are wrong */
	uint64_t unused;
};

/*
 * The file DIRECTORY/PID.N. N counts the programs and forks that had this pid. Frees of
 * blocks that a fork inherited do not count.
 */
struct counter_file {
	uint64_t magic;
	uint64_t pid;
	uint64_t failures; /* calls that returned no memory */
	char command[40];
	struct counter_shard shards[COUNTER_SHARDS];
};

#endif
