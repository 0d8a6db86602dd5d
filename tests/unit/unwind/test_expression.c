// SPDX-License-Identifier: Apache-2.0
/* DWARF expressions: their values, their forms, and the bounds on them. */
#include "check.h"

#include "unwind/expression.h"

#define BYTES(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

#define BASE       0x7000u

static const uint64_t words[4] = {0x1122334455667788, 0x7010, 0x99, 0xaa};
static const struct stack_copy stack = {BASE, words, sizeof(words), NULL};
static struct unwind_registers registers; /* rbp, rsp and pc are known */

static enum eval eval(const uint8_t *expression, size_t size, uint64_t *ret)
{
	const uint64_t cfa = 0xcfa;

	return expression_eval(expression, size, &registers, &stack, &cfa, ret);
}

static void check_value(const uint8_t *expression, size_t size, uint64_t expected)
{
	uint64_t value = 0xdead;

	CHECK_INT(eval(expression, size, &value), EVAL_OK);
	CHECK_INT(value, expected);
}

static void check_fails(const uint8_t *expression, size_t size, enum eval expected)
{
	uint64_t value;

	CHECK_INT(eval(expression, size, &value), expected);
}

static void constants(void)
{
	check_value(BYTES(0x96), 0xcfa); /* the initial stack */
	check_value(BYTES(0x30), 0);
	check_value(BYTES(0x4f), 31);
	check_value(BYTES(0x08, 0xff), 0xff);
	check_value(BYTES(0x09, 0xff), UINT64_MAX);
	check_value(BYTES(0x0a, 0xfe, 0xff), 0xfffe);
	check_value(BYTES(0x0b, 0xfe, 0xff), (uint64_t)-2);
	check_value(BYTES(0x0c, 0xfe, 0xff, 0xff, 0xff), 0xfffffffe);
	check_value(BYTES(0x0d, 0xfe, 0xff, 0xff, 0xff), (uint64_t)-2);
	check_value(BYTES(0x0e, 1, 2, 3, 4, 5, 6, 7, 8), 0x0807060504030201);
	check_value(BYTES(0x0f, 1, 2, 3, 4, 5, 6, 7, 0xf8), 0xf807060504030201);
	check_value(BYTES(0x10, 0x80, 0x01), 128);
	check_value(BYTES(0x11, 0x7f), UINT64_MAX);
	/* A LEB128 number with more than 64 bits. */
	check_value(BYTES(0x10, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
			  0x80, 0x80, 0x01),
		    0);
}

static void stack_operations(void)
{
	check_value(BYTES(0x31, 0x32, 0x12, 0x22), 4);    /* dup */
	check_value(BYTES(0x31, 0x32, 0x13), 1);          /* drop */
	check_value(BYTES(0x31, 0x32, 0x14), 1);          /* over */
	check_value(BYTES(0x31, 0x32, 0x33, 0x15, 2), 1); /* pick */
	check_value(BYTES(0x31, 0x32, 0x16, 0x1c), 1);    /* swap */
	check_value(BYTES(0x31, 0x32, 0x33, 0x17), 2);    /* rot */
	check_value(BYTES(0x31, 0x32, 0x33, 0x17, 0x13), 1);
	check_value(BYTES(0x31, 0x32, 0x33, 0x17, 0x13, 0x13), 3);
}

static void arithmetic(void)
{
	check_value(BYTES(0x3c, 0x3a, 0x1a), 8);                  /* and */
	check_value(BYTES(0x3c, 0x3a, 0x21), 14);                 /* or */
	check_value(BYTES(0x3c, 0x3a, 0x27), 6);                  /* xor */
	check_value(BYTES(0x33, 0x35, 0x1c), (uint64_t)-2);       /* minus */
	check_value(BYTES(0x33, 0x35, 0x1e), 15);                 /* mul */
	check_value(BYTES(0x09, 0xf8, 0x33, 0x1b), (uint64_t)-2); /* div, signed */
	check_value(BYTES(0x38, 0x33, 0x1d), 2);                  /* mod */
	check_value(BYTES(0x09, 0xff, 0x19), 1);                  /* abs */
	check_value(BYTES(0x31, 0x1f), UINT64_MAX);               /* neg */
	check_value(BYTES(0x30, 0x20), UINT64_MAX);               /* not */
	check_value(BYTES(0x33, 0x34, 0x24), 48);                 /* shl */
	check_value(BYTES(0x09, 0xff, 0x08, 60, 0x25), 15);       /* shr */
	check_value(BYTES(0x09, 0xf0, 0x32, 0x26), (uint64_t)-4); /* shra */
	check_value(BYTES(0x31, 0x08, 64, 0x24), 0);              /* shifts by all bits */
	check_value(BYTES(0x31, 0x08, 200, 0x25), 0);
	check_value(BYTES(0x09, 0xf0, 0x08, 200, 0x26), UINT64_MAX);
	check_value(BYTES(0x33, 0x23, 0x80, 0x01), 131); /* plus_uconst */
	/* INT64_MIN / -1 overflows. */
	check_value(BYTES(0x0e, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x09, 0xff, 0x1b),
		    (uint64_t)1 << 63);
	check_fails(BYTES(0x31, 0x30, 0x1b), EVAL_MALFORMED);
	check_fails(BYTES(0x31, 0x30, 0x1d), EVAL_MALFORMED);
	/* Comparisons are signed: -1 and 1. */
	check_value(BYTES(0x09, 0xff, 0x31, 0x29), 0); /* eq */
	check_value(BYTES(0x09, 0xff, 0x31, 0x2a), 0); /* ge */
	check_value(BYTES(0x09, 0xff, 0x31, 0x2b), 0); /* gt */
	check_value(BYTES(0x09, 0xff, 0x31, 0x2c), 1); /* le */
	check_value(BYTES(0x09, 0xff, 0x31, 0x2d), 1); /* lt */
	check_value(BYTES(0x09, 0xff, 0x31, 0x2e), 1); /* ne */
}

static void registers_and_memory_are_read(void)
{
	check_value(BYTES(0x76, 0x78), BASE);            /* rbp - 8 */
	check_value(BYTES(0x92, 6, 0x08), BASE + 16);    /* the same register */
	check_value(BYTES(0x76, 0x78, 0x06), words[0]);  /* deref */
	check_value(BYTES(0x76, 0x78, 0x94, 2), 0x7788); /* deref_size */
	check_value(BYTES(0x76, 0, 0x06, 0x06), 0x99);   /* twice */
	check_fails(BYTES(0x76, 0x70, 0x06), EVAL_NO_MEMORY);
	check_fails(BYTES(0x76, 0x11, 0x06), EVAL_NO_MEMORY); /* beyond the end */
	check_fails(BYTES(0x30, 0x06), EVAL_NO_MEMORY);
	check_fails(BYTES(0x09, 0xff, 0x06), EVAL_NO_MEMORY);
	check_fails(BYTES(0x73, 0), EVAL_UNKNOWN); /* rbx */
	check_fails(BYTES(0x8f, 0), EVAL_UNKNOWN);
	check_fails(BYTES(0x92, 0xff, 0xff, 0x7f, 0), EVAL_UNKNOWN);
}

static void pages(void)
{
	static const uint8_t bytes[3 * 4096];
	const uint64_t present = 5; /* the second page is missing */
	const struct stack_copy copy = {0x10000, bytes, sizeof(bytes), &present};
	/* A copy that begins in the middle of a page. */
	const struct stack_copy within = {0x10800, bytes, 4096, &present};
	uint64_t value;

	CHECK(stack_copy_read(&copy, 0x10000, 8, &value));
	CHECK(stack_copy_read(&copy, 0x10ff8, 8, &value));
	CHECK(!stack_copy_read(&copy, 0x10ff9, 8, &value));
	CHECK(!stack_copy_read(&copy, 0x11000, 8, &value));
	CHECK(!stack_copy_read(&copy, 0x11fff, 8, &value));
	CHECK(stack_copy_read(&copy, 0x12000, 8, &value));
	CHECK(stack_copy_read(&copy, 0x12ff8, 8, &value));
	CHECK(!stack_copy_read(&copy, 0x12ff9, 8, &value));
	CHECK(!stack_copy_read(&copy, 0xfff8, 8, &value));
	CHECK(stack_copy_read(&within, 0x10ff8, 8, &value));
	CHECK(!stack_copy_read(&within, 0x11000, 8, &value));
	CHECK(!stack_copy_read(&within, 0x107f8, 8, &value));
}

static void bounds(void)
{
	uint8_t many[200];

	check_value(BYTES(0x31, 0x2f, 1, 0, 0x32, 0x33), 3);        /* skip */
	check_value(BYTES(0x35, 0x30, 0x28, 1, 0, 0x32), 2);        /* bra, not taken */
	check_value(BYTES(0x35, 0x31, 0x28, 1, 0, 0x32), 5);        /* taken */
	check_fails(BYTES(0x2f, 0xfd, 0xff), EVAL_MALFORMED);       /* to itself */
	check_fails(BYTES(0x2f, 1, 0), EVAL_MALFORMED);             /* past the end */
	check_fails(BYTES(0x2f, 0xfc, 0xff), EVAL_MALFORMED);       /* before the start */
	check_fails(BYTES(0x31, 0x2f, 0xfc, 0xff), EVAL_MALFORMED); /* endless pushes */
	check_fails(BYTES(0x13, 0x13), EVAL_MALFORMED);
	check_fails(BYTES(0x13), EVAL_MALFORMED); /* empty stack */
	check_fails(BYTES(0x22), EVAL_MALFORMED);
	check_fails(BYTES(0x31, 0x17), EVAL_MALFORMED);
	check_fails(BYTES(0x15, 1), EVAL_MALFORMED);
	check_fails(BYTES(0x13, 0x28, 0, 0), EVAL_MALFORMED);
	/* Operations that no frame needs: an address, a register location, xderef. */
	check_fails(BYTES(0x03, 0, 0, 0, 0, 0, 0, 0, 0), EVAL_MALFORMED);
	check_fails(BYTES(0x50), EVAL_MALFORMED);
	check_fails(BYTES(0x18), EVAL_MALFORMED);
	check_fails(BYTES(0x94, 9), EVAL_MALFORMED);
	check_fails(BYTES(0x94, 0), EVAL_MALFORMED);
	check_fails(BYTES(0x0e, 1, 2), EVAL_MALFORMED);
	check_fails(BYTES(0x76), EVAL_MALFORMED);

	memset(many, 0x31, sizeof(many));
	check_value(many, 63, 1);
	check_fails(many, 64, EVAL_MALFORMED);
}

static void check_form(const uint8_t *expression, size_t size, int kind, unsigned reg,
		       int64_t offset, int64_t addend)
{
	struct expression_form form = expression_form(expression, size, 0x40100b);

	CHECK_INT(form.kind, kind);
	CHECK_INT(form.reg, reg);
	CHECK_INT(form.offset, offset);
	CHECK_INT(form.addend, addend);
}

static void forms(void)
{
	check_form(BYTES(0x77, 8), FORM_REGISTER, ARCH_SP, 0, 8);
	check_form(BYTES(0x76, 0x78, 0x06), FORM_DEREF, ARCH_BP, -8, 0);
	check_form(BYTES(0x76, 0x78, 0x06, 0x23, 16), FORM_DEREF, ARCH_BP, -8, 16);
	check_form(BYTES(0x76, 0x78, 0x06, 0x38, 0x1c), FORM_DEREF, ARCH_BP, -8, -8);
	check_form(BYTES(0x38, 0x77, 0x10, 0x22), FORM_REGISTER, ARCH_SP, 0, 24);
	check_form(BYTES(0x38), FORM_CONSTANT, 0, 0, 8);
	/* As in a procedure linkage table (binutils, elf_x86_64_lazy_plt): 8 more from
	 * the second instruction of an entry on. */
	const uint8_t plt[] = {0x77, 8,    0x80, 0,    0x3f, 0x1a,
			       0x3b, 0x2a, 0x33, 0x24, 0x22};

	check_form(plt, sizeof(plt), FORM_REGISTER, ARCH_SP, 0, 16);

	struct expression_form form = expression_form(plt, sizeof(plt), 0x40100a);

	CHECK_INT(form.kind, FORM_REGISTER);
	CHECK_INT(form.addend, 8);

	check_form(BYTES(0x96), FORM_OTHER, 0, 0, 0);
	check_form(BYTES(0x76, 0, 0x06, 0x06), FORM_OTHER, 0, 0, 0);
	check_form(BYTES(0x76, 0, 0x94, 4), FORM_OTHER, 0, 0, 0);
	check_form(BYTES(0x76, 0, 0x77, 0, 0x22), FORM_OTHER, 0, 0, 0);
	check_form(BYTES(0x38, 0x77, 0, 0x1c), FORM_OTHER, 0, 0, 0); /* 8 - rsp */
	check_form(BYTES(0x76, 0, 0x31, 0x24), FORM_OTHER, 0, 0, 0);
	check_form(BYTES(0x2f, 0, 0), FORM_OTHER, 0, 0, 0);
	check_form(BYTES(0x31, 0x31, 0x31, 0x31, 0x31, 0x31, 0x31, 0x31, 0x31),
		   FORM_OTHER, 0, 0, 0);
	check_form(BYTES(0x22), FORM_OTHER, 0, 0, 0);
	check_form(BYTES(0x23, 1), FORM_OTHER, 0, 0, 0);
	check_form(BYTES(0x06), FORM_OTHER, 0, 0, 0);
	/* Each row of an unwind table would take that long. */
	uint8_t many[65] = {0x77, 8};

	memset(many + 2, 0x96, sizeof(many) - 2);
	check_form(many, 64, FORM_REGISTER, ARCH_SP, 0, 8);
	check_form(many, 65, FORM_OTHER, 0, 0, 0);
}

int main(void)
{
	registers.value[ARCH_BP] = BASE + 8;
	registers.value[ARCH_SP] = BASE;
	registers.value[ARCH_PC] = 0x40100b;
	registers.known = 1u << ARCH_BP | 1u << ARCH_SP | 1u << ARCH_PC;
	RUN(constants);
	RUN(stack_operations);
	RUN(arithmetic);
	RUN(registers_and_memory_are_read);
	RUN(pages);
	RUN(bounds);
	RUN(forms);
	return check_done();
}
