/* SPDX-License-Identifier: Apache-2.0 */
/* The blocks of a snapshot under construction: read from the tables, then corrected by
 * the journal. Only for drain*.c. */
#ifndef DRAIN_DRAIN_BLOCKS_H
#define DRAIN_DRAIN_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "abi.h"
#include "abi_walk.h"
#include "drain/drain.h"
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
	/* drain_kept_begin() found that programs of the last reading may still run; reset
	 * when the journal is opened */
	bool fence_failed;
	bool is_half_made; /* a slot was read while its block was changing */
	bool has_moving;   /* a realloc() holds a block, or did when the reading began */
	bool has_calls;    /* a slot for a call was in use when it was read */
	uint64_t late_changes;    /* control->late_changes when the journal was opened */
	uint64_t applied, wanted; /* entries, if the journal is a ring */
	/* Blocks outside of the buckets' runs: key to index in snap->blocks. */
	struct hashmap others;
	/* The keys of snap->blocks (abi.h), with DRAIN_HELD; 0: removed. */
	VEC(uint64_t) keys;
	/* Index in snap->blocks at which the blocks of each bucket begin; one element
	 * more than there are buckets. Finds a block by its key. */
	uint32_t *first_of_bucket;
	uint32_t generations; /* of the table, in this reading */
};

#define DRAIN_NOWHERE SIZE_MAX

/* The block is held by a realloc (ABI_JOURNAL_HELD). Slots have 15 bits, so no key has
 * this bit. */
#define DRAIN_HELD (1ull << 63)

/* When the block was allocated. Ticks are rounded down, possibly to a time before the
 * attach: then that is returned. */
uint64_t drain_time_ns(const struct tick_clock *ticks, uint64_t attached_ns,
		       const struct abi_block *block);

/* Index in snap->blocks of a block that was read from bucket `at`, or DRAIN_NOWHERE. */
size_t drain_find_in_bucket(const struct drain *d, uint32_t at, uint64_t key);

/* Index in snap->blocks of a block that was read so far, or DRAIN_NOWHERE. */
size_t drain_find(const struct drain *d, uint64_t key);

/* Keep one copy of a block that was read several times because it moved meanwhile. */
void drain_remove_copies(struct drain *d, uint64_t key);

/* Add a block to the run of the bucket that is being read. Returns false without
 * memory. */
bool drain_append(struct drain *d, uint64_t key, const struct abi_block *block);

/* Replace the block at `index`. */
void drain_replace(struct drain *d, size_t index, uint64_t key,
		   const struct abi_block *block);

/* Add a block outside of the buckets' runs, or replace an older block with the same key.
 * Returns false without memory. */
bool drain_add(struct drain *d, uint64_t key, const struct abi_block *block);

/* As drain_add(), for a block that a realloc holds. Sets d->has_moving. */
bool drain_hold(struct drain *d, uint64_t key, const struct abi_block *block);

/* Remove a block that no realloc holds (drain_remove) or that one holds (drain_release).
 * Its place stays until all blocks are read. */
void drain_remove(struct drain *d, uint64_t key);
void drain_release(struct drain *d, uint64_t key);

/*
 * Read a hash map with 64-bit keys and values of `value_bytes` (a multiple of 8), bucket
 * by bucket. Each bucket is read at one moment, so no key that stays in the map is left
 * out or given twice (__htab_map_lookup_and_delete_batch(), kernel/bpf/hashtab.c,
 * Linux 5.6). `fn` may delete the key; if it returns false the reading stops with
 * ERROR_NO_MEMORY.
 */
struct error *drain_walk_hash(int fd, size_t value_bytes,
			      bool (*fn)(uint64_t key, const void *value, void *arg),
			      void *arg) __attribute__((warn_unused_result));

/* Read all tables: the buckets, the spill map, and the old blocks of pending calls. */
struct error *drain_read_tables(struct drain *d) __attribute__((warn_unused_result));

/* Blocks in the buckets of `live` with the number of a miss (ABI_MISS_STACK) get the
 * number of its stack if it has one by now, so that the number of the miss can be
 * dropped. Probes may change the table at the same time. */
struct error *drain_renumber(struct live_table *live,
			     const struct drain_resolver *resolver)
	__attribute__((warn_unused_result));

/* How often to look at a journal entry that is not written yet, with at least a
 * microsecond between. Writing an entry takes nanoseconds, unless its thread is
 * preempted. */
#define DRAIN_ENTRY_TRIES 1000
void drain_pause_ns(long ns);

/* Apply a journal entry. Returns false without memory. */
bool drain_apply(struct drain *d, const struct abi_journal *entry);

/* If the journal is a ring (maps->live is NULL): discard its entries; apply the next
 * `count` entries. d->settled becomes false if some do not arrive. */
struct error *drain_ring_clear(struct drain *d) __attribute__((warn_unused_result));
struct error *drain_ring_apply(struct drain *d, uint64_t count)
	__attribute__((warn_unused_result));

/* Open the journal: it records changes that begin from here on. After success it must be
 * closed. */
struct error *drain_journal_open(struct drain *d) __attribute__((warn_unused_result));

/* Is what was read since the journal was opened consistent? Not if changes that had begun
 * before were made during the reading, or were half made when they were read. Then waits
 * for all such changes and returns false: read the tables again. */
bool drain_journal_is_good(struct drain *d);

/* Apply all entries written so far and close the journal. *settled is false if the
 * journal has overflowed or an entry was not written completely. */
struct error *drain_journal_close(struct drain *d, bool *settled)
	__attribute__((warn_unused_result));

/* Set d->has_moving by the pending calls alone: the blocks are known already. */
struct error *drain_read_moving(struct drain *d) __attribute__((warn_unused_result));

#endif
