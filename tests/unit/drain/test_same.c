// SPDX-License-Identifier: Apache-2.0
/* Which blocks of a snapshot are in the tables still? This test writes the tables, as the
 * probes do. */
#include "check.h"

#include <errno.h>
#include <unistd.h>

#include <linux/bpf.h>

#include "abi.h"
#include "abi_walk.h"
#include "drain/drain.h"
#include "bpf/mapped.h"
#include "bpf/syscall.h"

#define BUCKETS     64 /* in the first generation */
#define GENERATIONS 3
#define SPILL       64

#define TID         77
#define STACK       5
#define MISS        ABI_MISS_STACK(1) /* what the probes have stored for it */
#define SIZE_BYTES  24
#define ATTACHED_NS 1000
#define TICK_NS     10

struct tables {
	struct drain_maps maps;
	struct live_table table;
	struct abi_live_bucket
		*live[GENERATIONS]; /* mapped; NULL: all blocks are in the hash */
	struct abi_control control;
};

static int create(uint32_t type, uint32_t key_bytes, uint32_t value_bytes, uint32_t count,
		  uint32_t flags)
{
	union bpf_attr attr = {.map_type = type,
			       .key_size = key_bytes,
			       .value_size = value_bytes,
			       .max_entries = count,
			       .map_flags = flags};
	int fd = sys_bpf(BPF_MAP_CREATE, &attr, sizeof(attr));

	if (fd == -EPERM)
		check_skip("no BPF without privileges");
	REQUIRE(fd >= 0);
	return fd;
}

static size_t bytes_of(uint32_t generation)
{
	return ABI_LIVE_BUCKETS(BUCKETS, generation) * sizeof(struct abi_live_bucket);
}

static void tables_init(struct tables *t, bool has_buckets)
{
	*t = (struct tables){
		.maps = {.live_spill = create(BPF_MAP_TYPE_HASH, sizeof(uint64_t),
					      sizeof(struct abi_block), SPILL, 0)},
	};
	if (!has_buckets)
		return;
	t->maps.live = &t->table;
	t->control.live_newest = GENERATIONS - 1;
	t->table = (struct live_table){.control = &t->control,
				       .first_buckets = BUCKETS,
				       .generations = GENERATIONS,
				       .known = GENERATIONS};
	for (uint32_t g = 0; g < GENERATIONS; g++) {
		t->table.part[g] = create(BPF_MAP_TYPE_ARRAY, sizeof(uint32_t),
					  sizeof(struct abi_live_bucket),
					  ABI_LIVE_BUCKETS(BUCKETS, g), BPF_F_MMAPABLE);
		t->live[g] = mapped_open(t->table.part[g], bytes_of(g));
		REQUIRE(t->live[g]);
	}
}

static void tables_deinit(struct tables *t)
{
	for (uint32_t g = 0; t->maps.live && g < GENERATIONS; g++) {
		mapped_close(t->live[g], bytes_of(g));
		close(t->table.part[g]);
	}
	close(t->maps.live_spill);
}

static struct abi_block block_at(uint32_t tick)
{
	return (struct abi_block){
		.size_bytes = SIZE_BYTES, .stack = MISS, .thread = TID, .tick = tick};
}

static uint32_t stack_of(void *arg, uint32_t stack)
{
	const uint32_t *resolved = arg;

	return stack == MISS ? *resolved : stack;
}

/* Store a block in one of the buckets of its key: `choice` is twice the generation, plus
 * 0 or 1. */
static void store(struct tables *t, uint64_t key, int choice, uint32_t tick)
{
	uint32_t count = ABI_LIVE_BUCKETS(BUCKETS, choice / 2);
	struct abi_live_bucket *bucket =
		&t->live[choice / 2][abi_live_hash(key >> 3, count, choice % 2)];

	const struct abi_block block = block_at(tick);
	int way = 0;

	while (bucket->key[way])
		REQUIRE(++way < ABI_LIVE_WAYS);
	bucket->entry[way].size_bytes = (uint32_t)block.size_bytes;
	bucket->entry[way].stack = block.stack;
	bucket->entry[way].thread = block.thread;
	bucket->entry[way].tick = block.tick;
	bucket->key[way] = key >> 3;
}

static void spill(struct tables *t, uint64_t key, uint32_t tick)
{
	struct abi_block block = block_at(tick);

	REQUIRE(!sys_bpf_insert(t->maps.live_spill, &key, &block));
	t->control.spilled_blocks++;
}

static struct drain_known get(const void *arg, size_t i)
{
	REQUIRE(!i);
	return *(const struct drain_known *)arg;
}

/* Is this block there, if the miss is resolved to this stack? */
static bool finds_known(struct tables *t, const struct drain_known *known,
			uint32_t resolved)
{
	const struct tick_clock ticks = {.tick_ns = TICK_NS};
	const struct drain_resolver resolver = {.stack = stack_of, .arg = &resolved};
	const struct drain_wanted wanted = {get, known, 1};
	bool is_there = true;

	REQUIRE(!drain_find_same(&t->maps, &t->control, &ticks, ATTACHED_NS, &resolver,
				 &wanted, &is_there));
	return is_there;
}

/* Is the block there that was allocated at `time_ns`? */
static bool finds(struct tables *t, uint64_t key, uint64_t size_bytes, uint64_t time_ns,
		  uint32_t tid)
{
	return finds_known(t, &(struct drain_known){key, size_bytes, time_ns, tid, STACK},
			   STACK);
}

static void in_either_bucket(void)
{
	const uint64_t first = ABI_KEY(1, 0x1000), second = ABI_KEY(1, 0x2000);
	struct tables t;

	tables_init(&t, true);
	store(&t, first, 0, 200);
	store(&t, second, 1, 300);
	CHECK(finds(&t, first, SIZE_BYTES, 200 * TICK_NS, TID));
	CHECK(finds(&t, second, SIZE_BYTES, 300 * TICK_NS, TID));
	/* Of another process. */
	CHECK(!finds(&t, ABI_KEY(2, 0x1000), SIZE_BYTES, 200 * TICK_NS, TID));
	CHECK(!finds(&t, ABI_KEY(1, 0x3000), SIZE_BYTES, 200 * TICK_NS, TID));
	tables_deinit(&t);
}

/* The table has grown since the block was stored. */
static void in_each_generation(void)
{
	struct tables t;

	tables_init(&t, true);
	for (int i = 0; i < 2 * GENERATIONS; i++)
		store(&t, ABI_KEY(1, 0x1000 * (i + 1)), i, 200 + (uint32_t)i);
	for (int i = 0; i < 2 * GENERATIONS; i++)
		CHECK(finds(&t, ABI_KEY(1, 0x1000 * (i + 1)), SIZE_BYTES,
			    (200 + (uint32_t)i) * TICK_NS, TID));
	CHECK(!finds(&t, ABI_KEY(1, 0xf000), SIZE_BYTES, 200 * TICK_NS, TID));
	tables_deinit(&t);
}

/* The allocator has given the address to another block. */
static void another_block_at_the_address(void)
{
	const uint64_t key = ABI_KEY(1, 0x1000);
	struct drain_known known;
	struct tables t;

	tables_init(&t, true);
	store(&t, key, 0, 200);
	CHECK(finds(&t, key, SIZE_BYTES, 200 * TICK_NS, TID));
	CHECK(!finds(&t, key, SIZE_BYTES + 1, 200 * TICK_NS, TID));
	CHECK(!finds(&t, key, SIZE_BYTES, 199 * TICK_NS, TID));
	CHECK(!finds(&t, key, SIZE_BYTES, 200 * TICK_NS, TID + 1));
	/* At once, with the same size, by another function. */
	known = (struct drain_known){key, SIZE_BYTES, 200 * TICK_NS, TID, STACK};
	CHECK(finds_known(&t, &known, STACK));
	CHECK(!finds_known(&t, &known, STACK + 1));
	CHECK(!finds_known(&t, &known, ABI_NO_STACK));
	known.stack = SNAPSHOT_NO_STACK;
	CHECK(!finds_known(&t, &known, STACK));
	CHECK(finds_known(&t, &known, ABI_NO_STACK));
	tables_deinit(&t);
}

/* Snapshots say so, too. */
static void no_block_is_older_than_the_attach(void)
{
	const uint64_t key = ABI_KEY(1, 0x1000);
	struct tables t;

	tables_init(&t, true);
	store(&t, key, 0, ATTACHED_NS / TICK_NS - 1);
	CHECK(finds(&t, key, SIZE_BYTES, ATTACHED_NS, TID));
	tables_deinit(&t);
}

/* Blocks that are large, at odd addresses, or find no room in the buckets. */
static void in_the_hash(void)
{
	const uint64_t key = ABI_KEY(1, 0x1000), odd = ABI_KEY(1, 0x1004);
	struct tables t;

	for (int has_buckets = 0; has_buckets < 2; has_buckets++) {
		tables_init(&t, has_buckets);
		spill(&t, key, 200);
		spill(&t, odd, 300);
		CHECK(finds(&t, key, SIZE_BYTES, 200 * TICK_NS, TID));
		CHECK(finds(&t, odd, SIZE_BYTES, 300 * TICK_NS, TID));
		CHECK(!finds(&t, key, SIZE_BYTES, 300 * TICK_NS, TID));
		CHECK(!finds(&t, ABI_KEY(1, 0x2000), SIZE_BYTES, 200 * TICK_NS, TID));
		tables_deinit(&t);
	}
}

int main(void)
{
	RUN(in_either_bucket);
	RUN(in_each_generation);
	RUN(another_block_at_the_address);
	RUN(no_block_is_older_than_the_attach);
	RUN(in_the_hash);
	return check_done();
}
