/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The blocks of a snapshot in the making: read from the tables, then corrected by the
 * journal. Inside of drain*.c only.
 */
#ifndef BPF_DRAIN_BLOCKS_H
#define BPF_DRAIN_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "abi.h"
#include "bpf/drain.h"
#include "util/hashmap.h"

struct drain {
	const struct drain_maps *maps;
	const struct source_sizes *sizes;
	uint64_t attach_ns;
	struct snapshot *snap;
	struct abi_control *control;
	/* Blocks that are not in a bucket's run: address to index in snap->blocks. */
	struct hashmap others;
	/* Where the blocks of each bucket begin in snap->blocks: a block that moved to
	 * its other bucket while we read is found there. One more than buckets. */
	uint32_t *first_of_bucket;
};

/* A block of the probes as the snapshot has it. */
struct snapshot_block drain_block_from(const struct drain *d, uint64_t address,
				       const struct abi_block *block);

/* The block of this address among those that were read from bucket `at`, or NULL. */
struct snapshot_block *drain_find_in_bucket(const struct drain *d, uint32_t at,
					    uint64_t address);

/* The block of this address that was read so far, or NULL. */
struct snapshot_block *drain_find(const struct drain *d, uint64_t address);

/* Add a block that is not in a bucket's run, or put it in place of an older one of its
 * address. False when memory is out. */
bool drain_add(struct drain *d, struct snapshot_block block);

/* Take a block out. It keeps its place until all are read: address 0 marks it. */
void drain_remove(struct drain *d, uint64_t address);

/* Read the tables: buckets, what did not fit, old blocks of calls on their way. */
struct error *drain_read_tables(struct drain *d) __attribute__((warn_unused_result));

/* Open the journal. Changes from here on are in it, or were made before. */
void drain_journal_open(struct drain *d);

/*
 * Apply what was written up to this moment, close the journal and empty it. *settled is
 * false when it has overflowed.
 */
struct error *drain_journal_close(struct drain *d, bool *settled)
	__attribute__((warn_unused_result));

#endif
