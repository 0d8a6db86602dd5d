/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file in which the preloaded counter (counter.c) keeps its counts. A process has it
 * mapped and shared, so the file is right at every moment, however the process ends.
 */
#ifndef PROGRAMS_COUNTER_H
#define PROGRAMS_COUNTER_H

#include <stdint.h>

/* Names the directory of the files; without it nothing is counted. */
#define COUNTER_DIRECTORY "MEMTRACE_COUNTER"

#define COUNTER_MAGIC     UINT64_C(0x31306365636f756e)
#define COUNTER_SHARDS    64

/* Counts of the blocks whose addresses fall to this shard. Its lock guards them. */
struct counter_shard {
	uint64_t allocations, allocated_bytes; /* sizes as requested */
	uint64_t frees, freed_bytes;           /* of blocks that were counted */
	uint64_t replaced; /* addresses that came again without a free */
	uint64_t overflow; /* allocations that found no room; counts are then wrong */
	uint64_t unused[2];
};

/*
 * DIRECTORY/PID.N: N counts the programs and forks that had this process id. Frees of
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
