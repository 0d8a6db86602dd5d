// SPDX-License-Identifier: Apache-2.0
/* Symbolic evaluation of expressions: operations on forms instead of numbers. */
#include "unwind/dwarf_codes.h"
#include "unwind/expression.h"

#define FORMS_MAX 8
/* The longest expressions of real files, in PLTs, have 11 bytes. The bound matters, as
 * one is evaluated for each frame and for each row of an unwind table. */
#define FORM_MAX_BYTES 64

struct forms {
	struct expression_form form[FORMS_MAX];
	unsigned depth;
};

static const struct expression_form other = {.kind = FORM_OTHER};

static bool push(struct forms *f, struct expression_form form)
{
	if (f->depth == FORMS_MAX)
		return false;
	f->form[f->depth++] = form;
	return true;
}

static bool push_register(struct forms *f, const struct expression_op *op, uint64_t pc)
{
	if (op->first >= ARCH_REGISTERS)
		return false;
	if (op->first == ARCH_PC)
		return push(f, (struct expression_form){.kind = FORM_CONSTANT,
							.addend = pc + op->second});
	return push(f, (struct expression_form){.kind = FORM_REGISTER,
						.reg = (uint8_t)op->first,
						.addend = op->second});
}

static bool deref(struct expression_form *top)
{
	if (top->kind != FORM_REGISTER)
		return false;
	*top = (struct expression_form){
		.kind = FORM_DEREF, .reg = top->reg, .offset = top->addend};
	return true;
}

/* A sum or difference has a form if at most one operand is not a constant. */
static bool binary(struct forms *f, uint8_t code)
{
	if (f->depth < 2)
		return false;

	struct expression_form *a = &f->form[f->depth - 2], b = f->form[--f->depth];

	if (a->kind == FORM_CONSTANT && b.kind == FORM_CONSTANT)
		return expression_binary(code, a->addend, b.addend, &a->addend);
	if (b.kind == FORM_CONSTANT && (code == DW_OP_plus || code == DW_OP_minus)) {
		a->addend += code == DW_OP_plus ? b.addend : -b.addend;
		return true;
	}
	if (a->kind == FORM_CONSTANT && code == DW_OP_plus) {
		b.addend += a->addend;
		*a = b;
		return true;
	}
	return false;
}

static bool run(struct forms *f, const struct expression_op *op, uint64_t pc)
{
	switch (op->code) {
	case DW_OP_nop:
		return true;
	case DW_OP_constu:
		return push(f, (struct expression_form){.kind = FORM_CONSTANT,
							.addend = op->first});
	case DW_OP_bregx:
		return push_register(f, op, pc);
	case DW_OP_plus_uconst:
		if (!f->depth)
			return false;
		f->form[f->depth - 1].addend += op->first;
		return true;
	case DW_OP_deref_size:
		return op->first == 8 && f->depth && deref(&f->form[f->depth - 1]);
	}
	return binary(f, op->code);
}

struct expression_form expression_form(const uint8_t *expression, size_t size_bytes,
				       uint64_t pc)
{
	struct cursor c = cursor_of(expression, size_bytes);
	struct forms f = {.depth = 0};
	struct expression_op op;

	if (size_bytes > FORM_MAX_BYTES)
		return other;
	while (cursor_left(&c))
		if (!expression_next(&c, &op) || !run(&f, &op, pc))
			return other;
	return f.depth ? f.form[f.depth - 1] : other;
}
