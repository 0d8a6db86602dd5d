// SPDX-License-Identifier: Apache-2.0
/*
 * The tables of stacks and their return addresses. Tests the probes' own code
 * (stack_record.c with arrays/stack_number.c or hashes/stack_number.c),
 * compiled for the host. The tables are smaller than in a run. Each stack that got a
 * number must be read back completely.
 */
#include "check.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probes/host.h"

#include "abi_walk.h"

#define MAX_STACKS  4096
#define STACK_DEPTH 127
#if TABLES_ARE_HASHES
/* As in compile/source.c without atomics: each number has room for the deepest stack. */
#define STACK_PCS_BLOCKS (MAX_STACKS * STACK_DEPTH / ABI_PCS_BLOCK + 1)
#define STACK_PCS_PART   32
#else
#define STACK_BUCKETS_1   512
#define STACK_BUCKETS_2   16
#define STACK_BUCKETS_3   (MAX_STACKS * 4 / ABI_STACK_WAYS + 1)
#define STACK_INDEX_PARTS 3
#define STACK_PCS_BLOCKS  5
#define STACK_PCS_PART    2
#endif
#define STACKS_PART     512
#define STACKS_AHEAD    2
#define STACK_PCS_AHEAD 1
#define STACKS_PARTS    (MAX_STACKS / STACKS_PART)
#define STACK_PCS_PARTS ((STACK_PCS_BLOCKS + STACK_PCS_PART - 1) / STACK_PCS_PART)

struct walk {
	struct abi_stack_hash h;
	u32 depth, end, gap;
};

#define walk_gap(w) ((w)->gap)

struct tracee {
	struct abi_control *ctl;
};

/* --- the machine ---------------------------------------------------------------------
 */

struct pcs_block {
	u64 word[ABI_PCS_BLOCK_BYTES(STACK_DEPTH) / 8];
};

BPF_F_TABLE("array", u32, struct abi_stack_head, stacks_part, STACKS_PART, 0);
BPF_F_TABLE("array", u32, struct pcs_block, stack_pcs_part, STACK_PCS_PART, 0);
BPF_TABLE("array_of_maps$stacks_part", u32, u32, stacks, STACKS_PARTS);
BPF_TABLE("array_of_maps$stack_pcs_part", u32, u32, stack_pcs, STACK_PCS_PARTS);
BPF_RINGBUF_OUTPUT(room_news, 1);
#define ENTRIES(count) (count)

static struct {
	struct abi_control control;
	u64 counts[ABI_COUNTER_COUNT];
	void (*meanwhile)(void); /* called at the next lookup of a head */
	u64 most_used;           /* numbers at a lookup of a head, at most */
	bool ring_has_room;      /* of misses */
	u32 sent;                /* stacks sent to memtrace */
} host;

static void count(enum abi_counter which, u64 n)
{
	host.counts[which] += n;
}

static void before_access(void *arg, const char *what)
{
	void (*meanwhile)(void) = host.meanwhile;

	(void)arg;
	if (strcmp(what, "stacks") != 0)
		return;
	if (host.most_used < host.control.stacks_used)
		host.most_used = host.control.stacks_used;
	if (!meanwhile)
		return;
	host.meanwhile = NULL;
	meanwhile();
}

static struct host_context context = {.point = before_access};

/* In place of unwind/miss.c. */
static u32 miss_send_walked(const struct tracee *t, const struct walk *w,
			    struct abi_scratch *s, u32 allocator)
{
	(void)t;
	CHECK_INT(allocator, 2);
	CHECK(w->depth && s->walked.pc[w->depth - 1]);
	return host.ring_has_room ? ABI_MISS_STACK(host.sent++) : ABI_NO_STACK;
}

#include "stack_record.c"

#if TABLES_ARE_HASHES
#include "hashes/stack_number.c"
#else
#include "arrays/stack_number.c"
#endif

/* --- the tests --------------------------------------------------------------------- */

static struct tracee tracee = {&host.control};

/* Return addresses in a part, and the parts that there are. */
#define WORDS (STACK_PCS_PART * ABI_PCS_BLOCK)
static u32 parts, part_words;
static u32 __attribute__((unused)) index_parts;

static void begin(void)
{
	host_maps_reset();
	memset(&host, 0, sizeof(host));
	host_now = &context;
	parts = part_words = 1;
	index_parts = 1;
}

static u64 asked(void)
{
	u64 news, n = 0;

	while (host_ring_take(&host_map_room_news, &news, sizeof(news)))
		n++;
	return n;
}

static void add_part(struct host_map *table, u32 at, u32 value_bytes, u32 count)
{
	int fd = host_map_create("part", value_bytes, count);

	host_map_put(table, at, fd);
	close(fd);
}

#if !TABLES_ARE_HASHES
static const u32 buckets[] = {STACK_BUCKETS_1, STACK_BUCKETS_2, STACK_BUCKETS_3};

static void add_index_part(void)
{
	add_part(&host_map_stack_index, index_parts, sizeof(struct abi_stack_bucket),
		 buckets[index_parts]);
	index_parts++;
}
#endif

/* Add the parts that were asked for, as memtrace does (drain/stack_tables.c). */
static void grow(void)
{
	u32 heads = host.control.stacks_used, words = host.control.stack_pcs_used;

	if (!asked())
		return;
#if TABLES_ARE_HASHES
	words = heads * STACK_DEPTH;
#else
	while (index_parts < STACK_INDEX_PARTS && heads >= buckets[index_parts - 1])
		add_index_part();
#endif
	for (; parts < STACKS_PARTS && parts <= heads / STACKS_PART + STACKS_AHEAD;
	     parts++)
		add_part(&host_map_stacks, parts, sizeof(struct abi_stack_head),
			 STACKS_PART);
	for (; part_words < STACK_PCS_PARTS &&
	       part_words <= words / WORDS + STACK_PCS_AHEAD;
	     part_words++)
		add_part(&host_map_stack_pcs, part_words, sizeof(struct pcs_block),
			 STACK_PCS_PART);
}

#if !TABLES_ARE_HASHES
/* Words in use in a part of the index. */
static u32 words_in(u32 at)
{
	struct host_map *part = stack_index.lookup(&at);
	u32 n = 0;

	for (u32 i = 0; i < buckets[at]; i++) {
		const struct abi_stack_bucket *b = bpf_map_lookup_elem(part, &i);

		for (int way = 0; way < ABI_STACK_WAYS; way++)
			n += b->word[way] != 0;
	}
	return n;
}
#endif

static u64 pc_of(u32 stack, u32 frame)
{
	return ((u64)stack << 20) + frame + 1;
}

/* Stores the stack `which` of `depth` frames. Returns its number. */
static u32 store_only(u32 which, u32 depth)
{
	struct abi_scratch scratch;
	struct walk walk = {.depth = depth, .end = ABI_END_COMPLETE, .gap = depth / 2};

	abi_stack_hash_begin(&walk.h, 1, 2, 0);
	memset(scratch.walked.pc, 0xee, sizeof(scratch.walked.pc));
	scratch.walked.family = 1;
	for (u32 i = 0; i < depth; i++) {
		scratch.walked.pc[i] = pc_of(which, i);
		abi_stack_hash_step(&walk.h, scratch.walked.pc[i]);
	}
	return stack_number(&tracee, &walk, &scratch, 2);
}

/* The same, and memtrace is in time. */
static u32 store(u32 which, u32 depth)
{
	u32 number = store_only(which, depth);

	grow();
	return number;
}

/* Reads the stack as memtrace does. */
static void check_stored(u32 number, u32 which, u32 depth)
{
	REQUIRE(number < MAX_STACKS);

	const struct abi_stack_head *head = stack_head(number);
	REQUIRE(head && head->check);

	const u64 *pcs = stack_words(head->at);

	REQUIRE(pcs);
	CHECK_INT(head->depth, depth);
	CHECK_INT(head->gap, depth / 2);
	CHECK_INT(head->family, 1);
	CHECK_INT(head->allocator, 2);
	CHECK_INT(head->end, ABI_END_COMPLETE);
	for (u32 i = 0; i < depth; i++)
		REQUIRE(pcs[i] == pc_of(which, i));
}

static u32 depth_of(u32 which)
{
	return which % 3 ? which % 13 + 1 : which * 31 % STACK_DEPTH + 1;
}

/* Stacks of every depth, also stacks that continue in the next block. Then the same
 * stacks again. */
static void all_are_read_back(void)
{
	static u32 numbers[MAX_STACKS];
	u32 stored = 0;

	begin();
	while (stored < MAX_STACKS) {
		numbers[stored] = store(stored, depth_of(stored));
		if (numbers[stored] == ABI_NO_STACK)
			break;
		stored++;
	}
	CHECK(stored > 1500);
#if TABLES_ARE_HASHES
	CHECK_INT(stored, MAX_STACKS);
#else
	/* The table has room, but the space for return addresses is full. */
	CHECK(stored < MAX_STACKS);
	CHECK_INT(host.counts[ABI_STACKS_FULL], 1);
	CHECK(host.control.stack_pcs_used >= STACK_PCS_BLOCKS * ABI_PCS_BLOCK);
#endif
	for (u32 i = 0; i < stored; i++) {
		check_stored(numbers[i], i, depth_of(i));
		CHECK_INT(store(i, depth_of(i)), numbers[i]);
	}
}

static void the_deepest_have_room(void)
{
	u32 stored = 0;

	begin();
	for (; store(stored, STACK_DEPTH) != ABI_NO_STACK; stored++)
		check_stored(stored, stored, STACK_DEPTH);
#if TABLES_ARE_HASHES
	CHECK_INT(stored, MAX_STACKS);
#else
	CHECK_INT(stored,
		  (STACK_PCS_BLOCKS * ABI_PCS_BLOCK + STACK_DEPTH - 1) / STACK_DEPTH);
#endif
}

/* If the space for return addresses is full, each new stack is counted as lost. */
static void what_finds_no_room_is_counted(void)
{
	u32 kept;
	u64 used;

	begin();
	kept = store(0, 100);
	for (u32 i = 1; store(i, STACK_DEPTH) != ABI_NO_STACK; i++)
		;
	host.counts[ABI_STACKS_FULL] = 0;
	used = host.control.stacks_used;
	for (u32 i = 0; i < 10; i++)
		CHECK_INT(store(1000000 + i, 1), ABI_NO_STACK);
	CHECK_INT(host.counts[ABI_STACKS_FULL], 10);
	/* No number is used up for it. */
	CHECK_INT(host.control.stacks_used, used);
	CHECK_INT(store(0, 100), kept);
	check_stored(kept, 0, 100);
}

/* Stacks whose part is missing are counted if they cannot be sent to memtrace, and no
 * number is used up for them. They are stored as soon as memtrace has added the part. */
static void nothing_is_stored_without_a_part(void)
{
	u32 count = 0, missing;

	begin();
	while (store_only(count, 1) != ABI_NO_STACK)
		count++;
	CHECK_INT(count, STACKS_PART);
	CHECK_INT(host.counts[ABI_STACKS_FULL], 1);
	for (missing = 1; missing < 10; missing++)
		CHECK_INT(store_only(count + missing, 1), ABI_NO_STACK);
	CHECK_INT(host.counts[ABI_STACKS_FULL], 10);
	CHECK_INT(host.control.stacks_used, STACKS_PART);
	/* Not even for a moment: another processor could take the next one, and none
	 * could be given back. */
	CHECK_INT(host.most_used, STACKS_PART);
	grow();
	for (u32 i = 0; i < count + 10; i++)
		check_stored(store(i, 1), i, 1);
	CHECK_INT(host.counts[ABI_STACKS_FULL], 10);
}

/* A stack whose part is missing is sent to memtrace, and not counted. Once there are as
 * many stacks as there may be, it is counted, and not sent. */
static void what_lacks_a_part_is_sent(void)
{
	u32 count = 0;

	begin();
	host.ring_has_room = true;
	while (!(store_only(count, 1) & ABI_MISS_STACK_BIT))
		count++;
	CHECK_INT(count, STACKS_PART);
	CHECK_INT(store_only(count, 1), ABI_MISS_STACK(1));
	CHECK_INT(host.sent, 2);
	CHECK_INT(host.counts[ABI_STACKS_FULL], 0);
	CHECK_INT(host.control.stacks_used, STACKS_PART);
	grow();
	CHECK_INT(store(count, 1), STACKS_PART);
	host.sent = 0;
	for (count++; count < MAX_STACKS; count++)
		CHECK(!(store(count, 1) & ABI_MISS_STACK_BIT));
	CHECK_INT(store(count, 1), ABI_NO_STACK);
	CHECK_INT(host.sent, 0);
	CHECK_INT(host.counts[ABI_STACKS_FULL], 1);
}

/* From an eighth of the first part on, until the next ones are there. Then from the
 * begin of each part on. */
static void a_part_with_some_stacks_asks(void)
{
	u32 i = 0;

	begin();
	for (; i < STACKS_PART / 8; i++)
		store_only(i, 1);
	CHECK_INT(asked(), 0);
	store_only(i++, 1);
	CHECK_INT(asked(), 1);
	store_only(i++, 1);
	grow();
	CHECK_INT(parts, 1 + STACKS_AHEAD);
	for (; i < STACKS_PART; i++)
		store_only(i, 1);
	CHECK_INT(asked(), 0);
	store_only(i++, 1);
	grow();
	CHECK_INT(parts, 2 + STACKS_AHEAD);
	/* All parts are there in the end. */
	for (; i < MAX_STACKS; i++)
		store(i, 1);
	CHECK_INT(parts, STACKS_PARTS);
	CHECK_INT(asked(), 0);
	/* The index has overflowed into its other parts, and every stack is found. */
	for (i = 0; i < MAX_STACKS; i++)
		CHECK_INT(store_only(i, 1), i);
#if !TABLES_ARE_HASHES
	CHECK(words_in(1) > 50);
	CHECK(words_in(2) > 100);
	CHECK_INT(words_in(0) + words_in(1) + words_in(2), MAX_STACKS);
#endif
#if !TABLES_ARE_HASHES
	/* The same for return addresses. */
	begin();
	for (i = 0; host.control.stack_pcs_used <= WORDS / 8 - STACK_DEPTH; i++)
		store_only(i, STACK_DEPTH);
	CHECK_INT(asked(), 0);
	for (int more = 0; more < 2; more++)
		store_only(i++, STACK_DEPTH);
	CHECK_INT(asked(), 1);
#endif
	CHECK_INT(host.counts[ABI_STACKS_FULL], 0);
}

#if !TABLES_ARE_HASHES
/* Stacks with the same hash, and so with the same tag, are distinguished by the check. A
 * bucket has one of them. The last one finds no bucket, and takes no room however often
 * it comes. */
static void stacks_of_one_tag_differ(void)
{
	const u64 hash = 0x123456789abcdefull;
	struct abi_scratch scratch = {.walked.pc = {1}};

	begin();
	while (index_parts < STACK_INDEX_PARTS)
		add_index_part();
	for (u32 round = 0; round < 2; round++) {
		for (u64 check = 1; check <= 2 * STACK_INDEX_PARTS; check++) {
			struct walk walk = {.depth = 1, .h = {hash, check}};
			u32 known = round ? check - 1 : ABI_NO_STACK;

			CHECK_INT(stack_find(hash, check), known);
			if (!round)
				CHECK_INT(stack_add(&host.control, &walk, &scratch, 2),
					  check - 1);
		}
	}
	for (int again = 0; again < 3; again++) {
		struct walk walk = {.depth = 1, .h = {hash, 2 * STACK_INDEX_PARTS + 1}};

		CHECK_INT(stack_find(hash, walk.h.check), ABI_NO_STACK);
		CHECK_INT(stack_add(&host.control, &walk, &scratch, 2), ABI_NO_STACK);
		CHECK_INT(host.control.stacks_used, 2 * STACK_INDEX_PARTS);
		CHECK_INT(host.control.stack_pcs_used, 2 * STACK_INDEX_PARTS);
	}
}
#endif

static u32 others;

static void another_stores_the_same(void)
{
	others = store(7, 20);
}

static void another_stores_its_own(void)
{
	others = store(8, 30);
}

/* Two processors store different stacks at the same time: they must get different
 * words. */
static void two_at_once(void)
{
	u32 mine;

	begin();
	host.meanwhile = another_stores_its_own;
	mine = store(7, 20);
	CHECK(mine != others);
	check_stored(mine, 7, 20);
	check_stored(others, 8, 30);
}

static void two_at_once_with_the_same(void)
{
	u32 mine;

	begin();
	host.meanwhile = another_stores_the_same;
	mine = store(7, 20);
	CHECK_INT(mine, others);
	check_stored(mine, 7, 20);
	check_stored(store(9, 127), 9, 127);
	check_stored(mine, 7, 20);
}

static void another_stores_many(void)
{
	for (u32 i = 0; i < 50; i++)
		check_stored(store(100 + i, 2), 100 + i, 2);
}

/* Another processor can store any number of stacks meanwhile. */
static void many_meanwhile(void)
{
	u32 mine;

	begin();
	host.meanwhile = another_stores_many;
	mine = store(7, 20);
	CHECK(!host.meanwhile);
	check_stored(mine, 7, 20);
	CHECK_INT(host.counts[ABI_STACKS_FULL], 0);
	CHECK_INT(store(7, 20), mine);
}

int main(void)
{
	RUN(all_are_read_back);
	RUN(the_deepest_have_room);
	RUN(what_finds_no_room_is_counted);
	RUN(nothing_is_stored_without_a_part);
	RUN(what_lacks_a_part_is_sent);
	RUN(a_part_with_some_stacks_asks);
#if !TABLES_ARE_HASHES
	RUN(stacks_of_one_tag_differ);
#endif
	RUN(two_at_once);
	RUN(two_at_once_with_the_same);
	RUN(many_meanwhile);
	return check_done();
}
