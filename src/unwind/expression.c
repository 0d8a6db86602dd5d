// SPDX-License-Identifier: Apache-2.0
#include "unwind/expression.h"

#include "unwind/dwarf_codes.h"

/* Bounds on one evaluation. Expressions of real libraries have a dozen operations. */
#define OPERATIONS_MAX 1000u
#define VALUES_MAX     64u

/* --- operations ------------------------------------------------------------------- */

/* The operand's size in DW_OP_const<n>u and in the signed form that follows each. */
static unsigned constant_bytes(uint8_t code)
{
	return 1u << ((code - DW_OP_const1u) / 2);
}

static bool has_no_operand(uint8_t code)
{
	return code == DW_OP_drop ||
	       (code >= DW_OP_swap && code <= DW_OP_xor && code != DW_OP_rot + 1 &&
		code != DW_OP_plus_uconst) ||
	       (code >= DW_OP_eq && code <= DW_OP_ne) || code == DW_OP_nop;
}

bool expression_next(struct cursor *c, struct expression_op *ret)
{
	uint8_t code = cursor_u8(c);

	*ret = (struct expression_op){.code = code};
	if (code >= DW_OP_lit0 && code <= DW_OP_lit31) {
		*ret = (struct expression_op){DW_OP_constu, code - DW_OP_lit0, 0};
	} else if (code >= DW_OP_breg0 && code <= DW_OP_breg31) {
		*ret = (struct expression_op){DW_OP_bregx, code - DW_OP_breg0,
					      cursor_sleb(c)};
	} else if (code >= DW_OP_const1u && code <= DW_OP_const8s) {
		unsigned size = constant_bytes(code);
		bool is_signed = (code - DW_OP_const1u) & 1;

		ret->code = DW_OP_constu;
		ret->first =
			is_signed ? cursor_signed(c, size) : cursor_unsigned(c, size);
	} else if (code == DW_OP_constu || code == DW_OP_plus_uconst) {
		ret->first = cursor_uleb(c);
	} else if (code == DW_OP_consts) {
		*ret = (struct expression_op){DW_OP_constu, cursor_sleb(c), 0};
	} else if (code == DW_OP_bregx) {
		ret->first = cursor_uleb(c);
		ret->second = cursor_sleb(c);
	} else if (code == DW_OP_deref) {
		*ret = (struct expression_op){DW_OP_deref_size, 8, 0};
	} else if (code == DW_OP_deref_size) {
		ret->first = cursor_u8(c);
		if (ret->first < 1 || ret->first > 8)
			return false;
	} else if (code == DW_OP_dup || code == DW_OP_over) {
		*ret = (struct expression_op){DW_OP_pick, code == DW_OP_over, 0};
	} else if (code == DW_OP_pick) {
		ret->first = cursor_u8(c);
	} else if (code == DW_OP_bra || code == DW_OP_skip) {
		ret->first = cursor_signed(c, 2);
	} else if (!has_no_operand(code)) {
		return false;
	}
	return !c->bad;
}

static bool divide(uint8_t code, uint64_t a, uint64_t b, uint64_t *ret)
{
	if (!b)
		return false;
	if (code == DW_OP_mod)
		*ret = a % b;
	else if (b == UINT64_MAX) /* division by -1 can overflow */
		*ret = -a;
	else
		*ret = (uint64_t)((int64_t)a / (int64_t)b);
	return true;
}

bool expression_binary(uint8_t code, uint64_t a, uint64_t b, uint64_t *ret)
{
	int64_t sa = (int64_t)a, sb = (int64_t)b;

	switch (code) {
	case DW_OP_and:
		*ret = a & b;
		return true;
	case DW_OP_or:
		*ret = a | b;
		return true;
	case DW_OP_xor:
		*ret = a ^ b;
		return true;
	case DW_OP_plus:
		*ret = a + b;
		return true;
	case DW_OP_minus:
		*ret = a - b;
		return true;
	case DW_OP_mul:
		*ret = a * b;
		return true;
	case DW_OP_div:
	case DW_OP_mod:
		return divide(code, a, b, ret);
	case DW_OP_shl:
		*ret = b < 64 ? a << b : 0;
		return true;
	case DW_OP_shr:
		*ret = b < 64 ? a >> b : 0;
		return true;
	case DW_OP_shra:
		*ret = (uint64_t)(sa >> (b < 64 ? b : 63));
		return true;
	case DW_OP_eq:
		*ret = a == b;
		return true;
	case DW_OP_ne:
		*ret = a != b;
		return true;
	case DW_OP_ge:
		*ret = sa >= sb;
		return true;
	case DW_OP_gt:
		*ret = sa > sb;
		return true;
	case DW_OP_le:
		*ret = sa <= sb;
		return true;
	case DW_OP_lt:
		*ret = sa < sb;
		return true;
	}
	return false;
}

/* --- evaluation ------------------------------------------------------------------- */

struct evaluation {
	const struct unwind_registers *registers;
	const struct stack_copy *stack;
	uint64_t values[VALUES_MAX];
	unsigned depth;
};

static enum eval push(struct evaluation *e, uint64_t value)
{
	if (e->depth == VALUES_MAX)
		return EVAL_MALFORMED;
	e->values[e->depth++] = value;
	return EVAL_OK;
}

static enum eval push_register(struct evaluation *e, const struct expression_op *op)
{
	if (op->first >= ARCH_REGISTERS || !(e->registers->known >> op->first & 1))
		return EVAL_UNKNOWN;
	return push(e, e->registers->value[op->first] + op->second);
}

/* Run an operation that takes the topmost `need` values. */
static enum eval run_on_values(struct evaluation *e, const struct expression_op *op,
			       unsigned need)
{
	if (e->depth < need)
		return EVAL_MALFORMED;

	uint64_t *top = &e->values[e->depth - 1], value;

	switch (op->code) {
	case DW_OP_drop:
		e->depth--;
		return EVAL_OK;
	case DW_OP_plus_uconst:
		*top += op->first;
		return EVAL_OK;
	case DW_OP_neg:
		*top = -*top;
		return EVAL_OK;
	case DW_OP_not:
		*top = ~*top;
		return EVAL_OK;
	case DW_OP_abs:
		*top = (int64_t)*top < 0 ? -*top : *top;
		return EVAL_OK;
	case DW_OP_deref_size:
		return stack_copy_read(e->stack, *top, (unsigned)op->first, top)
			       ? EVAL_OK
			       : EVAL_NO_MEMORY;
	case DW_OP_swap:
		value = top[-1];
		top[-1] = *top;
		*top = value;
		return EVAL_OK;
	case DW_OP_rot:
		value = *top;
		*top = top[-1];
		top[-1] = top[-2];
		top[-2] = value;
		return EVAL_OK;
	}
	if (!expression_binary(op->code, top[-1], *top, &value))
		return EVAL_MALFORMED;
	top[-1] = value;
	e->depth--;
	return EVAL_OK;
}

/* The number of values that an operation of run_on_values() takes. */
static unsigned values_taken(uint8_t code)
{
	switch (code) {
	case DW_OP_drop:
	case DW_OP_plus_uconst:
	case DW_OP_neg:
	case DW_OP_not:
	case DW_OP_abs:
	case DW_OP_deref_size:
		return 1;
	case DW_OP_rot:
		return 3;
	}
	return 2;
}

/* Continue `distance` bytes after the branch operation (section 2.5.1.5). */
static enum eval branch(struct cursor *c, const uint8_t *start, uint64_t distance)
{
	uint64_t to = (uint64_t)(c->at - start) + distance;

	if (to > (uint64_t)(c->end - start))
		return EVAL_MALFORMED;
	c->at = start + to;
	return EVAL_OK;
}

static enum eval run(struct evaluation *e, struct cursor *c, const uint8_t *start)
{
	struct expression_op op;

	if (!expression_next(c, &op))
		return EVAL_MALFORMED;
	switch (op.code) {
	case DW_OP_nop:
		return EVAL_OK;
	case DW_OP_constu:
		return push(e, op.first);
	case DW_OP_bregx:
		return push_register(e, &op);
	case DW_OP_pick:
		if (op.first >= e->depth)
			return EVAL_MALFORMED;
		return push(e, e->values[e->depth - 1 - op.first]);
	case DW_OP_skip:
		return branch(c, start, op.first);
	case DW_OP_bra:
		if (!e->depth)
			return EVAL_MALFORMED;
		return e->values[--e->depth] ? branch(c, start, op.first) : EVAL_OK;
	}
	return run_on_values(e, &op, values_taken(op.code));
}

enum eval expression_eval(const uint8_t *expression, size_t size_bytes,
			  const struct unwind_registers *registers,
			  const struct stack_copy *stack, const uint64_t *initial,
			  uint64_t *ret)
{
	struct evaluation e;
	struct cursor c = cursor_of(expression, size_bytes);

	e.registers = registers;
	e.stack = stack;
	e.depth = 0;
	if (initial)
		e.values[e.depth++] = *initial;
	for (unsigned i = 0; cursor_left(&c); i++) {
		enum eval outcome =
			i < OPERATIONS_MAX ? run(&e, &c, expression) : EVAL_MALFORMED;

		if (outcome != EVAL_OK)
			return outcome;
	}
	if (!e.depth)
		return EVAL_MALFORMED;
	*ret = e.values[e.depth - 1];
	return EVAL_OK;
}
