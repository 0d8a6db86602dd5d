/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the arguments of a static probe are when it is hit: the string of its note taken
 * apart, in which an argument is N@OP, N its size in bytes (negative: it is signed) and
 * OP an operand in the assembler's own words (SystemTap's wiki,
 * "UserSpaceProbeImplementation"; <sys/sdt.h>). For x86-64 in AT&T's syntax (GNU as,
 * 9.16.3 "AT&T Syntax versus Intel Syntax" and 9.16.8 "Memory References").
 */
#ifndef TARGET_USDT_ARGS_H
#define TARGET_USDT_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum usdt_arg_kind {
	USDT_ARG_NONE,     /* there is no such argument */
	USDT_ARG_UNKNOWN,  /* it is where a probe cannot read it, or badly written */
	USDT_ARG_CONSTANT, /* `value` */
	USDT_ARG_REGISTER, /* `base` */
	USDT_ARG_MEMORY,   /* at base + (index << shift) + value */
};

#define USDT_NO_REGISTER 0xff

struct usdt_arg {
	enum usdt_arg_kind kind;
	uint8_t size_bytes; /* 1, 2, 4 or 8 */
	bool is_signed;
	/* As instructions encode them: rax is 0, rdi 7, r15 15. USDT_NO_REGISTER: none;
	 * of memory one of the two is there. */
	uint8_t base, index;
	uint8_t shift; /* 0 to 3 */
	int64_t value; /* the constant, or the displacement in bytes */
};

/*
 * Fill ret[0] to ret[count - 1]; further arguments are passed over. Without N@ the size
 * is the register's, or 8 bytes. Not read, and so USDT_ARG_UNKNOWN: symbols (also of
 * "name(%rip)"), segments, floating point, the high half of a 16-bit register.
 */
void usdt_args_parse(const char *text, struct usdt_arg ret[], size_t count);

/* Is every field in its range? */
bool usdt_arg_is_valid(const struct usdt_arg *arg);

#endif
