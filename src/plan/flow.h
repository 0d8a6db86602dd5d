/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control flow of one function: its instructions, which of them follow which, and
 * what holds before each of them on every way to it. For plan/body.c.
 */
#ifndef PLAN_FLOW_H
#define PLAN_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/decode.h"
#include "util/vec.h"

#define FLOW_CODE_MAX   2048 /* bytes */
#define FLOW_SUCCESSORS 2

/* One instruction that can be reached. */
struct flow_insn {
	uint32_t offset; /* bytes */
	struct insn insn;
	uint32_t next[FLOW_SUCCESSORS]; /* indices in flow.insns */
	uint8_t next_count;
	uint32_t from_count; /* instructions that it follows */
	bool ends;           /* a call that is taken not to return */
	int64_t sp_delta; /* bytes before it; the return address is at rsp + sp_delta */
	uint16_t size_in; /* bit n: the first argument is in register n before it */
	bool returns;     /* some way from here comes to `ret` */
};

/* A function's bytes, borrowed, and how to read those of others. */
struct flow_text {
	const uint8_t *code;
	size_t size;
	/* Copy up to `size` bytes that lie `offset` bytes from code[0]: how many there
	 * are. NULL: nothing is known of them. */
	size_t (*read)(void *arg, int64_t offset, uint8_t *ret, size_t size);
	void *arg;
};

struct flow {
	const uint8_t *code;         /* borrowed */
	VEC(struct flow_insn) insns; /* by offset; the first is the function's */
};

/* Read the function. NULL, or why it cannot be: a static string. `ret` is to be given to
 * flow_deinit() in either case. */
const char *flow_read(const struct flow_text *text, struct flow *ret);
void flow_deinit(struct flow *flow);

#endif
