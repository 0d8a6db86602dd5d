// SPDX-License-Identifier: Apache-2.0
/* The probes' step, compiled for the host: on a real stack of this program, and in
 * special cases. */
#include "check.h"

#include <stdbool.h>
#include <stddef.h>
#include <ucontext.h>

#include "unwind_step.h"

#define DEPTH 20

static uint64_t walked[DEPTH + 16], expected[DEPTH + 16];
static unsigned walked_count, expected_count;

static uint64_t word(uint64_t address)
{
	uint64_t value;

	memcpy(&value, (const void *)(uintptr_t)address, sizeof(value));
	return value;
}

/* Unwinds from the caller of this function. */
static __attribute__((noinline)) void walk(void)
{
	uint64_t bp = (uint64_t)(uintptr_t)__builtin_frame_address(0);
	struct unwind_regs regs = {.pc = word(bp + 8), .sp = bp + 16, .bp = word(bp)};

	for (walked_count = 0; walked_count < expected_count; walked_count++) {
		walked[walked_count] = regs.pc;
		if (!unwind_fp_usable(&regs) ||
		    !unwind_step_fp(&regs, word(regs.bp), word(regs.bp + 8)))
			break;
	}
}

/* Each call records its return address: the true stack, outermost first. */
static __attribute__((noinline)) void descend(unsigned levels)
{
	expected[expected_count++] = (uint64_t)(uintptr_t)__builtin_return_address(0);
	if (levels)
		descend(levels - 1);
	else
		walk();
	__asm__ volatile("" ::: "memory"); /* no tail call */
}

static void real_stack(void)
{
	expected_count = 0;
	descend(DEPTH);
	REQUIRE(walked_count == expected_count);
	/* walked[0] is in the innermost descend(). Then the recorded addresses follow,
	 * leaf first. */
	for (unsigned i = 1; i < expected_count; i++)
		CHECK_INT(walked[i], expected[expected_count - i]);
}

static void edges(void)
{
	struct unwind_regs regs = {.pc = 1, .sp = 0x7000, .bp = 0x7000};

	CHECK(unwind_fp_usable(&regs));
	regs.bp = 0x6ff8; /* below the stack pointer */
	CHECK(!unwind_fp_usable(&regs));
	regs.bp = 0x7004; /* not aligned */
	CHECK(!unwind_fp_usable(&regs));
	regs.bp = 0; /* the end of a chain of frame pointers */
	CHECK(!unwind_fp_usable(&regs));
	regs.bp = 0x7000 + UNWIND_MAX_FRAME_BYTES; /* too far away */
	CHECK(!unwind_fp_usable(&regs));
	regs.bp -= 8;
	CHECK(unwind_fp_usable(&regs));
	regs.bp = UINT64_MAX - 7;
	CHECK(!unwind_fp_usable(&regs));
}

static void cycles_end(void)
{
	struct unwind_regs regs = {.pc = 1, .sp = 0x7000, .bp = 0x7100};

	/* A record that points to itself: the stack pointer is already beyond it. */
	CHECK(unwind_step_fp(&regs, 0x7100, 0x1234));
	CHECK_INT(regs.sp, 0x7110);
	CHECK_INT(regs.pc, 0x1234);
	CHECK(!unwind_fp_usable(&regs));
	/* A return address of 0 ends the stack. */
	CHECK(!unwind_step_fp(&regs, 0x7200, 0));
}

/* --- by rule ---------------------------------------------------------------------- */

/* A value that depends on the address: it shows which word a step has read. */
static uint64_t place(uint64_t address)
{
	return address ^ 0xaaaa000000000000u;
}

/* Steps from {1, 0x1000, 0x2000}. */
static struct unwind_regs stepped(uint64_t rule, uint64_t deref_word)
{
	struct unwind_regs regs = {.pc = 1, .sp = 0x1000, .bp = 0x2000};
	uint64_t cfa = unwind_cfa_at(&regs, rule), bp = 0xdead;

	REQUIRE(unwind_can_step(rule));
	if (unwind_derefs(rule))
		cfa = unwind_cfa_from(rule, deref_word);
	if (unwind_bp_saved(rule))
		bp = place(unwind_bp_at(&regs, rule, cfa));
	CHECK(unwind_step(&regs, rule, cfa, place(unwind_return_address_at(cfa)), bp));
	return regs;
}

static void check_step(uint64_t rule, uint64_t deref_word, uint64_t cfa, uint64_t bp)
{
	struct unwind_regs regs = stepped(rule, deref_word);

	CHECK_INT(regs.sp, cfa);
	CHECK_INT(regs.pc, place(cfa - 8));
	CHECK_INT(regs.bp, bp);
}

static void fields(void)
{
	/* The layout must not change: user space writes these words for the probes. */
	CHECK_INT(UNWIND_RULE(UNWIND_SP, 0x20, 0, UNWIND_BP_SAME, 0), 0x0000002000000088);
	CHECK_INT(UNWIND_RULE(UNWIND_BP_DEREF, -8, -16, UNWIND_BP_AT_BP, -24),
		  (int64_t)0xfffffff8fffdfe6b);
	CHECK_INT(UNWIND_RULE_FP, 0x00000010fffe003d);
	CHECK_INT(UNWIND_TYPE(UNWIND_RULE_END), UNWIND_END);
	CHECK_INT(UNWIND_BP_MODE(UNWIND_RULE_FP), UNWIND_BP_BELOW);
	CHECK(!unwind_can_step(UNWIND_RULE_END));
	CHECK(!unwind_can_step(UNWIND_RULE_SIGNAL));
	CHECK(!unwind_can_step(UNWIND_RULE_SLOW));
	CHECK(!unwind_can_step(UNWIND_NONE));
	CHECK(unwind_can_step(UNWIND_RULE_FP));
	/* No rule may equal the word that means "no rule". */
	CHECK(UNWIND_RULE(UNWIND_SP, 0, 0, UNWIND_BP_SAME, 0) != UNWIND_NONE);
}

static void rules(void)
{
	check_step(UNWIND_RULE(UNWIND_SP, 0x20, 0, UNWIND_BP_SAME, 0), 0, 0x1020, 0x2000);
	check_step(UNWIND_RULE(UNWIND_SP, -0x20, 0, UNWIND_BP_UNDEFINED, 0), 0, 0xfe0, 0);
	check_step(UNWIND_RULE(UNWIND_SP, INT32_MAX - 7, 0, UNWIND_BP_SAME, 0), 0,
		   0x1000 + (uint64_t)INT32_MAX - 7, 0x2000);
	check_step(UNWIND_RULE(UNWIND_SP, 0x30, 0, UNWIND_BP_AT_CFA, -0x28), 0, 0x1030,
		   place(0x1008));
	check_step(UNWIND_RULE(UNWIND_SP, 0x30, 0, UNWIND_BP_AT_CFA, INT16_MIN * 8), 0,
		   0x1030, place(0x1030 - 0x40000));
	check_step(UNWIND_RULE(UNWIND_BP, 16, 0, UNWIND_BP_BELOW, -16), 0, 0x2010,
		   place(0x2000));
	check_step(UNWIND_RULE_FP, 0, 0x2010, place(0x2000));
	/* A realigned frame: a word below the saved bp holds the CFA. */
	check_step(UNWIND_RULE(UNWIND_BP_DEREF, -8, 0, UNWIND_BP_AT_BP, 0), 0x3008,
		   0x3008, place(0x2000));
	check_step(UNWIND_RULE(UNWIND_BP_DEREF, -8, -1024, UNWIND_BP_AT_BP, -8), 0x3008,
		   0x3008 - 1024, place(0x1ff8));
	check_step(UNWIND_RULE(UNWIND_SP_DEREF, 0x40, 1016, UNWIND_BP_SAME, 0), 0x3008,
		   0x3008 + 1016, 0x2000);

	/* The addresses of the words for the CFA. */
	struct unwind_regs regs = {.pc = 1, .sp = 0x1000, .bp = 0x2000};

	CHECK_INT(unwind_cfa_at(&regs, UNWIND_RULE(UNWIND_BP_DEREF, -8, 0, 0, 0)),
		  0x1ff8);
	CHECK_INT(unwind_cfa_at(&regs, UNWIND_RULE(UNWIND_SP_DEREF, 0x40, 0, 0, 0)),
		  0x1040);
	/* A return address of 0 belongs to no caller. */
	CHECK(!unwind_step(&regs, UNWIND_RULE_FP, 0x2010, 0, 0));
}

/* The probes' steps without branches for rare cases give the same result as
 * unwind_step(). */
static void plain_steps(void)
{
	static const unsigned types[] = {UNWIND_SP, UNWIND_BP, UNWIND_SP_DEREF,
					 UNWIND_BP_DEREF, UNWIND_FP};
	static const struct {
		unsigned mode;
		int offset;
	} bps[] = {{UNWIND_BP_SAME, 0},     {UNWIND_BP_BELOW, -16},
		   {UNWIND_BP_AT_CFA, -48}, {UNWIND_BP_AT_CFA, -16},
		   {UNWIND_BP_AT_BP, -8},   {UNWIND_BP_UNDEFINED, 0}};

	for (size_t t = 0; t < sizeof(types) / sizeof(*types); t++) {
		for (size_t b = 0; b < sizeof(bps) / sizeof(*bps); b++) {
			unsigned mode = bps[b].mode;
			uint64_t rule =
				UNWIND_RULE(types[t], 0x40, 0, mode, bps[b].offset);
			struct unwind_regs regs = {.pc = 1, .sp = 0x1000, .bp = 0x2000};
			struct unwind_regs other = stepped(rule, 0x3008);
			uint64_t cfa = unwind_cfa_at(&regs, rule), below;

			CHECK_INT(UNWIND_TYPE(rule), types[t]);
			CHECK_INT(UNWIND_BP_MODE(rule), mode);
			CHECK_INT(!!(rule & UNWIND_PLAIN), t < 2 && b < 4);
			CHECK_INT(unwind_bp_beside(rule),
				  mode == UNWIND_BP_BELOW ? UINT64_MAX : 0);
			CHECK_INT(unwind_bp_is_apart(rule),
				  mode == UNWIND_BP_AT_CFA || mode == UNWIND_BP_AT_BP);
			if (rule & UNWIND_PLAIN)
				CHECK_INT(unwind_bp_counts(rule),
					  t == 1 || mode == UNWIND_BP_SAME ? UINT64_MAX
									   : 0);
			if (unwind_derefs(rule))
				cfa = unwind_cfa_from(rule, 0x3008);
			if (!(rule & UNWIND_PLAIN))
				regs.bp &= unwind_bp_kept(rule);
			below = place(unwind_bp_is_apart(rule)
					      ? unwind_bp_at(&regs, rule, cfa)
					      : cfa - 16);
			CHECK(unwind_step_plain(&regs, rule, cfa, place(cfa - 8), below));
			CHECK_INT(regs.pc, other.pc);
			CHECK_INT(regs.sp, other.sp);
			CHECK_INT(regs.bp, other.bp);
			CHECK(!unwind_step_plain(&regs, rule, cfa, 0, below));
		}
	}
	CHECK(!(UNWIND_RULE_END & UNWIND_PLAIN) && !(UNWIND_RULE_SLOW & UNWIND_PLAIN) &&
	      !(UNWIND_RULE_SIGNAL & UNWIND_PLAIN));
}

static void usable_cfa(void)
{
	struct unwind_regs regs = {.pc = 1, .sp = 0x1000, .bp = 0};

	CHECK(unwind_cfa_usable(&regs, 0x1008));
	/* The return address would be below the stack pointer. */
	CHECK(!unwind_cfa_usable(&regs, 0x1000));
	CHECK(!unwind_cfa_usable(&regs, 0x100c));
	CHECK(!unwind_cfa_usable(&regs, 0));
	CHECK(unwind_cfa_usable(&regs, 0x1000 + UNWIND_MAX_FRAME_BYTES));
	CHECK(!unwind_cfa_usable(&regs, 0x1008 + UNWIND_MAX_FRAME_BYTES));
}

static void signal_frame(void)
{
	struct unwind_regs regs = {.pc = 1, .sp = 0x1000, .bp = 0x2000};

	CHECK_INT(UNWIND_SIGNAL_BP, offsetof(ucontext_t, uc_mcontext.gregs[REG_RBP]));
	CHECK_INT(UNWIND_SIGNAL_SP, offsetof(ucontext_t, uc_mcontext.gregs[REG_RSP]));
	CHECK_INT(UNWIND_SIGNAL_PC, offsetof(ucontext_t, uc_mcontext.gregs[REG_RIP]));
	CHECK(unwind_step_signal(&regs, 5, 6, 7));
	CHECK_INT(regs.bp, 5);
	CHECK_INT(regs.sp, 6);
	CHECK_INT(regs.pc, 7);
}

int main(void)
{
	RUN(real_stack);
	RUN(edges);
	RUN(cycles_end);
	RUN(fields);
	RUN(rules);
	RUN(plain_steps);
	RUN(usable_cfa);
	RUN(signal_frame);
	return check_done();
}
