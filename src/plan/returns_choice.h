/* SPDX-License-Identifier: Apache-2.0 */
/* What returns.c (sites of results) and returns_whole.c (sites of whole calls) share. */
#ifndef PLAN_RETURNS_CHOICE_H
#define PLAN_RETURNS_CHOICE_H

#include "plan/cut.h"
#include "plan/returns.h"

#define RETURN_NO_MEMORY "out of memory"

/*
 * What a site costs. Few calls fail, so on a way that fails one that is stepped matters
 * little, and less than a conditional one that all other calls hit for nothing. Where the
 * size is not known any more, another site is needed for it.
 */
#define PRICE_EMULATED       10
#define PRICE_ONE_WAY        11
#define PRICE_SIZE_LOST      20
#define PRICE_CALL           30
#define PRICE_STEPPED_FAILED 60
#define PRICE_ONE_WAY_FAILED 70
#define PRICE_STEPPED        1000
#define PRICE_LIMIT          20000

/* The two nodes of an instruction in the graph that is cut. */
#define BEFORE(i) (2 * (i))
#define BEHIND(i) (2 * (i) + 1)

/* A function, or one that is jumped to. */
struct return_unit {
	struct returns_request request;
	const char *why; /* NULL: its sites are known */
	VEC(struct return_site) sites;
	VEC(struct entry_site) entries;
	VEC(struct return_exit) exits;
	bool has_more_exits;
	VEC(uint32_t) next; /* units that it leaves into */
	bool is_fused;
	bool is_left; /* to a function that has sites of its own */
	bool is_read, is_marked;
};

/* What a unit's sites are chosen from. */
struct choice {
	const struct returns *returns;
	const struct cfg *cfg;
	const struct values *values;
	const struct returns_request *request;
	/* By index of the instruction: some way there comes by a call of a function that
	 * is probed. NULL without `asked`. */
	bool *is_called;
	struct cut cut;
};

/* Why a site before the instruction is emulated, or NULL. A static string. */
const char *choice_emulated(const struct choice *c, const struct cfg_insn *at);

/* Is the size of the block in a register before the instruction, and has no function that
 * is probed been called since the entry? */
bool choice_finds_size(const struct choice *c, uint32_t i, uint8_t *ret);

/* Mark the unit's sites that see whole calls, and find entry sites for all other calls.
 * Does nothing when no site sees whole calls. NULL, or RETURN_NO_MEMORY. */
const char *choice_fuse(struct choice *c, struct return_unit *unit);

#endif
