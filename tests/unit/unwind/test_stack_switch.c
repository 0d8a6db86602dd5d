// SPDX-License-Identifier: Apache-2.0
/* Code that comes back from another stack: Go's runtime.asmcgocall as assembled by
 * several releases, and similar code that is not. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "unit/random.h"
#include "unwind/frame.h"
#include "unwind/stack_switch.h"

#define RULE(code) stack_switch_rule((const uint8_t *)(code), sizeof(code) - 1)
#define SWITCH(at) UNWIND_RULE(UNWIND_SP_SWITCH, at, 8, UNWIND_BP_SAME, 0)
#define DEREF(at)  UNWIND_RULE(UNWIND_SP_DEREF, at, 8, UNWIND_BP_SAME, 0)

/* mov 48(%rsp), %rdi; mov 8(%rdi), %rsi; sub 40(%rsp), %rsi */
#define GET_SP "\x48\x8b\x7c\x24\x30\x48\x8b\x77\x08\x48\x2b\x74\x24\x28"
/* mov %rdi, %fs:-8 */
#define SET_G "\x64\x48\x89\x3c\x25\xf8\xff\xff\xff"
/* mov %rdi, %fs:(%rcx) */
#define SET_G_RCX "\x64\x48\x89\x39"
/* mov %rsi, %rsp; mov %eax, 24(%rsp); ret */
#define RETURN "\x48\x89\xf4\x89\x44\x24\x18\xc3"

static void releases(void)
{
	/* Go 1.19, linked to a fixed address. */
	CHECK_INT(RULE(GET_SP SET_G RETURN), SWITCH(48));
	/* Position-independent: mov $-8, %rcx, or mov ...(%rip), %rcx before it. */
	CHECK_INT(RULE("\x48\xc7\xc1\xf8\xff\xff\xff" GET_SP SET_G_RCX RETURN),
		  SWITCH(48));
	CHECK_INT(RULE("\x48\x8b\x0d\x12\x34\x56\x00" GET_SP SET_G_RCX RETURN),
		  SWITCH(48));
	/* Since Go 1.20 with offsets 8 and 0: mov 8(%rsp), %rdi; mov 8(%rdi), %rsi;
	 * sub (%rsp), %rsi */
	CHECK_INT(
		RULE("\x48\x8b\x7c\x24\x08\x48\x8b\x77\x08\x48\x2b\x34\x24" SET_G RETURN),
		SWITCH(8));
	/* By r9 and r10; without a result. */
	CHECK_INT(RULE("\x4c\x8b\x4c\x24\x30\x4d\x8b\x51\x08\x4c\x2b\x54\x24\x28"
		       "\x64\x4c\x89\x0c\x25\xf8\xff\xff\xff\x4c\x89\xd4\xc3"),
		  SWITCH(48));
	/* Already on the thread's stack: mov 40(%rsp), %rsi. */
	CHECK_INT(RULE("\x48\x8b\x74\x24\x28" RETURN), DEREF(40));
	/* asmcgocall_no_g: mov 8(%rsp), %rdx; mov %rdx, %rsp; ret */
	CHECK_INT(RULE("\x48\x8b\x54\x24\x08\x48\x89\xd4\xc3"), DEREF(8));
}

static void similar_code_is_no_stack_switch(void)
{
	/* The depth is not next to g. */
	CHECK_INT(RULE("\x48\x8b\x7c\x24\x30\x48\x8b\x77\x08\x48\x2b\x74\x24\x20" SET_G
			       RETURN),
		  UNWIND_NONE);
	/* Another field than the end of the stack is read. */
	CHECK_INT(RULE("\x48\x8b\x7c\x24\x30\x48\x8b\x77\x10\x48\x2b\x74\x24\x28" SET_G
			       RETURN),
		  UNWIND_NONE);
	/* The end is read from another struct: mov 8(%rdx), %rsi. */
	CHECK_INT(RULE("\x48\x8b\x7c\x24\x30\x48\x8b\x72\x08\x48\x2b\x74\x24\x28" SET_G
			       RETURN),
		  UNWIND_NONE);
	/* Another register becomes the stack pointer; no return; g is not set. */
	CHECK_INT(RULE(GET_SP SET_G "\x48\x89\xfc\xc3"), UNWIND_NONE);
	CHECK_INT(RULE(GET_SP SET_G "\x48\x89\xf4\x90"), UNWIND_NONE);
	CHECK_INT(RULE(GET_SP RETURN), UNWIND_NONE);
	/* The end of a normal function: add $40, %rsp; ret. A load: mov 40(%rsp), %rsi;
	 * ret. */
	CHECK_INT(RULE("\x48\x83\xc4\x28\xc3"), UNWIND_NONE);
	CHECK_INT(RULE("\x48\x8b\x74\x24\x28\xc3"), UNWIND_NONE);
}

/* No byte beyond the end is read: on the heap, sanitizers notice it. */
static void cut_short(void)
{
	static const char code[] = "\x48\xc7\xc1\xf8\xff\xff\xff" GET_SP SET_G_RCX RETURN;

	for (size_t size = 0; size < sizeof(code) - 1; size++) {
		uint8_t *copy = malloc(size + !size);

		REQUIRE(copy);
		memcpy(copy, code, size);
		CHECK_INT(stack_switch_rule(copy, size), UNWIND_NONE);
		free(copy);
	}
}

static void damaged(void)
{
	static const char code[] = GET_SP SET_G RETURN;

	for (int i = 0; i < 20000; i++) {
		uint8_t *copy = malloc(sizeof(code) - 1);
		uint64_t rule;

		REQUIRE(copy);
		memcpy(copy, code, sizeof(code) - 1);
		random_damage(copy, sizeof(code) - 1, 1 + random_below(4));
		rule = stack_switch_rule(copy, sizeof(code) - 1);
		CHECK(rule == UNWIND_NONE || UNWIND_TYPE(rule) == UNWIND_SP_SWITCH ||
		      UNWIND_TYPE(rule) == UNWIND_SP_DEREF);
		free(copy);
	}
}

/* --- one step --------------------------------------------------------------------- */

#define BASE 0x7000u

static uint64_t words[64];

static enum eval step(uint64_t depth, uint64_t g, struct unwind_regs *regs)
{
	const struct stack_copy copy = {
		.base = BASE, .bytes = words, .size_bytes = sizeof(words)};

	*regs = (struct unwind_regs){.pc = 1, .sp = BASE, .bp = 5};
	words[5] = depth;
	words[6] = g;
	return frame_step_rule(SWITCH(48), &copy, regs);
}

static void steps(void)
{
	const uint64_t g = BASE + 0x80, low = BASE + 0x100, high = BASE + 0x180;
	struct unwind_regs regs;

	words[16] = low;
	words[17] = high;
	words[(high - 0x40 - BASE) / 8] = 0x1234;
	CHECK_INT(step(0x40, g, &regs), EVAL_OK);
	CHECK_INT(regs.pc, 0x1234);
	CHECK_INT(regs.sp, high - 0x38);
	CHECK_INT(regs.bp, 5);
	/* Up to the bounds, and not beyond. */
	CHECK_INT(step(8, g, &regs), EVAL_OK);
	CHECK_INT(step(0x80, g, &regs), EVAL_OK);
	CHECK_INT(step(0x88, g, &regs), EVAL_MALFORMED);
	CHECK_INT(regs.sp, BASE);
	CHECK_INT(step(0, g, &regs), EVAL_MALFORMED);
	CHECK_INT(step(0x44, g, &regs), EVAL_MALFORMED);
	CHECK_INT(step(-UINT64_C(8), g, &regs), EVAL_MALFORMED);
	/* g is not in the copy. */
	CHECK_INT(step(0x40, 0xc000000000, &regs), EVAL_NO_MEMORY);
	CHECK_INT(step(0x40, UINT64_MAX - 7, &regs), EVAL_NO_MEMORY);
	words[16] = high + 8;
	CHECK_INT(step(0x40, g, &regs), EVAL_MALFORMED);
}

int main(void)
{
	RUN(releases);
	RUN(similar_code_is_no_stack_switch);
	RUN(cut_short);
	RUN(damaged);
	RUN(steps);
	return check_done();
}
