// SPDX-License-Identifier: Apache-2.0
/*
 * A report reads the tables only if something was allocated or freed. This test writes
 * the tables and the counters, as the probes do.
 */
#include "check.h"

#include <errno.h>
#include <unistd.h>

#include <linux/bpf.h>

#include "abi.h"
#include "abi_walk.h"
#include "drain/drain.h"
#include "bpf/mapped.h"
#include "bpf/syscall.h"

#define BUCKETS       256
#define LIVE_BYTES    (BUCKETS * sizeof(struct abi_live_bucket))
#define PENDING_BYTES (ABI_PENDING_SLOTS * sizeof(struct abi_pending))

#define ENTRIES       1024 /* in a half of the journal */

struct bench {
	struct source_sizes sizes;
	struct drain_maps maps;
	struct live_table table;
	struct stack_tables stacks;
	struct journal_table journal;
	struct abi_live_bucket *live; /* mapped */
	struct abi_pending *pending;  /* mapped */
	struct abi_counters counters;
	struct abi_control control;
	uint32_t process[2];
	bool has_moving, settled; /* the last snapshot */
	struct drain_kept kept;
};

static int create(uint32_t type, uint32_t key_bytes, uint32_t value_bytes, uint32_t count)
{
	union bpf_attr attr = {.map_type = type,
			       .key_size = key_bytes,
			       .value_size = value_bytes,
			       .max_entries = count,
			       .map_flags =
				       type == BPF_MAP_TYPE_ARRAY ? BPF_F_MMAPABLE : 0};
	int fd = sys_bpf(BPF_MAP_CREATE, &attr, sizeof(attr));

	if (fd == -EPERM)
		check_skip("no BPF without privileges");
	REQUIRE(fd >= 0);
	return fd;
}

static int create_array(size_t value_bytes, uint32_t count)
{
	return create(BPF_MAP_TYPE_ARRAY, 4, (uint32_t)value_bytes, count);
}

static struct part_table one_part(size_t value_bytes)
{
	return (struct part_table){.outer = -1,
				   .value_bytes = (uint32_t)value_bytes,
				   .part_entries = 1,
				   .count = 1,
				   .owner = getpid(),
				   .part = {create_array(value_bytes, 1)},
				   .known = 1};
}

static void bench_init(struct bench *b, struct fence *fence)
{
	*b = (struct bench){
		.sizes = {.cpu_slots = 1, .process_slots = 2, .max_stacks = 1},
		.maps = {.counters = &b->counters,
			 .live = &b->table,
			 .live_spill = create(BPF_MAP_TYPE_HASH, 8,
					      sizeof(struct abi_block), 8),
			 .journal = &b->journal,
			 .pending = create_array(sizeof(struct abi_pending),
						 ABI_PENDING_SLOTS),
			 .pending_spill = -1,
			 .stacks = &b->stacks,
			 .fence = fence},
		.table = {.control = &b->control,
			  .first_buckets = BUCKETS,
			  .generations = 1,
			  .part = {create_array(sizeof(struct abi_live_bucket), BUCKETS)},
			  .known = 1},
		.process = {0, SNAPSHOT_NO_PROCESS},
	};
	b->journal = (struct journal_table){
		.outer = -1,
		.half = {create_array(sizeof(struct abi_journal), ENTRIES),
			 create_array(sizeof(struct abi_journal), ENTRIES)},
		.room = {ENTRIES, ENTRIES},
	};
	b->stacks = (struct stack_tables){
		.heads = one_part(sizeof(struct abi_stack_head)),
		.pcs = one_part(ABI_PCS_BLOCK_BYTES(1)),
		.sizes = &b->sizes,
		.control = &b->control,
	};
	fence_open(fence);
	b->live = mapped_open(b->table.part[0], LIVE_BYTES);
	b->pending = mapped_open(b->maps.pending, PENDING_BYTES);
	REQUIRE(b->live && b->pending);
}

static void bench_deinit(struct bench *b)
{
	const int fds[] = {b->table.part[0],     b->maps.live_spill,
			   b->journal.half[0],   b->journal.half[1],
			   b->maps.pending,      b->stacks.heads.part[0],
			   b->stacks.pcs.part[0]};

	mapped_close(b->live, LIVE_BYTES);
	mapped_close(b->pending, PENDING_BYTES);
	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
		close(fds[i]);
	fence_close(b->maps.fence);
	drain_kept_deinit(&b->kept);
}

static void store(struct bench *b, uint32_t slot, uint64_t address)
{
	uint64_t word = ABI_KEY(slot, address) >> 3;
	struct abi_live_bucket *bucket = &b->live[abi_live_hash(word, BUCKETS, 0)];

	for (int i = 0; i < ABI_LIVE_WAYS; i++) {
		if (bucket->key[i])
			continue;
		bucket->entry[i].size_bytes = 16;
		bucket->entry[i].stack = ABI_NO_STACK;
		__atomic_store_n(&bucket->key[i], word, __ATOMIC_SEQ_CST);
		return;
	}
}

static void count_one(struct bench *b, enum abi_counter which)
{
	__atomic_add_fetch(&b->counters.value[which], 1, __ATOMIC_SEQ_CST);
}

static void catch_up(void *arg)
{
	(void)arg;
}

static uint32_t stack_of(void *arg, uint32_t stack)
{
	(void)arg;
	return stack;
}

/* The number of blocks in a new snapshot. */
static size_t read_anyway(struct bench *b)
{
	const struct drain_slots slots = {b->process, NULL};
	const struct drain_resolver resolver = {catch_up, stack_of, NULL};
	const struct tick_clock ticks = {.tick_ns = 1};
	struct snapshot *snap = snapshot_create();
	size_t count;

	REQUIRE(snap);
	snap->wants_moving = true;
	REQUIRE(!drain_blocks(&b->maps, &b->sizes, &b->control, &slots, &ticks, &resolver,
			      &b->kept, snap, &b->settled));
	count = snap->blocks[BLOCK_HEAP].len;
	b->has_moving = snap->has_moving;
	snapshot_destroy(snap);
	return count;
}

static size_t read_blocks(struct bench *b)
{
	size_t count = read_anyway(b);

	CHECK(b->settled);
	return count;
}

/* A child of memtrace may not open a part of the table that memtrace has added. */
static void a_part_is_missing(void)
{
	struct bench b;
	struct fence fence;

	bench_init(&b, &fence);
	store(&b, 0, 0x1000);
	CHECK_INT(read_blocks(&b), 1);
	b.table.outer = -1;
	b.table.generations = 2;
	b.control.live_newest = 1;
	count_one(&b, ABI_ALLOCATIONS);
	CHECK_INT(read_anyway(&b), 1);
	CHECK(!b.settled);
	bench_deinit(&b);
}

/* The third reading is the first that does not read the tables. */
static void reads_only_after_events(void)
{
	struct bench b;
	struct fence fence;

	bench_init(&b, &fence);
	store(&b, 0, 0x1000);
	count_one(&b, ABI_ALLOCATIONS);
	CHECK_INT(read_blocks(&b), 1);
	CHECK_INT(read_blocks(&b), 1);
	/* Shows whether the tables are read: no probe stores without counting. */
	store(&b, 0, 0x2000);
	CHECK_INT(read_blocks(&b), 1);
	CHECK_INT(read_blocks(&b), 1);
	count_one(&b, ABI_FREES_UNKNOWN);
	CHECK_INT(read_blocks(&b), 2);
	bench_deinit(&b);
}

/* A probe has counted before a reading and stores the block after it. */
static void counted_before_it_was_stored(void)
{
	struct bench b;
	struct fence fence;

	bench_init(&b, &fence);
	count_one(&b, ABI_ALLOCATIONS);
	CHECK_INT(read_blocks(&b), 0);
	store(&b, 0, 0x1000);
	CHECK_INT(read_blocks(&b), 1);
	CHECK_INT(read_blocks(&b), 1);
	bench_deinit(&b);
}

/* Kept blocks belong to the processes that the new snapshot has. */
static void of_other_processes(void)
{
	struct bench b;
	struct fence fence;

	bench_init(&b, &fence);
	store(&b, 0, 0x1000);
	store(&b, 1, 0x1000);
	store(&b, 1, 0x2000);
	CHECK_INT(read_blocks(&b), 1);
	CHECK_INT(read_blocks(&b), 1);
	b.process[1] = 1;
	CHECK_INT(read_blocks(&b), 3);
	drain_kept_drop(&b.kept);
	store(&b, 0, 0x3000);
	CHECK_INT(read_blocks(&b), 4);
	bench_deinit(&b);
}

/* A realloc() begins without counting. Its block stays in the snapshot. */
static void a_block_that_moves(void)
{
	struct bench b;
	struct fence fence;

	bench_init(&b, &fence);
	store(&b, 0, 0x1000);
	count_one(&b, ABI_ALLOCATIONS);
	for (int i = 0; i < 4; i++) {
		CHECK_INT(read_blocks(&b), 1);
		CHECK(!b.has_moving);
	}
	b.pending[7].owner = 1;
	b.pending[7].address = 0x1000;
	b.pending[7].flags = ABI_PENDING_HAS_OLD;
	CHECK_INT(read_blocks(&b), 1);
	CHECK(b.has_moving);
	/* Read anew. */
	count_one(&b, ABI_ALLOCATIONS);
	CHECK_INT(read_blocks(&b), 1);
	CHECK(b.has_moving);
	b.pending[7].owner = 0;
	CHECK_INT(read_blocks(&b), 1);
	CHECK(!b.has_moving);
	bench_deinit(&b);
}

/* The calls whose thread has died, in a new snapshot of this process. */
static uint64_t count_dead(struct bench *b, struct drain_kept *kept)
{
	const struct drain_slots slots = {b->process, NULL};
	struct snapshot *snap = snapshot_create();
	uint64_t dead;

	REQUIRE(snap && snapshot_add_process(snap, getpid()));
	REQUIRE(!drain_counters(&b->maps, &b->sizes, &slots, kept, snap));
	dead = snap->losses[LOSS_CALLS_ABANDONED];
	snapshot_destroy(snap);
	return dead;
}

/* While nothing happens, the table of calls is not searched for dead threads. */
static void dead_threads_are_counted_after_events(void)
{
	struct bench b;
	struct fence fence;

	bench_init(&b, &fence);
	/* No thread has this number, which is above PID_MAX_LIMIT. */
	b.pending[7].owner = ABI_CALLER_KEY(1) | 0xfffffe;
	for (int i = 0; i < 3; i++) {
		CHECK_INT(read_blocks(&b), 0);
		CHECK_INT(drain_kept_is_quiet(&b.kept), i == 2);
		CHECK_INT(count_dead(&b, &b.kept), 1);
	}
	/* Shows whether the table is read. */
	b.pending[8] = b.pending[7];
	CHECK_INT(read_blocks(&b), 0);
	CHECK_INT(count_dead(&b, &b.kept), 1);
	/* The last report reads it in any case. */
	CHECK_INT(count_dead(&b, NULL), 2);
	count_one(&b, ABI_ALLOCATIONS);
	CHECK_INT(read_blocks(&b), 0);
	CHECK(!drain_kept_is_quiet(&b.kept));
	CHECK_INT(count_dead(&b, &b.kept), 2);
	for (int i = 0; i < 2; i++)
		CHECK_INT(read_blocks(&b), 0);
	CHECK(drain_kept_is_quiet(&b.kept));
	drain_kept_drop(&b.kept);
	CHECK(!drain_kept_is_quiet(&b.kept));
	bench_deinit(&b);
}

int main(void)
{
	RUN(dead_threads_are_counted_after_events);
	RUN(reads_only_after_events);
	RUN(a_part_is_missing);
	RUN(counted_before_it_was_stored);
	RUN(of_other_processes);
	RUN(a_block_that_moves);
	return check_done();
}
