// SPDX-License-Identifier: Apache-2.0
/* Which rows fit a rule and which do not, at the limits of each field. */
#include "check.h"

#include "unwind/rules.h"

#define EXPRESSION(how_, ...)                                                            \
	(struct cfi_rule)                                                                \
	{                                                                                \
		.how = how_, .size_bytes = sizeof((const uint8_t[]){__VA_ARGS__}),       \
		.expression = (const uint8_t[])                                          \
		{                                                                        \
			__VA_ARGS__                                                      \
		}                                                                        \
	}

static struct cfi_row plain(void)
{
	struct cfi_row row = {.cfa = {.how = CFI_REGISTER, .reg = ARCH_SP, .offset = 32}};

	row.registers[ARCH_PC] = (struct cfi_rule){.how = CFI_OFFSET, .offset = -8};
	return row;
}

static void check_rule(const struct cfi_row *row, uint64_t expected)
{
	CHECK_INT(rule_from_row(row, 0x1000), expected);
}

static void cfas(void)
{
	struct cfi_row row = plain();

	check_rule(&row, UNWIND_RULE(UNWIND_SP, 32, 0, UNWIND_BP_SAME, 0));
	row.cfa.reg = ARCH_BP;
	check_rule(&row, UNWIND_RULE(UNWIND_BP, 32, 0, UNWIND_BP_SAME, 0));
	row.cfa.offset = INT32_MIN;
	check_rule(&row, UNWIND_RULE(UNWIND_BP, INT32_MIN, 0, UNWIND_BP_SAME, 0));
	row.cfa.offset = (int64_t)INT32_MIN - 1;
	check_rule(&row, UNWIND_RULE_SLOW);
	row.cfa.offset = (int64_t)INT32_MAX + 1;
	check_rule(&row, UNWIND_RULE_SLOW);
	row.cfa.offset = 32;
	row.cfa.reg = ARCH_RBX;
	check_rule(&row, UNWIND_RULE_SLOW);

	/* *(rbp - 8) + addend, up to the range of a byte of words. */
	row.cfa = EXPRESSION(CFI_VAL_EXPRESSION, 0x76, 0x78, 0x06);
	check_rule(&row, UNWIND_RULE(UNWIND_BP_DEREF, -8, 0, UNWIND_BP_SAME, 0));
	row.cfa =
		EXPRESSION(CFI_VAL_EXPRESSION, 0x77, 0x10, 0x06, 0x0a, 0xf8, 0x03, 0x22);
	check_rule(&row, UNWIND_RULE(UNWIND_SP_DEREF, 16, 1016, UNWIND_BP_SAME, 0));
	row.cfa =
		EXPRESSION(CFI_VAL_EXPRESSION, 0x77, 0x10, 0x06, 0x0a, 0x00, 0x04, 0x22);
	check_rule(&row, UNWIND_RULE_SLOW);
	row.cfa =
		EXPRESSION(CFI_VAL_EXPRESSION, 0x77, 0x10, 0x06, 0x0a, 0x00, 0x04, 0x1c);
	check_rule(&row, UNWIND_RULE(UNWIND_SP_DEREF, 16, -1024, UNWIND_BP_SAME, 0));
	row.cfa = EXPRESSION(CFI_VAL_EXPRESSION, 0x77, 0x10, 0x06, 0x34, 0x22);
	check_rule(&row, UNWIND_RULE_SLOW);
	row.cfa = EXPRESSION(CFI_VAL_EXPRESSION, 0x7a, 0x00, 0x06);
	check_rule(&row, UNWIND_RULE_SLOW);
	row.cfa = EXPRESSION(CFI_VAL_EXPRESSION, 0x38);
	check_rule(&row, UNWIND_RULE_SLOW);
}

static void frame_pointers(void)
{
	struct cfi_row row = plain();
	struct cfi_rule *bp = &row.registers[ARCH_BP];

	*bp = (struct cfi_rule){.how = CFI_SAME};
	check_rule(&row, UNWIND_RULE(UNWIND_SP, 32, 0, UNWIND_BP_SAME, 0));
	*bp = (struct cfi_rule){.how = CFI_UNDEFINED};
	check_rule(&row, UNWIND_RULE(UNWIND_SP, 32, 0, UNWIND_BP_UNDEFINED, 0));
	*bp = (struct cfi_rule){.how = CFI_OFFSET, .offset = -16};
	check_rule(&row, UNWIND_RULE(UNWIND_SP, 32, 0, UNWIND_BP_BELOW, -16));
	bp->offset = -24;
	check_rule(&row, UNWIND_RULE(UNWIND_SP, 32, 0, UNWIND_BP_AT_CFA, -24));
	bp->offset = INT16_MIN * 8;
	check_rule(&row, UNWIND_RULE(UNWIND_SP, 32, 0, UNWIND_BP_AT_CFA, INT16_MIN * 8));
	bp->offset -= 8;
	check_rule(&row, UNWIND_RULE_SLOW);
	bp->offset = INT16_MAX * 8 + 8;
	check_rule(&row, UNWIND_RULE_SLOW);
	bp->offset = -20;
	check_rule(&row, UNWIND_RULE_SLOW);
	*bp = EXPRESSION(CFI_EXPRESSION, 0x76, 0x00);
	check_rule(&row, UNWIND_RULE(UNWIND_SP, 32, 0, UNWIND_BP_AT_BP, 0));
	*bp = EXPRESSION(CFI_EXPRESSION, 0x77, 0x00);
	check_rule(&row, UNWIND_RULE_SLOW);
	*bp = EXPRESSION(CFI_VAL_EXPRESSION, 0x76, 0x00);
	check_rule(&row, UNWIND_RULE_SLOW);
	*bp = (struct cfi_rule){.how = CFI_REGISTER, .reg = 11};
	check_rule(&row, UNWIND_RULE_SLOW);
	*bp = (struct cfi_rule){.how = CFI_VAL_OFFSET, .offset = -16};
	check_rule(&row, UNWIND_RULE_SLOW);
}

static void rules_of_other_rows_end_or_are_slow(void)
{
	struct cfi_row row = plain();

	row.registers[ARCH_PC].offset = -16;
	check_rule(&row, UNWIND_RULE_SLOW);
	row.registers[ARCH_PC] = (struct cfi_rule){.how = CFI_SAME};
	check_rule(&row, UNWIND_RULE_SLOW);
	row.registers[ARCH_PC] = (struct cfi_rule){.how = CFI_UNDEFINED};
	check_rule(&row, UNWIND_RULE_END);

	row = plain();
	row.registers[ARCH_SP] = (struct cfi_rule){.how = CFI_VAL_OFFSET};
	check_rule(&row, UNWIND_RULE(UNWIND_SP, 32, 0, UNWIND_BP_SAME, 0));
	row.registers[ARCH_SP].offset = 8;
	check_rule(&row, UNWIND_RULE_SLOW);
	row.registers[ARCH_SP] = (struct cfi_rule){.how = CFI_OFFSET, .offset = -16};
	check_rule(&row, UNWIND_RULE_SLOW);

	/* A rule does not contain other callee-saved registers. */
	row = plain();
	row.registers[ARCH_RBX] = (struct cfi_rule){.how = CFI_VAL_OFFSET, .offset = 3};
	check_rule(&row, UNWIND_RULE(UNWIND_SP, 32, 0, UNWIND_BP_SAME, 0));
}

static void signals(void)
{
	struct cfi_row row = {.is_signal_frame = true};

	row.cfa = EXPRESSION(CFI_VAL_EXPRESSION, 0x77, 0xa0, 0x01, 0x06);
	row.registers[ARCH_BP] = EXPRESSION(CFI_EXPRESSION, 0x77, 0xf8, 0x00);
	row.registers[ARCH_PC] = EXPRESSION(CFI_EXPRESSION, 0x77, 0xa8, 0x01);
	check_rule(&row, UNWIND_RULE_SIGNAL);
	row.registers[ARCH_SP] = EXPRESSION(CFI_EXPRESSION, 0x77, 0xa0, 0x01);
	check_rule(&row, UNWIND_RULE_SIGNAL);
	row.registers[ARCH_SP] = EXPRESSION(CFI_EXPRESSION, 0x77, 0xa8, 0x01);
	check_rule(&row, UNWIND_RULE_SLOW);
	row.registers[ARCH_SP] = (struct cfi_rule){.how = CFI_UNSPECIFIED};
	row.registers[ARCH_BP] = (struct cfi_rule){.how = CFI_UNSPECIFIED};
	check_rule(&row, UNWIND_RULE_SLOW);
	row.registers[ARCH_BP] = EXPRESSION(CFI_EXPRESSION, 0x77, 0xf8, 0x00);
	row.is_signal_frame = false;
	check_rule(&row, UNWIND_RULE_SLOW);

	/* A normal frame that is marked so: its caller's pc is not a return address. */
	row = plain();
	row.is_signal_frame = true;
	check_rule(&row, UNWIND_RULE_SLOW);
}

int main(void)
{
	RUN(cfas);
	RUN(frame_pointers);
	RUN(rules_of_other_rows_end_or_are_slow);
	RUN(signals);
	return check_done();
}
