// SPDX-License-Identifier: Apache-2.0
#include "plan/flow.h"

#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"

#define NO_MEMORY "out of memory"

/* With each reading more calls are known to return. */
#define READINGS_MAX 16

/* Registers that a call may change (psABI 3.2.1): all but rbx, rbp, r12 to r15 and rsp.
 */
#define CALL_CHANGES 0x0fc7u

/* While the instructions are found: by offset. */
enum mark {
	MARK_NONE,
	MARK_INSIDE, /* not the first byte of an instruction */
	MARK_FIRST,
};

struct reading {
	const uint8_t *code;
	size_t size;
	uint8_t *mark;    /* enum mark */
	uint8_t *returns; /* the call at this offset is known to return */
	VEC(uint32_t) todo;
};

static void reading_deinit(struct reading *r)
{
	free(r->mark);
	free(r->returns);
	vec_deinit(&r->todo);
}

static bool is_branch(const struct insn *insn)
{
	return insn->kind == INSN_JCC || insn->kind == INSN_LOOP ||
	       insn->kind == INSN_JMP;
}

static bool falls_through(const struct insn *insn)
{
	return insn->kind != INSN_JMP && insn->kind != INSN_RET;
}

/* The first offset from `at` on without a nop. */
static size_t skip_nops(const struct reading *r, size_t at)
{
	struct insn insn;

	while (at < r->size) {
		insn_decode(r->code + at, r->size - at, &insn);
		if (insn.kind != INSN_NOP)
			break;
		at += insn.length;
	}
	return at;
}

/* May the call before `behind` be one that does not return? */
static bool may_end(const struct reading *r, size_t behind)
{
	struct insn nop;

	if (behind == r->size)
		return true;
	insn_decode(r->code + behind, r->size - behind, &nop);
	return nop.kind == INSN_NOP && !nop.no_probe;
}

static const char *push(struct reading *r, int64_t offset)
{
	/* What jumps to the first byte calls the function anew. */
	if (offset <= 0 || (uint64_t)offset >= r->size)
		return "a jump leaves the function";
	return vec_push(&r->todo, (uint32_t)offset) ? NULL : NO_MEMORY;
}

static const char *read_insn(struct reading *r, uint32_t offset)
{
	const char *why = NULL;
	struct insn insn;

	insn_decode(r->code + offset, r->size - offset, &insn);
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
	if (insn.kind == INSN_CALL && (uint64_t)(offset + insn.target) < r->size)
		return "it calls itself";
	if (insn.kind == INSN_CALL && !r->returns[offset] &&
	    may_end(r, offset + insn.length))
		return why;
	if (!why && falls_through(&insn))
		why = push(r, (int64_t)offset + insn.length);
	return why;
}

/* From the first byte on; calls end what they may end. */
static const char *read_all(struct reading *r)
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
		why = read_insn(r, offset);
		if (why)
			return why;
	}
	return NULL;
}

/* Where the call at `offset` goes; 0 when there is none. */
static int64_t callee_at(const struct reading *r, size_t offset, size_t *behind)
{
	struct insn insn;

	if (r->mark[offset] != MARK_FIRST)
		return 0;
	insn_decode(r->code + offset, r->size - offset, &insn);
	*behind = offset + insn.length;
	return insn.kind == INSN_CALL ? (int64_t)offset + insn.target : 0;
}

static bool ends(const struct reading *r, size_t offset, size_t behind)
{
	return !r->returns[offset] && may_end(r, behind);
}

/* Another call of the same function goes on behind itself. */
static bool returns_elsewhere(const struct reading *r, int64_t callee)
{
	size_t behind;

	for (size_t i = 0; i < r->size; i++)
		if (callee_at(r, i, &behind) == callee && !ends(r, i, behind))
			return true;
	return false;
}

/* Note calls that were taken not to return and do, as far as the rest tells; true when
 * there are any. */
static bool note_returns(struct reading *r)
{
	bool found = false;

	for (size_t i = 0; i < r->size; i++) {
		size_t behind;
		int64_t callee = callee_at(r, i, &behind);

		if (!callee || !ends(r, i, behind))
			continue;

		size_t on = skip_nops(r, behind);
		/* The nops are nobody else's, and there is a reason for them. */
		bool is_padding = behind == r->size ||
				  (r->mark[behind] == MARK_NONE &&
				   (on == r->size || r->mark[on] == MARK_FIRST));

		if (is_padding && !returns_elsewhere(r, callee))
			continue;
		r->returns[i] = 1;
		found = true;
	}
	return found;
}

/* --- the graph ---------------------------------------------------------------------- */

static uint32_t index_of(const struct flow *flow, uint32_t offset)
{
	uint32_t low = 0, high = (uint32_t)flow->insns.len;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (flow->insns.data[middle].offset <= offset)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static void link_insn(struct flow *flow, const struct reading *r, struct flow_insn *at)
{
	uint32_t behind = at->offset + at->insn.length;

	if (is_branch(&at->insn))
		at->next[at->next_count++] =
			index_of(flow, (uint32_t)(at->offset + at->insn.target));
	if (at->insn.kind == INSN_CALL && ends(r, at->offset, behind)) {
		at->ends = true;
		at->has_stray = behind < r->size;
		at->stray = behind;
	} else if (falls_through(&at->insn)) {
		at->next[at->next_count++] = index_of(flow, behind);
	}
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
	vec_foreach (at, &flow->insns)
		link_insn(flow, r, at);
	return NULL;
}

/* --- what holds --------------------------------------------------------------------- */

static uint16_t size_after(const struct flow_insn *at)
{
	const struct insn *insn = &at->insn;
	uint16_t size_in = at->size_in & (uint16_t)~insn->writes;

	if (insn->kind == INSN_CALL || insn->kind == INSN_CALL_INDIRECT)
		size_in &= (uint16_t)~CALL_CHANGES;
	if (insn->kind == INSN_COPY && at->size_in & 1u << insn->from)
		size_in |= (uint16_t)(1u << insn->to);
	return size_in;
}

/* From the first instruction on, until nothing changes: fewer registers each time. */
static const char *find_values(struct flow *flow)
{
	bool known[FLOW_CODE_MAX] = {true}, changed = true;

	flow->insns.data[0].size_in = 1u << INSN_RDI;
	while (changed) {
		changed = false;
		for (size_t i = 0; i < flow->insns.len; i++) {
			const struct flow_insn *at = &flow->insns.data[i];
			int64_t sp_delta = at->sp_delta - at->insn.sp_change;
			uint16_t size_in = size_after(at);

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

const char *flow_read(const uint8_t *code, size_t size, struct flow *ret)
{
	_cleanup_(reading_deinit) struct reading r = {.code = code,
						      .size = size,
						      .mark = calloc(1, size + 1),
						      .returns = calloc(1, size + 1)};
	const char *why;

	*ret = (struct flow){.code = code, .size = size};
	if (!size || size > FLOW_CODE_MAX)
		return "it is too long";
	if (!r.mark || !r.returns)
		return NO_MEMORY;
	for (int i = 0;; i++) {
		why = read_all(&r);
		if (why || !note_returns(&r))
			break;
		if (i == READINGS_MAX)
			return "its calls are not understood";
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
