// SPDX-License-Identifier: Apache-2.0
/*
 * The journal of changes while memtrace reads the tables. A program that was preempted
 * may write its entry after that reading. Later readings must not use it.
 */
#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

#include <linux/bpf.h>

#include "drain/drain_blocks.h"
#include "bpf/features.h"
#include "bpf/mapped.h"
#include "bpf/syscall.h"
#include "unit/bpf/slow_program.h"

#define ENTRIES       1024 /* in a half of the journal */
#define HALF_BYTES    ((size_t)ENTRIES * sizeof(struct abi_journal))

#define HELPER_LOOKUP 1 /* BPF_FUNC_map_lookup_elem */

/* A tracer. This test writes the entries of its probes. */
struct bench {
	struct journal_table journal;
	struct abi_journal *entries[2]; /* mapped */
	struct fence fence;
	struct abi_control control;
	struct source_sizes sizes;
	struct drain_maps maps;
	struct live_table live;
	uint32_t process[1];
	struct drain_slots slots;
	struct tick_clock ticks;
	struct snapshot snap;
	struct drain drain;
};

static int create_array(uint32_t value_bytes, uint32_t count)
{
	union bpf_attr attr = {.map_type = BPF_MAP_TYPE_ARRAY,
			       .key_size = 4,
			       .value_size = value_bytes,
			       .max_entries = count,
			       .map_flags = BPF_F_MMAPABLE};

	return sys_bpf(BPF_MAP_CREATE, &attr, sizeof(attr));
}

static int create_hash(uint32_t value_bytes)
{
	union bpf_attr attr = {.map_type = BPF_MAP_TYPE_HASH,
			       .key_size = 8,
			       .value_size = value_bytes,
			       .max_entries = 8};

	return sys_bpf(BPF_MAP_CREATE, &attr, sizeof(attr));
}

static void bench_init(struct bench *b)
{
	*b = (struct bench){
		.journal = {.outer = -1, .room = {ENTRIES, ENTRIES}},
		.sizes = {.process_slots = 1},
	};
	for (int i = 0; i < 2; i++) {
		b->journal.half[i] = create_array(sizeof(struct abi_journal), ENTRIES);
		if (b->journal.half[i] == -EPERM)
			check_skip("no BPF without privileges");
		REQUIRE(b->journal.half[i] >= 0);
		b->entries[i] = mapped_open(b->journal.half[i], HALF_BYTES);
		REQUIRE(b->entries[i]);
	}
	fence_open(&b->fence);
	b->maps = (struct drain_maps){
		.journal = &b->journal, .fence = &b->fence, .live = &b->live};
	b->slots.process = b->process;
	b->live = (struct live_table){
		.control = &b->control, .first_buckets = 1, .generations = 1, .known = 1};
}

static void bench_deinit(struct bench *b)
{
	fence_close(&b->fence);
	for (int i = 0; i < 2; i++) {
		mapped_close(b->entries[i], HALF_BYTES);
		close(b->journal.half[i]);
	}
}

static void begin_reading_after(struct bench *b, bool fence_failed)
{
	b->drain = (struct drain){
		.maps = &b->maps,
		.sizes = &b->sizes,
		.slots = &b->slots,
		.ticks = &b->ticks,
		.snap = &b->snap,
		.control = &b->control,
		.fence_failed = fence_failed,
	};
	REQUIRE(!drain_journal_open(&b->drain));
	CHECK(drain_journal_is_good(&b->drain));
}

static void begin_reading(struct bench *b)
{
	begin_reading_after(b, false);
}

/* The sum of the addresses of all blocks that were read. *settled: the snapshot is
 * consistent. */
static uint64_t end_reading(struct bench *b, bool *settled)
{
	uint64_t sum = 0;

	REQUIRE(!drain_journal_close(&b->drain, settled));
	vec_foreach (key, &b->drain.keys)
		sum += ABI_KEY_ADDRESS(*key);
	vec_deinit(&b->drain.keys);
	vec_deinit(&b->snap.blocks[BLOCK_HEAP]);
	hashmap_deinit(&b->drain.others);
	return sum;
}

/* The first half of journal_add() (probes/arrays/live.c), up to where it may be
 * preempted. */
static struct abi_journal *take_entry(struct bench *b)
{
	uint64_t half = ABI_JOURNAL_HALF(b->control.draining);

	REQUIRE(b->control.draining);
	return &b->entries[half][b->control.journal_used[half]++];
}

/* The second half of journal_add(); entry->old_key is set. */
static void write_at(struct abi_journal *entry, uint64_t address)
{
	entry->key = ABI_KEY(0, address);
	entry->size_bytes = 16;
	__atomic_store_n(&entry->kind, ABI_JOURNAL_PUT, __ATOMIC_SEQ_CST);
}

static void write_entry(struct abi_journal *entry, uint64_t address)
{
	entry->old_key = 0;
	write_at(entry, address);
}

static void entries_in_time(void)
{
	struct bench b;
	bool settled;

	bench_init(&b);
	for (uint64_t i = 1; i < 6; i++) {
		begin_reading(&b);
		for (uint64_t n = 0; n < i; n++)
			write_entry(take_entry(&b), i << 12 | n << 4);
		CHECK_INT(end_reading(&b, &settled), (i * i << 12) + (i * (i - 1) << 3));
		CHECK(settled);
	}
	bench_deinit(&b);
}

static void write_held(struct abi_journal *entry, uint64_t address)
{
	entry->old_key = ABI_JOURNAL_HELD;
	write_at(entry, address);
}

static void write_replacing(struct abi_journal *entry, uint64_t address, uint64_t old)
{
	entry->old_key = ABI_KEY(0, old);
	write_at(entry, address);
}

/* Another thread gets the address of a realloc's old block before the realloc returns. */
static void an_address_that_a_realloc_gave_up(void)
{
	struct bench b;
	bool settled;

	bench_init(&b);
	begin_reading(&b);
	write_held(take_entry(&b), 0x1000);
	write_entry(take_entry(&b), 0x1000);
	write_replacing(take_entry(&b), 0x2000, 0x1000);
	CHECK_INT(end_reading(&b, &settled), 0x3000);
	CHECK(b.drain.has_moving);

	begin_reading(&b);
	write_held(take_entry(&b), 0x1000);
	write_replacing(take_entry(&b), 0x2000, 0x1000);
	CHECK_INT(end_reading(&b, &settled), 0x2000);

	/* It stays where it is. */
	begin_reading(&b);
	write_held(take_entry(&b), 0x1000);
	write_replacing(take_entry(&b), 0x1000, 0x1000);
	CHECK_INT(end_reading(&b, &settled), 0x1000);

	/* It fails. */
	begin_reading(&b);
	write_held(take_entry(&b), 0x1000);
	write_entry(take_entry(&b), 0x1000);
	CHECK_INT(end_reading(&b, &settled), 0x1000);
	bench_deinit(&b);
}

/* An entry for the first reading is written during the second one, which has an entry at
 * the same index of the other half. The third reading uses the half of the first one. */
static void a_late_writer(void)
{
	struct abi_journal *late;
	struct bench b;
	bool settled;

	bench_init(&b);
	begin_reading(&b);
	late = take_entry(&b);
	CHECK_INT(end_reading(&b, &settled), 0);
	CHECK(!settled);

	begin_reading(&b);
	struct abi_journal *own = take_entry(&b);

	CHECK(own != late);
	write_entry(own, 0x1000);
	write_entry(late, 0x2000);
	CHECK_INT(end_reading(&b, &settled), 0x1000);
	CHECK(settled);

	/* This writer is preempted, too. If the half was not cleared, the old entry would
	 * be read in its place. */
	begin_reading(&b);
	CHECK(take_entry(&b) == late);
	CHECK_INT(end_reading(&b, &settled), 0);
	CHECK(!settled);
	bench_deinit(&b);
}

/* --- a writer that runs during a reading ------------------------------------------ */

#define COPY(to, from)                                                                   \
	{                                                                                \
		.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = (to), .src_reg = (from)  \
	}

/* Sets `begun`, takes the entry `at` of the second half, runs for some milliseconds,
 * writes the entry, and sets `done`. */
static int load_late_writer(const struct bench *b, int marks, uint32_t at)
{
	const struct bpf_insn insns[] = {
		MAP(BPF_REG_7, BPF_PSEUDO_MAP_VALUE, marks),
		STORE(BPF_W, BPF_REG_10, -4, (int)at),
		COPY(BPF_REG_2, BPF_REG_10),
		{.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_2, .imm = -4},
		MAP(BPF_REG_1, BPF_PSEUDO_MAP_FD, b->journal.half[1]),
		CALL(HELPER_LOOKUP),
		{.code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = BPF_REG_0, .off = 11},
		COPY(BPF_REG_8, BPF_REG_0),
		STORE(BPF_DW, BPF_REG_7, 0, 1),
		MILLISECONDS_GO_BY,
		STORE(BPF_DW, BPF_REG_8, 0, 0x2000), /* key */
		STORE(BPF_W, BPF_REG_8, offsetof(struct abi_journal, kind),
		      ABI_JOURNAL_PUT),
		STORE(BPF_DW, BPF_REG_7, 8, 1),
		SET(BPF_REG_0, 0),
		{.code = BPF_JMP | BPF_EXIT},
	};

	return kernel_load(BPF_PROG_TYPE_SOCKET_FILTER, insns,
			   sizeof(insns) / sizeof(*insns), 0);
}

/* The writer starts in the first reading. It must have ended when the third reading
 * starts, which uses the same half. False if it ended too soon, as on a busy machine. */
static bool ends_before_its_half_is_used(struct bench *b, int program,
					 struct marks *marks)
{
	uint32_t fd = (uint32_t)program;
	pthread_t thread;
	bool settled, was_running;

	*marks = (struct marks){0};
	begin_reading(b);
	REQUIRE(!pthread_create(&thread, NULL, slow_program_run, &fd));
	while (!read_mark(&marks->begun))
		;
	end_reading(b, &settled);
	was_running = !read_mark(&marks->done);
	begin_reading(b);
	end_reading(b, &settled);
	begin_reading(b);
	if (was_running)
		CHECK(read_mark(&marks->done));
	/* The writer takes no index, so no reading reads its entry. */
	CHECK_INT(end_reading(b, &settled), 0);
	CHECK(settled);
	pthread_join(thread, NULL);
	return was_running;
}

/* The loaded program and its marks. */
struct writer {
	struct bench bench;
	int map, program;
	struct marks *marks;
};

static void writer_init(struct writer *w)
{
	bench_init(&w->bench);
	w->map = create_array(sizeof(struct marks), 1);
	REQUIRE(w->map >= 0);
	w->marks = mapped_open(w->map, sizeof(*w->marks));
	w->program = load_late_writer(&w->bench, w->map, 7);
	REQUIRE(w->marks && w->program >= 0);
}

static void writer_deinit(struct writer *w)
{
	mapped_close(w->marks, sizeof(*w->marks));
	close(w->program);
	close(w->map);
	bench_deinit(&w->bench);
}

static void a_late_program(void)
{
	struct writer w;
	unsigned seen = 0;

	writer_init(&w);
	for (int i = 0; i < TRIES && seen < 5; i++)
		seen += ends_before_its_half_is_used(&w.bench, w.program, w.marks);
	CHECK(seen > 0);
	writer_deinit(&w);
}

/* --- changes without an entry ------------------------------------------------------ */

/* A change that began before the reading and took place during it. */
static void a_late_change(void)
{
	struct bench b;
	bool settled;

	bench_init(&b);
	begin_reading(&b);
	b.control.late_changes++;
	CHECK(!drain_journal_is_good(&b.drain));
	CHECK(b.drain.fenced);
	CHECK_INT(end_reading(&b, &settled), 0);
	CHECK(settled);
	/* It does not affect the next reading. */
	begin_reading(&b);
	end_reading(&b, &settled);
	CHECK(settled);
	bench_deinit(&b);
}

/* The programs of the last reading could not be waited for: one of them may still write
 * into this one. */
static void programs_that_cannot_be_waited_for(void)
{
	struct bench b;
	bool settled;

	bench_init(&b);
	begin_reading_after(&b, true);
	CHECK_INT(end_reading(&b, &settled), 0);
	CHECK(!settled);
	begin_reading(&b);
	CHECK_INT(end_reading(&b, &settled), 0);
	CHECK(settled);
	bench_deinit(&b);
}

/* When the reading is known to be inconsistent, the program that made the change has
 * ended. */
static void a_late_change_is_waited_for(void)
{
	struct writer w;
	unsigned seen = 0;

	writer_init(&w);
	for (int i = 0; i < TRIES && seen < 5; i++) {
		uint32_t fd = (uint32_t)w.program;
		pthread_t thread;
		bool settled;

		*w.marks = (struct marks){0};
		REQUIRE(!pthread_create(&thread, NULL, slow_program_run, &fd));
		while (!read_mark(&w.marks->begun))
			;
		begin_reading(&w.bench);
		seen += !read_mark(&w.marks->done);
		w.bench.control.late_changes++;
		CHECK(!drain_journal_is_good(&w.bench.drain));
		CHECK(read_mark(&w.marks->done));
		end_reading(&w.bench, &settled);
		pthread_join(thread, NULL);
	}
	CHECK(seen > 0);
	writer_deinit(&w);
}

/* The reading meets a claimed slot, and a pending call with a block. */
static void half_made_changes(void)
{
	struct abi_live_bucket *bucket;
	struct abi_pending *pending;
	struct bench b;
	bool settled;

	bench_init(&b);
	b.live = (struct live_table){
		.control = &b.control,
		.first_buckets = 1,
		.generations = 1,
		.part = {create_array(sizeof(*bucket), 1)},
		.known = 1,
	};
	b.maps.pending = create_array(sizeof(*pending), ABI_PENDING_SLOTS);
	b.maps.live_spill = create_hash(sizeof(struct abi_block));
	b.maps.pending_spill = -1;
	bucket = mapped_open(b.live.part[0], sizeof(*bucket));
	pending = mapped_open(b.maps.pending, ABI_PENDING_SLOTS * sizeof(*pending));
	REQUIRE(bucket && pending);

	uint32_t first_of_bucket[2];

	for (int i = 0; i < 3; i++) {
		bucket->key[2] = i == 1 ? ABI_LIVE_CLAIMED : 0;
		pending[7].owner = 1;
		pending[7].flags = i == 2 ? ABI_PENDING_CHANGES : 0;
		begin_reading(&b);
		b.drain.first_of_bucket = first_of_bucket;
		b.drain.generations = 1;
		REQUIRE(!drain_read_tables(&b.drain));
		CHECK_INT(drain_journal_is_good(&b.drain), i == 0);
		end_reading(&b, &settled);
	}
	mapped_close(bucket, sizeof(*bucket));
	mapped_close(pending, ABI_PENDING_SLOTS * sizeof(*pending));
	close(b.live.part[0]);
	close(b.maps.live_spill);
	close(b.maps.pending);
	bench_deinit(&b);
}

static struct live_table table_of_one_bucket(struct abi_control *control)
{
	return (struct live_table){
		.control = control, .first_buckets = 1, .generations = 2, .known = 2};
}

/* The buckets of the second generation, if the first one has one bucket. */
#define SECOND ABI_LIVE_BUCKETS(1, 1)

/* A key whose two buckets there differ. */
static uint64_t key_of_two_buckets(void)
{
	uint64_t key = ABI_KEY(0, 0x1000);

	while (abi_live_hash(key >> 3, SECOND, 0) == abi_live_hash(key >> 3, SECOND, 1))
		key += 8;
	return key;
}

/* As if both generations had been read: another block is in each bucket of the second
 * one, and `key` wherever it can be. */
static void read_copies(struct drain *d, uint64_t key, uint32_t first_of_bucket[])
{
	const struct abi_block block = {.size_bytes = 7};

	REQUIRE(drain_append(d, key, &block));
	for (uint32_t i = 0; i < SECOND; i++) {
		first_of_bucket[1 + i] = (uint32_t)d->keys.len;
		if (i == abi_live_hash(key >> 3, SECOND, 0) ||
		    i == abi_live_hash(key >> 3, SECOND, 1))
			REQUIRE(drain_append(d, key, &block));
		REQUIRE(drain_append(d, ABI_KEY(0, 0x2000), &block));
	}
	first_of_bucket[1 + SECOND] = (uint32_t)d->keys.len;
}

/* A block moves to another place while the tables are read, and is read twice. */
static void a_block_that_moves_meanwhile(void)
{
	uint32_t first_of_bucket[1 + SECOND + 1] = {0};
	const uint64_t key = key_of_two_buckets();
	const struct abi_journal moves[] = {
		{.key = key, .kind = ABI_JOURNAL_TAKEN},
		{.key = key, .size_bytes = 9, .kind = ABI_JOURNAL_PUT},
	};
	struct bench b;
	bool settled;

	for (size_t count = 1; count <= 2; count++) {
		bench_init(&b);
		b.live = table_of_one_bucket(&b.control);
		begin_reading(&b);
		b.drain.generations = 2;
		b.drain.first_of_bucket = first_of_bucket;
		read_copies(&b.drain, key, first_of_bucket);
		for (size_t i = 0; i < count; i++)
			REQUIRE(drain_apply(&b.drain, &moves[i]));
		CHECK(drain_find(&b.drain, ABI_KEY(0, 0x2000)) != DRAIN_NOWHERE);
		CHECK_INT(end_reading(&b, &settled),
			  0x2000 * SECOND + (count == 2 ? key : 0));
		bench_deinit(&b);
	}
}

int main(void)
{
	RUN(a_block_that_moves_meanwhile);
	RUN(entries_in_time);
	RUN(an_address_that_a_realloc_gave_up);
	RUN(a_late_writer);
	RUN(a_late_program);
	RUN(a_late_change);
	RUN(programs_that_cannot_be_waited_for);
	RUN(a_late_change_is_waited_for);
	RUN(half_made_changes);
	return check_done();
}
