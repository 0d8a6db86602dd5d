// SPDX-License-Identifier: Apache-2.0
/* Operands of USDT probes: valid, invalid and random. */
#include "check.h"

#include <stdbool.h>
#include <string.h>

#include "elf/usdt_args.h"

#define RANDOM_TEXTS 200000

enum {
	RAX,
	RCX,
	RBX = 3,
	RSP,
	RBP,
	RSI,
	RDI,
	R8,
	R12 = 12,
	R15 = 15,
	NONE = USDT_NO_REGISTER,
};

static struct usdt_arg parse_one(const char *text)
{
	struct usdt_arg args[2];

	memset(args, 0xa5, sizeof(args));
	usdt_args_parse(text, args, 2);
	CHECK_INT(args[1].kind, USDT_ARG_NONE);
	return args[0];
}

static void check_common(const char *text, const struct usdt_arg *arg,
			 enum usdt_arg_kind kind, int size_bytes)
{
	if (arg->kind != kind || arg->is_signed != (size_bytes < 0) ||
	    arg->size_bytes != (size_bytes < 0 ? -size_bytes : size_bytes))
		CHECK_FAIL("'%s': kind %d, size %d, signed %d", text, (int)arg->kind,
			   arg->size_bytes, arg->is_signed);
	CHECK_INT(arg->kind, kind);
}

static void check_register(const char *text, int size_bytes, int base)
{
	struct usdt_arg arg = parse_one(text);

	check_common(text, &arg, USDT_ARG_REGISTER, size_bytes);
	CHECK_INT(arg.base, base);
}

static void check_constant(const char *text, int size_bytes, int64_t value)
{
	struct usdt_arg arg = parse_one(text);

	check_common(text, &arg, USDT_ARG_CONSTANT, size_bytes);
	CHECK_INT(arg.value, value);
}

static void check_memory(const char *text, int size_bytes, int base, int index, int shift,
			 int64_t displacement)
{
	struct usdt_arg arg = parse_one(text);

	check_common(text, &arg, USDT_ARG_MEMORY, size_bytes);
	CHECK_INT(arg.base, base);
	CHECK_INT(arg.index, index);
	CHECK_INT(arg.shift, shift);
	CHECK_INT(arg.value, displacement);
}

static void registers(void)
{
	static const char *const parts[][4] = {
		{"rax", "eax", "ax", "al"},      {"rcx", "ecx", "cx", "cl"},
		{"rdx", "edx", "dx", "dl"},      {"rbx", "ebx", "bx", "bl"},
		{"rsp", "esp", "sp", "spl"},     {"rbp", "ebp", "bp", "bpl"},
		{"rsi", "esi", "si", "sil"},     {"rdi", "edi", "di", "dil"},
		{"r8", "r8d", "r8w", "r8b"},     {"r9", "r9d", "r9w", "r9b"},
		{"r10", "r10d", "r10w", "r10b"}, {"r11", "r11d", "r11w", "r11b"},
		{"r12", "r12d", "r12w", "r12b"}, {"r13", "r13d", "r13w", "r13b"},
		{"r14", "r14d", "r14w", "r14b"}, {"r15", "r15d", "r15w", "r15b"},
	};
	char text[32];

	for (int number = 0; number < 16; number++) {
		for (int part = 0; part < 4; part++) {
			int size = 8 >> part;

			snprintf(text, sizeof(text), "%d@%%%s", size,
				 parts[number][part]);
			check_register(text, size, number);
			snprintf(text, sizeof(text), "-%d@%%%s", size,
				 parts[number][part]);
			check_register(text, -size, number);
			/* Without a size, the register's size counts. */
			check_register(strchr(text, '%'), size, number);
		}
	}
	/* A part of the register. */
	check_register("4@%rdi", 4, RDI);
	check_register("-1@%ecx", -1, RCX);
}

static void constants(void)
{
	check_constant("-4@$1", -4, 1);
	check_constant("8@$-1", 8, -1);
	check_constant("8@$0", 8, 0);
	check_constant("8@$0x10", 8, 16);
	check_constant("8@$0xffffffffffffffff", 8, -1);
	check_constant("8@$18446744073709551615", 8, -1);
	check_constant("-8@$-9223372036854775808", -8, INT64_MIN);
	check_constant("$7", 8, 7);
}

static void memory(void)
{
	check_memory("8@-8(%rbp)", 8, RBP, NONE, 0, -8);
	check_memory("8@(%rsp)", 8, RSP, NONE, 0, 0);
	check_memory("-4@1234(%r15)", -4, R15, NONE, 0, 1234);
	check_memory("8@0x20(%rax)", 8, RAX, NONE, 0, 32);
	check_memory("2@(%rbx,%rsi)", 2, RBX, RSI, 0, 0);
	check_memory("8@-16(%r8,%r12,8)", 8, R8, R12, 3, -16);
	check_memory("8@4096(,%rcx,4)", 8, NONE, RCX, 2, 4096);
	check_memory("24(%rsp)", 8, RSP, NONE, 0, 24);
}

static void operands_are_read_one_by_one(void)
{
	struct usdt_arg args[4];

	usdt_args_parse("  8@%rdi  -4@$1 8@-8(%rbp)", args, 4);
	CHECK_INT(args[0].kind, USDT_ARG_REGISTER);
	CHECK_INT(args[0].base, RDI);
	CHECK_INT(args[1].kind, USDT_ARG_CONSTANT);
	CHECK_INT(args[2].kind, USDT_ARG_MEMORY);
	CHECK_INT(args[2].value, -8);
	CHECK_INT(args[3].kind, USDT_ARG_NONE);
	/* An operand that is not understood does not affect the others. */
	usdt_args_parse("8@%rax 8f@%xmm0 8@%rsi", args, 4);
	CHECK_INT(args[0].kind, USDT_ARG_REGISTER);
	CHECK_INT(args[1].kind, USDT_ARG_UNKNOWN);
	CHECK_INT(args[2].kind, USDT_ARG_REGISTER);
	CHECK_INT(args[2].base, RSI);
	usdt_args_parse("", args, 1);
	CHECK_INT(args[0].kind, USDT_ARG_NONE);
	/* More operands than requested. */
	args[1].kind = USDT_ARG_UNKNOWN;
	usdt_args_parse("8@%rax 8@%rcx 8@%rdx", args, 1);
	CHECK_INT(args[0].base, RAX);
	CHECK_INT(args[1].kind, USDT_ARG_UNKNOWN); /* unchanged */
}

static void refused(void)
{
	static const char *const texts[] = {
		/* Operands that a probe cannot read. */
		"8@counter(%rip)",
		"8@16(%rip)",
		"8@%rip",
		"8@%fs:8",
		"8@%fs:(%rax)",
		"8@$symbol",
		"4f@%xmm0",
		"8@%xmm1",
		"1@%ah",
		"8@counter",
		"8@4096",
		"8@%st(0)",
		"8@counter+8(%rip)",
		/* More bytes than the register has. */
		"8@%edi",
		"-4@%ax",
		"2@%r9b",
		/* Malformed. */
		"@",
		"8@",
		"@%rax",
		"3@%rax",
		"0@%rax",
		"16@%rax",
		"-@%rax",
		"9@$1",
		"-9223372036854775808@%rax",
		"9223372036854775807@%rax",
		"99999999999999999999@%rax",
		"8@%",
		"8@%r",
		"8@%r7",
		"8@%r16",
		"8@%r08",
		"8@%r8q",
		"8@%r8dd",
		"8@%r100",
		"8@%rdix",
		"8@%RDI",
		"8@rdi",
		"8@$",
		"8@$-",
		"8@$0x",
		"8@$0xg",
		"8@$1x",
		"8@$010",
		"8@$18446744073709551616",
		"8@$--1",
		"8@()",
		"8@(",
		"8@8(",
		"8@(%rax",
		"8@(%rax))",
		"8@(%eax)",
		"8@(,)",
		"8@(%rax,)",
		"8@(%rax,%rsp)",
		"8@(%rax,%rcx,)",
		"8@(%rax,%rcx,3)",
		"8@(%rax,%rcx,16)",
		"8@(%rax,%rcx,-1)",
		"8@(%rax,%rcx,8,1)",
		"8@(%rax,8)",
		"8@-(%rax)",
		"8@8@%rax",
		"8@%rax,",
		"8@%rax\t",
		"\xff\xfe",
		"8@%rax\n8@%rcx",
		"8@99999999999999999999(%rax)",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct usdt_arg arg = parse_one(texts[i]);

		if (arg.kind != USDT_ARG_UNKNOWN)
			CHECK_FAIL("'%s' is taken for kind %d", texts[i], (int)arg.kind);
		CHECK_INT(arg.kind, USDT_ARG_UNKNOWN);
	}
}

/* Random text: the result must be valid. */
static void by_chance(void)
{
	static const char letters[] = "1248@%$()-,rabcdxsipl0x9 ";
	unsigned random = 7, understood = 0;
	struct usdt_arg args[3];
	char text[24];

	for (unsigned n = 0; n < RANDOM_TEXTS; n++) {
		size_t len = n % (sizeof(text) - 1);

		for (size_t i = 0; i < len; i++) {
			random = random * 1664525 + 1013904223;
			text[i] = letters[(random >> 16) % (sizeof(letters) - 1)];
		}
		text[len] = '\0';
		usdt_args_parse(text, args, 3);
		for (size_t i = 0; i < 3; i++) {
			const struct usdt_arg *a = &args[i];
			bool has_base = a->base < 16, has_index = a->index < 16;

			if (a->kind == USDT_ARG_NONE || a->kind == USDT_ARG_UNKNOWN)
				continue;
			understood++;
			if (a->shift > 3 ||
			    (a->size_bytes != 1 && a->size_bytes != 2 &&
			     a->size_bytes != 4 && a->size_bytes != 8) ||
			    (a->kind == USDT_ARG_REGISTER && !has_base) ||
			    (a->kind == USDT_ARG_MEMORY && !has_base && !has_index))
				CHECK_FAIL("'%s' makes no sense", text);
		}
	}
	/* Some texts are valid. */
	CHECK(understood > 100);
}

int main(void)
{
	RUN(registers);
	RUN(constants);
	RUN(memory);
	RUN(operands_are_read_one_by_one);
	RUN(refused);
	RUN(by_chance);
	return check_done();
}
