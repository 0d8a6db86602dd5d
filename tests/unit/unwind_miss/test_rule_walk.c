// SPDX-License-Identifier: Apache-2.0
/* Unwinding copied stacks by known rules. */
#include "unwind_miss/rule_walk.h"

#include <string.h>

#include "abi.h"
#include "abi_walk.h"
#include "check.h"
#include "unwind_step.h"

#define BUCKETS  16
#define SLOT     7
#define BASE     0x7ffc00001000ull
#define WORDS    64

#define LEAF     0x401010ull
#define MIDDLE   0x401020ull
#define OUTER    0x401030ull
#define CAPACITY 8

struct stack {
	struct abi_rule_bucket buckets[BUCKETS];
	uint32_t next[BUCKETS * ABI_RULE_WAYS];
	struct rule_table table;
	uint64_t words[WORDS];
	uint64_t pages;
	uint64_t bp; /* of the leaf */
	bool takes_guesses;
	uint64_t pcs[CAPACITY];
	size_t count;
};

static void put(struct stack *s, uint64_t pc, uint64_t rule)
{
	rule_table_put(&s->table, SLOT, pc, false, rule);
}

/* The leaf's CFA is sp + 32. The middle frame's CFA comes from bp, which is below the
 * return address. The outer frame is the last. */
static void init(struct stack *s)
{
	memset(s, 0, sizeof(*s));
	s->table.buckets = s->buckets;
	s->table.bucket_count = BUCKETS;
	s->table.next = s->next;
	s->pages = 1;
	s->bp = BASE + 8 * 8;
	put(s, LEAF, UNWIND_RULE(UNWIND_SP, 32, 0, UNWIND_BP_SAME, 0));
	put(s, MIDDLE, UNWIND_RULE(UNWIND_BP, 16, 0, UNWIND_BP_BELOW, -16));
	put(s, OUTER, UNWIND_RULE_END);
	s->words[3] = MIDDLE;
	s->words[8] = 0x1234; /* bp of the outer frame */
	s->words[9] = OUTER;
}

static bool walk_from(struct stack *s, bool is_interrupted, size_t capacity)
{
	bool is_cut;

	const struct unwind_regs start = {LEAF, BASE, s->bp};
	const struct stack_copy copy = {BASE, s->words, sizeof(s->words), &s->pages};

	return rule_walk(&s->table, SLOT, &start, is_interrupted, &copy, s->pcs, capacity,
			 capacity + 1, s->takes_guesses, &s->count, &is_cut);
}

static bool walk(struct stack *s, size_t capacity)
{
	return walk_from(s, false, capacity);
}

static void to_the_outermost_frame(void)
{
	struct stack s;

	init(&s);
	CHECK(walk(&s, CAPACITY));
	CHECK_INT(s.count, 3);
	CHECK_INT(s.pcs[0], LEAF);
	CHECK_INT(s.pcs[1], MIDDLE);
	CHECK_INT(s.pcs[2], OUTER);
	CHECK(walk(&s, 3));
	CHECK(!walk(&s, 2));
}

/* A probe inside a function: its pc has a separate rule, its callers' pcs have not. */
static void from_an_interrupted_frame(void)
{
	struct stack s;

	init(&s);
	CHECK(!walk_from(&s, true, CAPACITY));
	rule_table_put(&s.table, SLOT, LEAF, true,
		       UNWIND_RULE(UNWIND_SP, 80, 0, UNWIND_BP_SAME, 0));
	CHECK(walk_from(&s, true, CAPACITY));
	CHECK_INT(s.count, 2);
	CHECK_INT(s.pcs[0], LEAF);
	CHECK_INT(s.pcs[1], OUTER);
	CHECK(walk(&s, CAPACITY));
	CHECK_INT(s.count, 3);
}

/* A realigned frame: the CFA is the word at bp - 8, minus 8. */
static void by_a_word_of_memory(void)
{
	struct stack s;

	init(&s);
	put(&s, MIDDLE, UNWIND_RULE(UNWIND_BP_DEREF, -8, -8, UNWIND_BP_UNDEFINED, 0));
	s.words[7] = BASE + 21 * 8;
	s.words[9] = 0;
	s.words[19] = OUTER;
	CHECK(walk(&s, CAPACITY));
	CHECK_INT(s.count, 3);
	CHECK_INT(s.pcs[2], OUTER);
}

/* Only if the caller wants that, the frame pointer can be one, and a rule is known for
 * where it leads. */
static void by_frame_pointer(void)
{
	struct stack s;

	init(&s);
	put(&s, MIDDLE, UNWIND_RULE_FP);
	CHECK(!walk(&s, CAPACITY));
	s.takes_guesses = true;
	CHECK(walk(&s, CAPACITY));
	CHECK_INT(s.count, 3);
	CHECK_INT(s.pcs[2], OUTER);
	s.words[9] = 0x999;
	CHECK(!walk(&s, CAPACITY));
	/* It is not aligned, although a return address is where it leads. */
	s.bp = BASE + 8 * 8 + 4;
	memcpy((uint8_t *)s.words + 9 * 8 + 4, &(uint64_t){OUTER}, 8);
	CHECK(!walk(&s, CAPACITY));
	s.bp = BASE;
	s.words[1] = OUTER;
	CHECK(!walk(&s, CAPACITY));
	/* It is below the stack pointer, the return address is not. */
	s.bp = BASE + 3 * 8;
	s.words[4] = OUTER;
	CHECK(!walk(&s, CAPACITY));
}

static void what_takes_more_than_rules(void)
{
	static const uint64_t others[] = {UNWIND_NONE, UNWIND_RULE_SIGNAL,
					  UNWIND_RULE_SLOW, UNWIND_RULE_FP};
	struct stack s;

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		init(&s);
		put(&s, MIDDLE, others[i]);
		CHECK(!walk(&s, CAPACITY));
	}
	/* A rule of another process. */
	init(&s);
	rule_table_put(&s.table, SLOT + 1, 0x999, false, UNWIND_RULE_END);
	s.words[9] = 0x999;
	CHECK(!walk(&s, CAPACITY));
	/* A word that is not in the copy, and a CFA that is below the last one. */
	init(&s);
	s.pages = 0;
	CHECK(!walk(&s, CAPACITY));
	init(&s);
	put(&s, MIDDLE, UNWIND_RULE(UNWIND_BP, 1 << 20, 0, UNWIND_BP_SAME, 0));
	CHECK(!walk(&s, CAPACITY));
	init(&s);
	put(&s, MIDDLE, UNWIND_RULE(UNWIND_BP, -40, 0, UNWIND_BP_SAME, 0));
	s.words[2] = OUTER;
	CHECK(!walk(&s, CAPACITY));
	init(&s);
	put(&s, MIDDLE, UNWIND_RULE(UNWIND_BP, -64, 0, UNWIND_BP_SAME, 0));
	CHECK(!walk(&s, CAPACITY));
}

int main(void)
{
	RUN(to_the_outermost_frame);
	RUN(from_an_interrupted_frame);
	RUN(by_a_word_of_memory);
	RUN(by_frame_pointer);
	RUN(what_takes_more_than_rules);
	return check_done();
}
