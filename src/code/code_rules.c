// SPDX-License-Identifier: Apache-2.0
#include "code/code_rules.h"

#include <stdbool.h>
#include <string.h>

#include "code/decode.h"
#include "unwind/stack_switch.h"
#include "unwind_step.h" /* from probes/ */

/* Bounds on instructions followed and on paths waiting. */
#define INSNS_MAX    1024
#define PATHS_MAX    64
#define SEEN_SIZE    2048 /* a power of two, larger than INSNS_MAX */

#define WINDOW_BYTES 1024

/* The value of a register at an instruction, relative to registers at the first
 * instruction. */
enum base {
	UNKNOWN,
	FROM_SP,  /* the first stack pointer, and an offset */
	FROM_BP,  /* the first bp, and an offset */
	SAVED_SP, /* the word at the first stack pointer and an offset */
	SAVED_BP, /* the word at the first bp and an offset */
};

struct value {
	enum base base;
	int64_t offset;
};

struct path {
	uint64_t address;
	struct value sp, bp;
	struct value pushed_bp; /* bp when it was pushed at `pushed_at` */
	int64_t pushed_at;      /* offset from the first stack pointer; 0: not pushed */
	bool is_unlikely;       /* the path passed padding after a call */
};

struct reading {
	const struct cfi *cfi;
	struct walk_code_rules *ret;
	uint64_t start; /* address of window[0] */
	size_t size;
	uint8_t window[WINDOW_BYTES];
	struct path paths[PATHS_MAX]; /* a stack, with unlikely paths at its bottom */
	size_t path_count;
	uint64_t seen[SEEN_SIZE]; /* addresses + 1, a hash with open addressing */
	bool ends;                /* a path ends in hlt */
	bool is_open;             /* some path returns, or leads to an unknown place */
};

/* Record that the path returns or leads to an unknown place. */
static void leave_open(struct reading *r, const struct path *path)
{
	r->is_open = true;
	r->ret->may_return |= !path->is_unlikely;
}

static bool read_window(struct reading *r, uint64_t address)
{
	for (r->size = WINDOW_BYTES; r->size; r->size /= 2) {
		r->start = address;
		if (cfi_read_code(r->cfi, address, r->window, r->size))
			return true;
	}
	return false;
}

static void decode(struct reading *r, uint64_t address, struct insn *ret)
{
	uint64_t at = address - r->start;

	if (at >= r->size || r->size - at < INSN_LENGTH_MAX) {
		if (!read_window(r, address)) {
			*ret = (struct insn){.kind = INSN_UNKNOWN};
			return;
		}
		at = 0;
	}
	insn_decode(r->window + at, r->size - (size_t)at, ret);
}

/* Mark the address as seen. False: it was already. */
static bool see(struct reading *r, uint64_t address)
{
	size_t i = (size_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 32);

	for (;; i++) {
		uint64_t *slot = &r->seen[i & (SEEN_SIZE - 1)];

		if (*slot == address + 1)
			return false;
		if (!*slot) {
			*slot = address + 1;
			return true;
		}
	}
}

static void follow(struct reading *r, const struct path *path, uint64_t address)
{
	struct path *at = &r->paths[r->path_count];

	if (r->path_count == PATHS_MAX) {
		leave_open(r, path);
		return;
	}
	if (path->is_unlikely) {
		memmove(r->paths + 1, r->paths, r->path_count * sizeof(*r->paths));
		at = r->paths;
	}
	*at = *path;
	at->address = address;
	r->path_count++;
}

/* --- what an instruction does to sp and bp ---------------------------------------- */

static struct value moved(struct value value, int64_t by)
{
	if (value.base == FROM_SP || value.base == FROM_BP)
		value.offset += by;
	else
		value.base = UNKNOWN;
	return value;
}

/* The value of the word at an address, unless the path has written it. */
static struct value word_at(const struct path *path, struct value address)
{
	if (address.base == FROM_SP && path->pushed_at &&
	    address.offset == path->pushed_at)
		return path->pushed_bp;
	/* Words below the first stack pointer were pushed by the path itself. */
	if (address.base == FROM_SP && address.offset >= 0)
		return (struct value){SAVED_SP, address.offset};
	if (address.base == FROM_BP)
		return (struct value){SAVED_BP, address.offset};
	return (struct value){UNKNOWN, 0};
}

static struct value value_of(const struct path *path, unsigned reg)
{
	if (reg == INSN_SP)
		return path->sp;
	return reg == INSN_BP ? path->bp : (struct value){UNKNOWN, 0};
}

static struct value new_bp(const struct path *path, const struct insn *insn)
{
	struct value address = moved(value_of(path, insn->base), insn->displacement);

	if (insn->kind == INSN_COPY)
		return value_of(path, insn->from);
	if (insn->is_indexed || insn->to != INSN_BP)
		return (struct value){UNKNOWN, 0};
	if (insn->memory == INSN_MEMORY_ADDRESS)
		return address;
	return insn->memory == INSN_MEMORY_LOAD ? word_at(path, address)
						: (struct value){UNKNOWN, 0};
}

static void step(struct path *path, const struct insn *insn)
{
	if (insn->sp_from_bp) {
		path->sp = moved(path->bp, insn->displacement);
		if (insn->is_leave) {
			path->bp = word_at(path, path->sp);
			path->sp = moved(path->sp, 8);
		}
		return;
	}
	if (insn->kind == INSN_PUSH && insn->from == INSN_BP &&
	    path->sp.base == FROM_SP) {
		path->pushed_bp = path->bp;
		path->pushed_at = path->sp.offset - 8;
	}
	if (insn->writes >> INSN_BP & 1)
		path->bp = new_bp(path, insn);
	if (insn->kind == INSN_COPY && insn->to == INSN_SP)
		path->sp = value_of(path, insn->from);
	else
		path->sp = moved(path->sp, insn->sp_change);
	if (insn->moves_sp)
		path->sp.base = UNKNOWN;
}

/* --- rules -------------------------------------------------------------------------- */

static bool is_kept(const struct value *bp)
{
	return bp->base == FROM_BP && !bp->offset;
}

/* The rule of a path whose stack pointer is at the return address. UNWIND_NONE if the
 * path has lost bp, which no function that returns does. */
static uint64_t rule_of(const struct path *path)
{
	int64_t cfa = path->sp.offset + 8, saved = path->bp.offset - cfa;
	unsigned type = path->sp.base == FROM_SP ? UNWIND_SP : UNWIND_BP;
	enum base beside = path->sp.base == FROM_SP ? SAVED_SP : SAVED_BP;

	if ((path->sp.base != FROM_SP && path->sp.base != FROM_BP) || cfa % 8 ||
	    cfa < -INT32_MAX || cfa > INT32_MAX)
		return UNWIND_NONE;
	if (is_kept(&path->bp))
		return UNWIND_RULE(type, cfa, 0, UNWIND_BP_SAME, 0);
	if (path->bp.base != beside || saved % 8 || saved < 8 * INT16_MIN || saved >= 0)
		return UNWIND_NONE;
	return UNWIND_RULE(type, cfa, 0,
			   saved == -16 ? UNWIND_BP_BELOW : UNWIND_BP_AT_CFA, saved);
}

static void add_rule(struct reading *r, const struct path *path)
{
	struct walk_code_rules *ret = r->ret;
	uint64_t rule = rule_of(path);

	if (rule == UNWIND_NONE || ret->count == WALK_CODE_RULES)
		return;
	for (size_t i = 0; i < ret->count; i++)
		if (ret->rule[i] == rule)
			return;
	ret->rule[ret->count++] = rule;
	if (!path->is_unlikely)
		ret->likely_count = ret->count;
}

/* A jump through memory or a register: a tail call, as in a stub of the procedure
 * linkage table. The dynamic linker removes the words that such a stub has pushed. */
static void leave(struct reading *r, struct path *path)
{
	if (path->sp.base == FROM_SP && path->sp.offset < 0)
		path->sp.offset = 0;
	add_rule(r, path);
	leave_open(r, path);
}

/* Is there padding? Compilers put it after a call that does not return, and before a
 * loop. */
static bool is_padding(struct reading *r, uint64_t address)
{
	struct insn insn;

	decode(r, address, &insn);
	return insn.kind == INSN_NOP;
}

/* --- paths ------------------------------------------------------------------------ */

static void read_insn(struct reading *r, struct path *path)
{
	uint64_t address = path->address, behind;
	struct insn insn;

	decode(r, address, &insn);
	behind = address + insn.length;
	if (insn.traps || insn.is_breakpoint) {
		r->ends |= insn.halts;
		return;
	}
	switch (insn.kind) {
	case INSN_UNKNOWN:
		leave_open(r, path);
		return;
	case INSN_RET:
		add_rule(r, path);
		leave_open(r, path);
		return;
	case INSN_JMP_INDIRECT:
		leave(r, path);
		return;
	case INSN_JMP:
		follow(r, path, address + (uint64_t)insn.target);
		return;
	case INSN_CALL:
	case INSN_CALL_INDIRECT:
		if (is_padding(r, behind))
			path->is_unlikely = r->is_open = true;
		follow(r, path, behind);
		return;
	case INSN_JCC:
	case INSN_LOOP:
		follow(r, path, address + (uint64_t)insn.target);
		follow(r, path, behind);
		return;
	default:
		step(path, &insn);
		follow(r, path, behind);
	}
}

/* The rule of code that returns from another stack; no path leads to this code. */
static uint64_t switching_rule(struct reading *r, uint64_t address)
{
	return read_window(r, address) ? stack_switch_rule(r->window, r->size)
				       : UNWIND_NONE;
}

void code_rules_read(const struct cfi *cfi, uint64_t address, struct walk_code_rules *ret)
{
	struct reading r;
	struct path path = {
		.address = address,
		.sp = {FROM_SP, 0},
		.bp = {FROM_BP, 0},
	};
	unsigned insns = 0;

	r.cfi = cfi;
	r.ret = ret;
	r.start = r.size = r.path_count = 0;
	r.ends = r.is_open = false;
	memset(r.seen, 0, sizeof(r.seen));
	*ret = (struct walk_code_rules){.switching = switching_rule(&r, address)};
	follow(&r, &path, address);
	while (r.path_count && insns < INSNS_MAX) {
		path = r.paths[--r.path_count];
		if (!see(&r, path.address))
			continue;
		insns++;
		read_insn(&r, &path);
	}
	ret->may_return |= r.path_count > 0;
	ret->is_end = r.ends && !r.is_open && !r.path_count;
}
