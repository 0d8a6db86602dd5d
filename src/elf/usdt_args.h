/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parser for the arguments of a USDT probe, the last string of its note. An argument is
 * N@OP: N is its size in bytes, negative if signed, and OP is an operand in assembler
 * syntax (SystemTap's wiki, "UserSpaceProbeImplementation"; <sys/sdt.h>). On x86-64
 * this is AT&T syntax (GNU as, 9.16.3 "AT&T Syntax versus Intel Syntax" and 9.16.8
 * "Memory References").
 */
#ifndef ELF_USDT_ARGS_H
#define ELF_USDT_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum usdt_arg_kind {
	USDT_ARG_NONE,     /* the probe has fewer arguments */
	USDT_ARG_UNKNOWN,  /* a probe cannot read it, or it is malformed */
	USDT_ARG_CONSTANT, /* the constant `value` */
	USDT_ARG_REGISTER, /* in the register `base` */
	USDT_ARG_MEMORY,   /* in memory at base + (index << shift) + value */
};

#define USDT_NO_REGISTER 0xff

struct usdt_arg {
	enum usdt_arg_kind kind;
	uint8_t size_bytes; /* 1, 2, 4 or 8 */
	bool is_signed;
	/* Register numbers as in instructions: rax is 0, rdi 7, r15 15.
	 * USDT_NO_REGISTER: none. USDT_ARG_MEMORY has at least one of the two. */
	uint8_t base, index;
	uint8_t shift; /* scale of the index, 0 to 3 */
	int64_t value; /* the constant, or the displacement in bytes */
};

/*
 * Parse up to `count` arguments of `text` into `ret`. Without N@ the size is the
 * register's, or 8 bytes. USDT_ARG_UNKNOWN is given for symbols (also in "name(%rip)"),
 * segments, floating point, and the high half of a 16-bit register.
 */
void usdt_args_parse(const char *text, struct usdt_arg ret[], size_t count);

/* Is every field in its range? */
bool usdt_arg_is_valid(const struct usdt_arg *arg);

#endif
