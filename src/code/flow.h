/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control flow of one function: its instructions, their successors, and what holds
 * before each of them on every path to it. For code/body.c.
 */
#ifndef CODE_FLOW_H
#define CODE_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code/decode.h"
#include "util/vec.h"

#define FLOW_CODE_MAX   2048 /* bytes of code at most */
#define FLOW_SUCCESSORS 2

/* A reachable instruction. */
struct flow_insn {
	uint32_t offset; /* bytes from the function's first byte */
	struct insn insn;
	uint32_t next[FLOW_SUCCESSORS]; /* indexes in flow.insns */
	uint8_t next_count;
	uint32_t from_count; /* number of predecessors */
	bool ends;           /* a call that is assumed not to return */
	int64_t sp_delta; /* bytes; before it the return address is at rsp + sp_delta */
	insn_register_set
		size_in; /* bit n: before it register n contains the first argument */
	bool returns;    /* some path from here reaches a `ret` */
};

/* A function's bytes, borrowed, and access to other functions' bytes. */
struct flow_text {
	const uint8_t *code;
	size_t size;
	/* Copy up to `size` bytes, `offset` bytes from code[0]. Returns the number
	 * copied. NULL: other functions are unknown. */
	size_t (*read)(void *arg, int64_t offset, uint8_t *ret, size_t size);
	void *arg;
};

struct flow {
	const uint8_t *code;         /* borrowed */
	VEC(struct flow_insn) insns; /* ordered by offset; [0] is the function's first */
};

/* Read the function. Returns NULL, or why it is not understood: a static string. Call
 * flow_deinit() in either case. */
const char *flow_read(const struct flow_text *text, struct flow *ret);
void flow_deinit(struct flow *flow);

#endif
