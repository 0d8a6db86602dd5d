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
#include "abi_walk.h"
#include "bpf/drain.h"
#include "bpf/fence.h"
#include "util/hashmap.h"
#include "util/vec.h"

struct drain {
	const struct drain_maps *maps;
	const struct source_sizes *sizes;
	const struct drain_slots *slots;
	const struct tick_clock *ticks;
	struct snapshot *snap;
	struct abi_control *control;
	bool settled, fenced;
	bool is_half_made;        /* a slot was met whose block comes or goes */
	uint64_t late_changes;    /* control->late_changes as the journal was opened */
	uint64_t applied, wanted; /* entries of a journal that is a ring */
	/* Blocks that are not in a bucket's run: key to index in snap->blocks. */
	struct hashmap others;
	/* The keys of snap->blocks (abi.h), 0: taken out. */
	VEC(uint64_t) keys;
	/* Where the blocks of each bucket begin in snap->blocks: a block that moved to
	 * its other bucket while we read is found there. One more than buckets. */
	uint32_t *first_of_bucket;
};

#define DRAIN_NOWHERE SIZE_MAX

/* Where in snap->blocks a block is that was read from bucket `at`, or DRAIN_NOWHERE. */
size_t drain_find_in_bucket(const struct drain *d, uint32_t at, uint64_t key);

/* Where a block is that was read so far, or DRAIN_NOWHERE. */
size_t drain_find(const struct drain *d, uint64_t key);

/* Add a block to the run of the bucket that is being read. False when memory is out. */
bool drain_append(struct drain *d, uint64_t key, const struct abi_block *block);

/* Put a block in place of the one at `index`. */
void drain_replace(struct drain *d, size_t index, uint64_t key,
		   const struct abi_block *block);

/* Add a block that is not in a bucket's run, or put it in place of an older one of its
 * key. False when memory is out. */
bool drain_add(struct drain *d, uint64_t key, const struct abi_block *block);

/* Take a block out. It keeps its place until all are read. */
void drain_remove(struct drain *d, uint64_t key);

/*
 * Walk a hash map with 64-bit keys and values of `value_bytes` (a multiple of 8), bucket
 * by bucket, each as it is at one moment: no key that stays is left out or given twice
 * (__htab_map_lookup_and_delete_batch(), kernel/bpf/hashtab.c, Linux 5.6). `fn` may
 * delete the key, and stops the walk by false: ERROR_NO_MEMORY.
 */
struct error *drain_walk_hash(int fd, size_t value_bytes,
			      bool (*fn)(uint64_t key, const void *value, void *arg),
			      void *arg) __attribute__((warn_unused_result));

/* Read the tables: buckets, what did not fit, old blocks of calls on their way. */
struct error *drain_read_tables(struct drain *d) __attribute__((warn_unused_result));

/*
 * Give blocks in the buckets of `live` that have the number of a walk (ABI_MISS_STACK)
 * that of its stack, where it has one by now: then nobody has to remember the walk. Any
 * number of probes may change the table meanwhile.
 */
struct error *drain_renumber(int live, uint32_t bucket_count,
			     const struct drain_resolver *resolver)
	__attribute__((warn_unused_result));

/* How often an entry of the journal is looked at that is not written yet, a microsecond
 * and more apart: it takes nanoseconds, unless its thread is preempted. */
#define DRAIN_ENTRY_TRIES 1000
void drain_pause_ns(long ns);

/* Apply an entry of the journal. False when memory is out. */
bool drain_apply(struct drain *d, const struct abi_journal *entry);

/* Where the journal is a ring (maps->live is -1): leave out what is in it; and apply the
 * next `count` entries, d->settled being false when they do not come. */
struct error *drain_ring_clear(struct drain *d) __attribute__((warn_unused_result));
struct error *drain_ring_apply(struct drain *d, uint64_t count)
	__attribute__((warn_unused_result));

/* Open the journal: changes that begin from here on are in it. After success it is to be
 * closed. */
struct error *drain_journal_open(struct drain *d) __attribute__((warn_unused_result));

/*
 * Is what was read since the journal was opened good? Not when changes that had begun
 * before were made meanwhile, or were half made. False, after waiting for all such
 * changes: read the tables again.
 */
bool drain_journal_is_good(struct drain *d);

/*
 * Apply what was written up to this moment, and close the journal. *settled is false when
 * it has overflowed, or when an entry was not written to its end.
 */
struct error *drain_journal_close(struct drain *d, bool *settled)
	__attribute__((warn_unused_result));

#endif
