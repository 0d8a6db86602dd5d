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

#include "probes/host.h"

#include "abi_walk.h"

#define MAX_STACKS  4096
#define STACK_DEPTH 127
#if TABLES_ARE_HASHES
/* As in compile/source.c without atomics: each number has room for the deepest stack. */
#define STACK_PCS_BLOCKS (MAX_STACKS * STACK_DEPTH / ABI_PCS_BLOCK + 1)
#else
#define STACK_BUCKETS    (MAX_STACKS * 4 / ABI_STACK_WAYS + 1)
#define STACK_PCS_BLOCKS 5
#endif

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

BPF_F_TABLE("array", u32, struct abi_stack_head, stacks, MAX_STACKS, 0);
BPF_F_TABLE("array", u32, struct pcs_block, stack_pcs, STACK_PCS_BLOCKS, 0);
#define ENTRIES(count) (count)

static struct {
	struct abi_control control;
	u64 counts[ABI_COUNTER_COUNT];
	void (*meanwhile)(void); /* called at the next lookup of a head */
} host;

static void count(enum abi_counter which, u64 n)
{
	host.counts[which] += n;
}

static void before_access(void *arg, const char *what)
{
	void (*meanwhile)(void) = host.meanwhile;

	(void)arg;
	if (!meanwhile || strcmp(what, "stacks") != 0)
		return;
	host.meanwhile = NULL;
	meanwhile();
}

static struct host_context context = {.point = before_access};

#include "stack_record.c"

#if TABLES_ARE_HASHES
#include "hashes/stack_number.c"
#else
#include "arrays/stack_number.c"
#endif

/* --- the tests --------------------------------------------------------------------- */

static struct tracee tracee = {&host.control};

static void begin(void)
{
	host_maps_reset();
	memset(&host, 0, sizeof(host));
	host_now = &context;
}

static u64 pc_of(u32 stack, u32 frame)
{
	return ((u64)stack << 20) + frame + 1;
}

/* Stores the stack `which` of `depth` frames. Returns its number. */
static u32 store(u32 which, u32 depth)
{
	struct abi_scratch scratch;
	struct walk walk = {.depth = depth, .end = ABI_END_COMPLETE, .gap = depth / 2};

	abi_stack_hash_begin(&walk.h, 1, 2);
	memset(scratch.pc, 0xee, sizeof(scratch.pc));
	scratch.family = 1;
	for (u32 i = 0; i < depth; i++) {
		scratch.pc[i] = pc_of(which, i);
		abi_stack_hash_step(&walk.h, scratch.pc[i]);
	}
	return stack_number(&tracee, &walk, &scratch, 2);
}

/* Reads the stack as memtrace does. */
static void check_stored(u32 number, u32 which, u32 depth)
{
	REQUIRE(number < MAX_STACKS);

	const struct abi_stack_head *head = stacks.lookup(&number);
	const u32 block = head->at / ABI_PCS_BLOCK;
	const u64 *pcs = stack_pcs.lookup(&block)->word + head->at % ABI_PCS_BLOCK;

	REQUIRE(head->check);
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

int main(void)
{
	RUN(all_are_read_back);
	RUN(the_deepest_have_room);
	RUN(what_finds_no_room_is_counted);
	RUN(two_at_once);
	RUN(two_at_once_with_the_same);
	return check_done();
}
