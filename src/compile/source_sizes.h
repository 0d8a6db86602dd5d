/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of the BPF maps of a run. */
#ifndef COMPILE_SOURCE_SIZES_H
#define COMPILE_SOURCE_SIZES_H

#include <stdint.h>

#include "abi_walk.h"
#include "compile/source_run.h"

/* Table sizes that follow from the run. The probes and memtrace must use the same. */
struct source_sizes {
	uint32_t cpu_slots;     /* records of `counters`, a power of two */
	uint32_t claims;        /* entries of `claims` */
	uint32_t process_slots; /* of `processes`, a power of two */
	/* 0 without atomics: all elements are in the spill maps then. */
	uint32_t live_buckets; /* in the first generation */
	uint32_t live_generations;
	uint32_t live_spill;      /* entries */
	uint32_t journal_entries; /* in each half of the journal at first */
	uint32_t pending_spill;   /* entries */
	/* in each part of `stack_index`; 0: no such part */
	uint32_t stack_buckets[ABI_INDEX_PARTS];
	uint32_t max_stacks;
	uint32_t stack_depth;      /* return addresses per stack at most */
	uint32_t stack_pcs_blocks; /* of `stack_pcs` (abi_walk.h) */
	/* elements in a part of `stacks` and of `stack_pcs`, powers of two */
	uint32_t stacks_part, stack_pcs_part;
	/* parts of each that should be free, once an eighth of the first one is used */
	uint32_t stacks_ahead, stack_pcs_ahead;
	uint32_t rule_buckets;          /* a power of two */
	uint32_t unwind_pages, layouts; /* entries of these maps */
	/* 0 without traffic: */
	uint32_t thread_slots; /* of `threads`, a power of two */
	uint32_t thread_record_bytes;
};

/* The number of parts that `stack_index` has with `stacks` stacks. */
static inline uint32_t source_index_parts(const struct source_sizes *sizes,
					  uint64_t stacks)
{
	uint32_t parts = 1;

	while (parts < ABI_INDEX_PARTS && sizes->stack_buckets[parts] &&
	       stacks >= sizes->stack_buckets[parts - 1])
		parts++;
	return parts;
}

/* The number of parts of a table. */
static inline uint32_t source_parts(uint32_t elements, uint32_t part)
{
	return elements / part + (elements % part != 0);
}

/* Compute the table sizes for `run`. */
void source_sizes_compute(const struct source_run *run, struct source_sizes *ret);

#endif
