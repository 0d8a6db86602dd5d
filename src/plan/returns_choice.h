/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by returns.c (sites of results) and returns_whole.c (sites of whole calls). */
#ifndef PLAN_RETURNS_CHOICE_H
#define PLAN_RETURNS_CHOICE_H

#include "code/cut.h"
#include "plan/returns.h"

#define RETURN_NO_MEMORY "out of memory"

/*
 * Prices of sites. Few calls fail, so a single-stepped site on a failing path costs
 * little; it costs less than a conditional jump that all successful calls hit for
 * nothing. A site without the size needs another site for it.
 */
#define PRICE_EMULATED       10
#define PRICE_ONE_WAY        11
#define PRICE_SIZE_LOST      20
#define PRICE_CALL           30
#define PRICE_STEPPED_FAILED 60
#define PRICE_ONE_WAY_FAILED 70
#define PRICE_STEPPED        1000
#define PRICE_LIMIT          20000

/* The two nodes of an instruction in the graph to cut. */
#define BEFORE(i) (2 * (i))
#define BEHIND(i) (2 * (i) + 1)

/* The requested function, or one that it jumps to. */
struct return_unit {
	struct returns_request request;
	const char *why; /* NULL: its sites are known */
	VEC(struct return_site) sites;
	VEC(struct entry_site) entries;
	VEC(struct return_exit) exits;
	bool has_more_exits;
	VEC(uint32_t) next; /* units that it jumps to */
	bool is_fused;
	bool is_left; /* it jumps to a function that has sites of its own */
	bool is_read, is_marked;
};

/* The data for choosing a unit's sites. */
struct choice {
	const struct returns *returns;
	const struct cfg *cfg;
	const struct values *values;
	const struct returns_request *request;
	/* For each instruction: some path to it passes a call that may reach a probed
	 * function. NULL without `asked`. */
	bool *is_called;
	struct cut cut;
};

/* Does another probe have the place already? */
bool choice_is_taken(const struct returns *r, uint64_t address);

/* Solve the cut: cut_solve() with PRICE_LIMIT. Also -1 if the work is over. */
int32_t choice_cut(struct choice *c, uint32_t source, uint32_t sink);

/* Why a site at the instruction is emulated; NULL: it is not. A static string. */
const char *choice_emulated(const struct choice *c, const struct cfg_insn *at);

/* Is the size of the block in a register before the instruction, and has no path to it
 * called a function that may reach a probed one? */
bool choice_finds_size(const struct choice *c, uint32_t i, uint8_t *ret);

/* Mark the unit's sites that see whole calls, and find entry sites for all other calls.
 * Does nothing if no site sees whole calls. Returns NULL or RETURN_NO_MEMORY. */
const char *choice_fuse(struct choice *c, struct return_unit *unit);

#endif
