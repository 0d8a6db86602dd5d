// SPDX-License-Identifier: Apache-2.0
#include "code/cfg.h"

#include <stdlib.h>
#include <string.h>

#include "code/cfg_step.h"
#include "util/cleanup.h"

#define NO_MEMORY "out of memory"

/* Bound on readings. After each, fewer callees are assumed not to return. */
#define READINGS_MAX 16

/* Bytes read of a function with unknown size. */
#define EXTENT_GUESS 4096

/* A contiguous piece of code. */
struct range {
	uint64_t start, end;
	uint8_t *code;
	uint32_t *index; /* for each byte: 1 + index of the instruction that begins there;
			    0: none */
	uint8_t *inside; /* for each byte: it belongs to an instruction */
};

/* A called function. The key is its address, or the address of the word that the call
 * goes through. */
struct target {
	uint64_t key;
	struct callee callee;
	bool may_end; /* may not return: control may stop at a call to it */
	bool returns; /* has_return() */
};

struct visit {
	uint64_t address;
	int32_t sp_delta, bp_delta;
};

struct reading {
	const struct cfg_source *source;
	struct cfg *cfg;
	struct range ranges[CFG_RANGES_MAX];
	size_t range_count;
	VEC(struct target) targets;
	VEC(struct visit) todo;
	bool is_first; /* first reading: record callees, and ignore faults of the stack */
	bool is_guessed; /* the size of the function is not known */
};

static void reading_deinit(struct reading *r)
{
	for (size_t i = 0; i < r->range_count; i++) {
		free(r->ranges[i].code);
		free(r->ranges[i].index);
		free(r->ranges[i].inside);
	}
	vec_deinit(&r->targets);
	vec_deinit(&r->todo);
}

/* --- code --------------------------------------------------------------------------- */

static struct range *range_of(struct reading *r, uint64_t address)
{
	for (size_t i = 0; i < r->range_count; i++)
		if (address >= r->ranges[i].start && address < r->ranges[i].end)
			return &r->ranges[i];
	return NULL;
}

static const char *add_range(struct reading *r, uint64_t start, uint64_t end)
{
	struct range *range = &r->ranges[r->range_count];
	size_t size = (size_t)(end - start), got;

	if (r->range_count == CFG_RANGES_MAX)
		return "it has too many parts";
	if (end <= start || end - start > CFG_RANGE_MAX)
		return CFG_TOO_LONG;
	*range = (struct range){
		.start = start,
		.code = malloc(size),
		.index = calloc(size, sizeof(*range->index)),
		.inside = calloc(size, 1),
	};
	r->range_count++;
	if (!range->code || !range->index || !range->inside)
		return NO_MEMORY;
	got = r->source->read(r->source->arg, start, range->code, size);
	range->end = start + got;
	return got ? NULL : CFG_NO_CODE;
}

/* Add a part of the function that is in another place. */
static const char *add_part(struct reading *r, uint64_t address)
{
	uint64_t start, end;
	uint8_t byte;

	if (!r->source->read(r->source->arg, address, &byte, 1))
		return CFG_NO_CODE;
	if (!r->source->extent ||
	    !r->source->extent(r->source->arg, address, &start, &end))
		return "a jump leaves the function";
	/* Code in two ranges would be read twice. */
	for (size_t i = 0; i < r->range_count; i++)
		if (start < r->ranges[i].end && end > r->ranges[i].start)
			return CFG_PARTS_OVERLAP;
	return add_range(r, start, end);
}

static void decode_at(const struct range *range, uint64_t address, struct insn *ret)
{
	size_t at = (size_t)(address - range->start);

	insn_decode(range->code + at, (size_t)(range->end - address), ret);
}

/* The first address at or after `at` without a nop. */
static uint64_t skip_nops(const struct range *range, uint64_t at)
{
	size_t size = (size_t)(range->end - range->start);

	return range->start +
	       insn_skip_nops(range->code, size, (size_t)(at - range->start));
}

/* --- callees ------------------------------------------------------------------------ */

static bool line_ends(const struct reading *r, uint64_t address)
{
	uint8_t code[INSN_LINE_MAX];
	size_t size = r->source->read(r->source->arg, address, code, sizeof(code));

	return insn_line_ends(code, size);
}

/* Does this function of the file contain a return instruction? Compilers omit it if
 * they know that control never reaches it. */
static bool has_return(const struct reading *r, uint64_t address)
{
	uint64_t start, end;
	_cleanup_(freep) uint8_t *code = NULL;
	size_t size, at = 0;
	struct insn insn;

	if (!r->source->extent ||
	    !r->source->extent(r->source->arg, address, &start, &end) ||
	    end - address > CFG_RANGE_MAX)
		return false;
	if (!work_spend(r->source->work, WORK_FUNCTION))
		return false;
	code = malloc((size_t)(end - address));
	size = code ? r->source->read(r->source->arg, address, code,
				      (size_t)(end - address))
		    : 0;
	while (at < size && work_spend(r->source->work, WORK_DECODE)) {
		insn_decode(code + at, size - at, &insn);
		if (insn.kind == INSN_RET)
			return true;
		if (insn.kind == INSN_UNKNOWN)
			return false;
		at += insn.length;
	}
	return false;
}

static bool is_through_word(const struct insn *insn)
{
	return (insn->kind == INSN_CALL_INDIRECT || insn->kind == INSN_JMP_INDIRECT) &&
	       insn->base == INSN_BASE_PC && !insn->is_indexed;
}

/* The key of a call's or jump's target (struct target). 0: unknown. */
static uint64_t target_key(uint64_t address, const struct insn *insn)
{
	if (is_through_word(insn))
		return address + (uint64_t)(int64_t)insn->displacement;
	return insn->kind == INSN_CALL_INDIRECT || insn->kind == INSN_JMP_INDIRECT
		       ? 0
		       : address + (uint64_t)insn->target;
}

static struct target *target_of(struct reading *r, uint64_t address,
				const struct insn *insn)
{
	uint64_t key = target_key(address, insn);
	struct target fresh = {.key = key, .callee = {CALLEE_OTHER, 0}};

	work_spend(r->source->work, r->targets.len / 16);
	vec_foreach (target, &r->targets)
		if (target->key == key)
			return target;
	work_spend(r->source->work, WORK_NAME);
	if (!is_through_word(insn) && key)
		fresh.callee = r->source->callees ? callees_at(r->source->callees, key)
						  : (struct callee){CALLEE_HERE, key};
	else if (key && r->source->callees)
		fresh.callee = callees_through(r->source->callees, key);
	if (fresh.callee.kind == CALLEE_ENDS)
		fresh.may_end = true;
	else if (fresh.callee.kind == CALLEE_HERE && insn->kind == INSN_CALL)
		fresh.may_end = line_ends(r, fresh.callee.address) &&
				!has_return(r, fresh.callee.address);
	if (!vec_push(&r->targets, fresh))
		return NULL;
	return &r->targets.data[r->targets.len - 1];
}

static bool is_call(const struct insn *insn)
{
	return insn->kind == INSN_CALL || insn->kind == INSN_CALL_INDIRECT;
}

/* Record a call's target. If nops or the function's end follow the call, the target may
 * not return. Without optimization compilers put nops after other calls, too. */
static void note_call(const struct reading *r, const struct range *range, uint64_t behind,
		      struct target *target)
{
	uint64_t on = skip_nops(range, behind);

	if (!target->key || target->may_end || target->returns ||
	    (on == behind && behind != range->end))
		return;
	target->returns = target->callee.kind == CALLEE_HERE &&
			  has_return(r, target->callee.address);
	target->may_end = !target->returns;
}

/* Find callees that do return although assumed not to: a call to them is followed by
 * code that nothing else leads to, or by nops that something leads to. True if any was
 * found. */
static bool note_returns(struct reading *r)
{
	bool found = false;

	vec_foreach (at, &r->cfg->insns) {
		struct range *range = range_of(r, at->address);
		struct target *target;
		uint64_t behind = at->address + at->insn.length, on;

		if (!is_call(&at->insn) || at->exit != CFG_ENDS || !range)
			continue;
		target = target_of(r, at->address, &at->insn);
		if (!target || target->callee.kind == CALLEE_ENDS)
			continue;
		on = skip_nops(range, behind);
		if ((on == behind || !range->inside[behind - range->start]) &&
		    (on == range->end || range->index[on - range->start]))
			continue;
		target->may_end = false;
		found = true;
	}
	return found;
}

/* --- reading ------------------------------------------------------------------------ */

static const char *push(struct reading *r, uint64_t address, int32_t sp, int32_t bp)
{
	return vec_push(&r->todo, (struct visit){address, sp, bp}) ? NULL : NO_MEMORY;
}

/* Follow a jump to `address`: within the function, to a split-off part (the frame still
 * exists there), or out of the function. */
static const char *follow(struct reading *r, struct cfg_insn *at, uint64_t address,
			  int32_t sp, int32_t bp, bool *leaves)
{
	const char *why;

	*leaves = false;
	if (!range_of(r, address)) {
		if (!sp) {
			*leaves = true;
			return NULL;
		}
		/* In the first reading this jump may be after a call that does not
		 * return. */
		why = r->is_first ? NULL : add_part(r, address);
		if (why || r->is_first)
			return why;
	} else if (address == r->cfg->start && !sp && address != at->address) {
		/* A jump to the function's start is a tail call of itself. */
		*leaves = true;
		return NULL;
	}
	return push(r, address, sp, bp);
}

static const char *read_jump(struct reading *r, struct cfg_insn *at, int32_t sp,
			     int32_t bp)
{
	uint64_t to = at->address + (uint64_t)at->insn.target;
	struct target *target;
	bool leaves;
	const char *why = follow(r, at, to, sp, bp, &leaves);

	if (!leaves)
		return why;
	at->exit = CFG_LEAVES;
	target = target_of(r, at->address, &at->insn);
	if (!target)
		return NO_MEMORY;
	at->callee = target->callee;
	return why;
}

static const char *read_insn(struct reading *r, const struct visit *v,
			     struct range *range, struct cfg_insn *at)
{
	struct insn *insn = &at->insn;
	uint64_t behind = at->address + insn->length;
	struct target *target = NULL;
	int32_t sp = v->sp_delta, bp = v->bp_delta;
	const char *why = cfg_step(v->sp_delta, v->bp_delta, insn, &sp, &bp);
	bool leaves;

	if (why)
		return why;
	if (is_call(insn) || is_through_word(insn)) {
		target = target_of(r, at->address, insn);
		if (!target)
			return NO_MEMORY;
		at->callee = target->callee;
		if (is_call(insn) && r->is_first)
			note_call(r, range, behind, target);
	}
	switch (insn->kind) {
	case INSN_RET:
		at->exit = CFG_RETURNS;
		return v->sp_delta ? CFG_STACK_UNKNOWN : NULL;
	case INSN_JMP_INDIRECT:
		if (v->sp_delta)
			return "a jump is indirect";
		at->exit = CFG_LEAVES;
		return NULL;
	case INSN_CALL:
	case INSN_CALL_INDIRECT:
		if ((target->callee.kind == CALLEE_ENDS ||
		     (target->may_end && !r->is_first)) ||
		    skip_nops(range, behind) == range->end) {
			at->exit = CFG_ENDS;
			return NULL;
		}
		return push(r, behind, sp, bp);
	case INSN_JMP:
		return read_jump(r, at, sp, bp);
	case INSN_JCC:
	case INSN_LOOP:
		why = follow(r, at, at->address + (uint64_t)insn->target, sp, bp,
			     &leaves);
		if (!why)
			why = push(r, behind, sp, bp);
		return why;
	default:
		if (insn->traps) {
			/* musl has hlt where control formally continues after a failed
			 * check. */
			at->exit = CFG_ENDS;
			return NULL;
		}
		return push(r, behind, sp, bp);
	}
}

#define NO_SIZE "its size is not known"

static const char *behind_end(const struct reading *r)
{
	return r->is_guessed ? NO_SIZE : CFG_NO_END;
}

/* Why the instruction is not known. The end of a guessed range may cut one off. */
static const char *not_known(const struct reading *r, const struct range *range,
			     uint64_t address, const struct insn *insn)
{
	if (insn->is_invalid)
		return CFG_NO_INSN;
	return r->is_guessed && range->end - address < INSN_LENGTH_MAX
		       ? NO_SIZE
		       : "an instruction is not known";
}

static const char *visit(struct reading *r, const struct visit *v)
{
	struct range *range = range_of(r, v->address);
	size_t at = range ? (size_t)(v->address - range->start) : 0;
	struct cfg_insn fresh = {.address = v->address,
				 .sp_delta = v->sp_delta,
				 .bp_delta = v->bp_delta,
				 .callee = {CALLEE_OTHER, 0}};
	const char *why;

	if (!range)
		return r->is_first ? NULL : behind_end(r);
	if (range->index[at]) {
		struct cfg_insn *old = &r->cfg->insns.data[range->index[at] - 1];

		if (old->sp_delta != v->sp_delta && !r->is_first)
			return CFG_STACK_UNKNOWN;
		return NULL;
	}
	decode_at(range, v->address, &fresh.insn);
	if (fresh.insn.kind == INSN_UNKNOWN)
		return r->is_first ? NULL : not_known(r, range, v->address, &fresh.insn);
	for (size_t i = 0; i < fresh.insn.length; i++) {
		if (range->inside[at + i])
			return r->is_first ? NULL : CFG_OVERLAP;
		range->inside[at + i] = 1;
	}
	if (r->cfg->insns.len == CFG_INSNS_MAX)
		return CFG_TOO_LONG;
	why = read_insn(r, v, range, &fresh);
	/* In the first reading this may be code after a call that does not return. */
	if (why && strcmp(why, NO_MEMORY) && r->is_first)
		why = NULL;
	if (why)
		return why;
	if (!vec_push(&r->cfg->insns, fresh))
		return NO_MEMORY;
	range->index[at] = (uint32_t)r->cfg->insns.len;
	return NULL;
}

static const char *read_all(struct reading *r)
{
	const char *why;

	for (size_t i = 0; i < r->range_count; i++) {
		struct range *range = &r->ranges[i];
		size_t size = (size_t)(range->end - range->start);

		memset(range->index, 0, size * sizeof(*range->index));
		memset(range->inside, 0, size);
		work_spend(r->source->work, size / 32);
	}
	r->cfg->insns.len = 0;
	r->todo.len = 0;
	why = push(r, r->cfg->start, 0, CFG_NO_BP);
	while (!why && r->todo.len) {
		struct visit v = r->todo.data[--r->todo.len];

		why = work_spend(r->source->work, 2) ? visit(r, &v) : CFG_TOO_MUCH;
	}
	return why;
}

/* --- the graph ---------------------------------------------------------------------- */

static int by_address(const void *a, const void *b)
{
	const struct cfg_insn *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

static void sort(struct reading *r)
{
	struct cfg *cfg = r->cfg;

	qsort(cfg->insns.data, cfg->insns.len, sizeof(*cfg->insns.data), by_address);
	for (uint32_t i = 0; i < cfg->insns.len; i++) {
		uint64_t address = cfg->insns.data[i].address;
		struct range *range = range_of(r, address);

		range->index[address - range->start] = i + 1;
		if (address == cfg->start)
			cfg->entry = i;
	}
}

static const char *link_to(struct reading *r, uint32_t from, uint64_t address)
{
	struct cfg_insn *at = &r->cfg->insns.data[from];
	struct range *range = range_of(r, address);
	uint32_t to = range ? range->index[address - range->start] : 0;

	if (to && !(address == r->cfg->start && !at->sp_delta)) {
		at->next[at->next_count++] = to - 1;
		return NULL;
	}

	/* A conditional jump out of the function. */
	struct target *target = target_of(r, at->address, &at->insn);
	struct cfg_insn pseudo = {
		.address = address,
		.insn = {.kind = INSN_PLAIN},
		.exit = CFG_LEAVES,
		.is_pseudo = true,
		.sp_delta = at->sp_delta,
		.bp_delta = at->bp_delta,
	};

	if (!target)
		return NO_MEMORY;
	pseudo.callee = target->callee;
	at->next[at->next_count++] = (uint32_t)r->cfg->insns.len;
	return vec_push(&r->cfg->insns, pseudo) ? NULL : NO_MEMORY;
}

static const char *link_all(struct reading *r)
{
	size_t count = r->cfg->insns.len;
	const char *why = NULL;

	for (uint32_t i = 0; i < count && !why; i++) {
		const struct cfg_insn *at = &r->cfg->insns.data[i];
		enum insn_kind kind = at->insn.kind;
		uint64_t behind = at->address + at->insn.length;
		uint64_t to = at->address + (uint64_t)at->insn.target;

		if (at->exit != CFG_GOES_ON)
			continue;
		if (kind == INSN_JCC || kind == INSN_LOOP || kind == INSN_JMP)
			why = link_to(r, i, to);
		if (!why && kind != INSN_JMP)
			why = link_to(r, i, behind);
	}
	return why;
}

static const char *find_first_range(struct reading *r, uint64_t address, uint64_t size)
{
	uint64_t start = address, end = address + size;

	if (!size && (!r->source->extent ||
		      !r->source->extent(r->source->arg, address, &start, &end))) {
		start = address;
		end = address + EXTENT_GUESS;
		r->is_guessed = true;
	}
	/* An address inside another function is refused. */
	return start == address ? add_range(r, start, end) : "it begins in another one";
}

const char *cfg_read(const struct cfg_source *source, uint64_t address, uint64_t size,
		     struct cfg *ret)
{
	_cleanup_(reading_deinit) struct reading r = {.source = source, .cfg = ret};
	const char *why;

	*ret = (struct cfg){.start = address, .work = source->work};
	why = find_first_range(&r, address, size);
	r.is_first = true;
	if (!why)
		why = read_all(&r);
	r.is_first = false;
	for (int i = 0; !why; i++) {
		why = read_all(&r);
		/* A failed reading may be due to a callee that was not known to end. */
		if (why || !note_returns(&r))
			break;
		if (i == READINGS_MAX - 1)
			why = "its calls are not understood";
	}
	if (why)
		return why;
	sort(&r);
	why = link_all(&r);
	if (!why)
		why = cfg_find_bp(ret);
	if (!why)
		cfg_find_returns(ret);
	if (!why && work_is_over(source->work))
		why = CFG_TOO_MUCH;
	return why;
}

void cfg_deinit(struct cfg *cfg)
{
	vec_deinit(&cfg->insns);
}
