// SPDX-License-Identifier: Apache-2.0
#include "code/flow.h"

#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"

#define NO_MEMORY    "out of memory"

#define READINGS_MAX 16

/* What is known of a byte while instructions are found. Indexed by offset. */
enum mark {
	MARK_NONE,
	MARK_INSIDE, /* not the first byte of an instruction */
	MARK_FIRST,
};

/* A called function. */
struct callee {
	int64_t offset; /* from the caller's first byte */
	bool may_end;   /* control may stop at a call to it */
};

struct reading {
	const struct flow_text *text;
	const uint8_t *code;
	size_t size;
	uint8_t *mark; /* enum mark */
	VEC(struct callee) callees;
	VEC(uint32_t) todo;
};

static void reading_deinit(struct reading *r)
{
	free(r->mark);
	vec_deinit(&r->callees);
	vec_deinit(&r->todo);
}

static void decode_at(const struct reading *r, size_t offset, struct insn *ret)
{
	insn_decode(r->code + offset, r->size - offset, ret);
}

static bool is_branch(const struct insn *insn)
{
	return insn->kind == INSN_JCC || insn->kind == INSN_LOOP ||
	       insn->kind == INSN_JMP;
}

static struct callee *callee_of(const struct reading *r, size_t offset,
				const struct insn *call)
{
	vec_foreach (callee, &r->callees)
		if (callee->offset == (int64_t)offset + call->target)
			return callee;
	return NULL;
}

/* Is the instruction at `offset` a call that is assumed not to return? */
static bool ends(const struct reading *r, size_t offset, const struct insn *insn)
{
	const struct callee *callee =
		insn->kind == INSN_CALL ? callee_of(r, offset, insn) : NULL;

	return callee && callee->may_end;
}

static bool falls_through(const struct reading *r, size_t offset, const struct insn *insn)
{
	return insn->kind != INSN_JMP && insn->kind != INSN_RET && !ends(r, offset, insn);
}

/* The first offset at or after `at` without a nop. */
static size_t skip_nops(const struct reading *r, size_t at)
{
	return insn_skip_nops(r->code, r->size, at);
}

/* May control continue after the instruction? In the first reading all calls return if
 * code follows them. */
static bool may_fall_through(const struct reading *r, size_t offset,
			     const struct insn *insn)
{
	return insn->kind != INSN_JMP && insn->kind != INSN_RET &&
	       (insn->kind != INSN_CALL ||
		skip_nops(r, offset + insn->length) != r->size);
}

/* Read the code at `offset` later. */
static const char *push(struct reading *r, int64_t offset)
{
	/* A jump to the first byte is a new call of the function. */
	if (offset <= 0 || (uint64_t)offset >= r->size)
		return "a jump leaves the function";
	return vec_push(&r->todo, (uint32_t)offset) ? NULL : NO_MEMORY;
}

static bool line_ends(const struct reading *r, int64_t offset)
{
	uint8_t code[INSN_LINE_MAX];
	size_t size = 0;

	if (r->text->read)
		size = r->text->read(r->text->arg, offset, code, sizeof(code));
	return insn_line_ends(code, size);
}

static const char *note_call(struct reading *r, size_t offset, const struct insn *call)
{
	struct callee *callee = callee_of(r, offset, call);
	size_t behind = offset + call->length;

	if ((uint64_t)offset + (uint64_t)call->target < r->size)
		return "it calls itself";
	if (!callee) {
		const int64_t to = (int64_t)offset + call->target;
		const struct callee fresh = {to, line_ends(r, to)};

		if (!vec_push(&r->callees, fresh))
			return NO_MEMORY;
		callee = &r->callees.data[r->callees.len - 1];
	}
	callee->may_end |= skip_nops(r, behind) != behind || behind == r->size;
	return NULL;
}

static const char *read_insn(struct reading *r, uint32_t offset, bool notes_calls)
{
	const char *why = NULL;
	struct insn insn;

	decode_at(r, offset, &insn);
	if (insn.kind == INSN_UNKNOWN || insn.kind == INSN_OPAQUE)
		return "an instruction is not known";
	if (insn.kind == INSN_JMP_INDIRECT)
		return "a jump is indirect";
	for (size_t i = 0; i < insn.length; i++) {
		if (r->mark[offset + i] != MARK_NONE)
			return "instructions overlap";
		r->mark[offset + i] = i ? MARK_INSIDE : MARK_FIRST;
	}
	if (is_branch(&insn))
		why = push(r, (int64_t)offset + insn.target);
	if (!why && insn.kind == INSN_CALL && notes_calls)
		why = note_call(r, offset, &insn);
	if (!why && (notes_calls ? may_fall_through(r, offset, &insn)
				 : falls_through(r, offset, &insn)))
		why = push(r, (int64_t)offset + insn.length);
	return why;
}

/* Read the function from its first byte. With `notes_calls` (first reading), record the
 * callees. Later, calls of functions with may_end end their path. */
static const char *read_all(struct reading *r, bool notes_calls)
{
	const char *why;

	memset(r->mark, MARK_NONE, r->size);
	r->todo.len = 0;
	if (!vec_push(&r->todo, 0))
		return NO_MEMORY;
	while (r->todo.len) {
		uint32_t offset = r->todo.data[--r->todo.len];

		if (r->mark[offset] == MARK_FIRST)
			continue;
		why = read_insn(r, offset, notes_calls);
		if (why)
			return why;
	}
	return NULL;
}

/* Find callees that do return although assumed not to: a call to them is followed by
 * code that nothing else leads to, or by nops that something leads to. True if any was
 * found. */
static bool note_returns(struct reading *r)
{
	bool found = false;

	for (size_t i = 0; i < r->size; i++) {
		struct insn insn;
		size_t behind, on;

		if (r->mark[i] != MARK_FIRST)
			continue;
		decode_at(r, i, &insn);
		if (!ends(r, i, &insn))
			continue;
		behind = i + insn.length;
		on = skip_nops(r, behind);
		if ((on == behind || r->mark[behind] == MARK_NONE) &&
		    (on == r->size || r->mark[on] == MARK_FIRST))
			continue;
		callee_of(r, i, &insn)->may_end = false;
		found = true;
	}
	return found;
}

/* --- the graph ---------------------------------------------------------------------- */

static uint32_t index_of(const struct flow *flow, uint32_t offset)
{
	return (uint32_t)vec_count_up_to(&flow->insns, offset, offset) - 1;
}

static void link_insn(struct flow *flow, const struct reading *r, struct flow_insn *at)
{
	at->ends = ends(r, at->offset, &at->insn);
	if (is_branch(&at->insn))
		at->next[at->next_count++] =
			index_of(flow, (uint32_t)(at->offset + at->insn.target));
	if (falls_through(r, at->offset, &at->insn))
		at->next[at->next_count++] = index_of(flow, at->offset + at->insn.length);
}

static const char *make_graph(const struct reading *r, struct flow *flow)
{
	for (uint32_t i = 0; i < r->size; i++) {
		struct flow_insn at = {.offset = i};

		if (r->mark[i] != MARK_FIRST)
			continue;
		insn_decode(r->code + i, r->size - i, &at.insn);
		if (!vec_push(&flow->insns, at))
			return NO_MEMORY;
	}
	vec_foreach (at, &flow->insns) {
		link_insn(flow, r, at);
		for (uint8_t n = 0; n < at->next_count; n++)
			flow->insns.data[at->next[n]].from_count++;
	}
	return NULL;
}

/* --- what holds --------------------------------------------------------------------- */

static insn_register_set size_after(const struct flow_insn *at)
{
	const struct insn *insn = &at->insn;
	insn_register_set size_in = at->size_in & (insn_register_set)~insn->writes;

	if (insn->kind == INSN_CALL || insn->kind == INSN_CALL_INDIRECT)
		size_in &= (insn_register_set)~INSN_CALL_CHANGES;
	if (insn->kind == INSN_COPY && at->size_in & 1u << insn->from)
		size_in |= (insn_register_set)(1u << insn->to);
	return size_in;
}

/* Iterate from the first instruction until nothing changes. The sets of registers only
 * become smaller. */
static const char *find_values(struct flow *flow)
{
	bool known[FLOW_CODE_MAX] = {true}, changed = true;

	flow->insns.data[0].size_in = 1u << INSN_ARGUMENT_0;
	while (changed) {
		changed = false;
		for (size_t i = 0; i < flow->insns.len; i++) {
			const struct flow_insn *at = &flow->insns.data[i];
			int64_t sp_delta = at->sp_delta - at->insn.sp_change;
			insn_register_set size_in = size_after(at);

			if (!known[i])
				continue;
			if (sp_delta < 0 || sp_delta > INT16_MAX ||
			    (at->insn.kind == INSN_RET && sp_delta))
				return "the stack pointer moves in an unknown way";
			for (uint8_t n = 0; n < at->next_count; n++) {
				struct flow_insn *to = &flow->insns.data[at->next[n]];

				if (!known[at->next[n]]) {
					known[at->next[n]] = changed = true;
					to->sp_delta = sp_delta;
					to->size_in = size_in;
				}
				if (to->sp_delta != sp_delta)
					return "the stack pointer moves in an unknown "
					       "way";
				changed = changed || to->size_in & ~size_in;
				to->size_in &= size_in;
			}
		}
	}
	return NULL;
}

static void find_returns(struct flow *flow)
{
	bool changed = true;

	while (changed) {
		changed = false;
		vec_foreach (at, &flow->insns) {
			bool returns = at->insn.kind == INSN_RET;

			for (uint8_t n = 0; n < at->next_count; n++)
				returns |= flow->insns.data[at->next[n]].returns;
			changed |= returns != at->returns;
			at->returns = returns;
		}
	}
}

const char *flow_read(const struct flow_text *text, struct flow *ret)
{
	_cleanup_(reading_deinit) struct reading r = {
		.text = text,
		.code = text->code,
		.size = text->size,
		.mark = calloc(1, text->size + 1),
	};
	const char *why;

	*ret = (struct flow){.code = text->code};
	if (!r.size)
		return "nothing of it is known";
	if (r.size > FLOW_CODE_MAX)
		return "it is too long";
	if (!r.mark)
		return NO_MEMORY;
	why = read_all(&r, true);
	/* In each reading fewer calls are assumed not to return. */
	for (int i = 0; !why && i < READINGS_MAX; i++) {
		why = read_all(&r, false);
		if (why || !note_returns(&r))
			break;
		if (i == READINGS_MAX - 1)
			why = "its calls are not understood";
	}
	if (!why)
		why = make_graph(&r, ret);
	if (!why)
		why = find_values(ret);
	if (!why)
		find_returns(ret);
	return why;
}

void flow_deinit(struct flow *flow)
{
	vec_deinit(&flow->insns);
}
