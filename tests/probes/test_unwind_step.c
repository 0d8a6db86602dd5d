// SPDX-License-Identifier: Apache-2.0
/* The probes' pure step, on the host: on a real stack of this program, and on the edges.
 */
#include "check.h"

#include <stdbool.h>

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

/* Walk from the caller of this function, whose frame pointer is ours. */
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

/* Each call notes the address it returns to: the truth, outermost first. */
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
	/* walked[0] lies in the innermost descend(); then the noted ones, leaf first. */
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
	regs.bp = 0; /* the end of a chain */
	CHECK(!unwind_fp_usable(&regs));
	regs.bp = 0x7000 + UNWIND_MAX_FRAME_BYTES; /* absurdly far */
	CHECK(!unwind_fp_usable(&regs));
	regs.bp -= 8;
	CHECK(unwind_fp_usable(&regs));
	regs.bp = UINT64_MAX - 7;
	CHECK(!unwind_fp_usable(&regs));
}

static void cycles_end(void)
{
	struct unwind_regs regs = {.pc = 1, .sp = 0x7000, .bp = 0x7100};

	/* A record that points to itself: the stack pointer has passed it. */
	CHECK(unwind_step_fp(&regs, 0x7100, 0x1234));
	CHECK_INT(regs.sp, 0x7110);
	CHECK_INT(regs.pc, 0x1234);
	CHECK(!unwind_fp_usable(&regs));
	/* A return address of 0 ends the walk. */
	CHECK(!unwind_step_fp(&regs, 0x7200, 0));
}

int main(void)
{
	RUN(real_stack);
	RUN(edges);
	RUN(cycles_end);
	return check_done();
}
