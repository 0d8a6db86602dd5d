// SPDX-License-Identifier: Apache-2.0
#include "code/reach.h"

#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"

/* Bounds per question: functions read, and bytes of each. */
#define FUNCTIONS_MAX 500
#define CODE_MAX      (64u << 10)

/* Bound on bytes read for all questions. libjemalloc has a tenth of it. */
#define ALL_CODE_MAX (16u << 20)

/* Functions that may be reached, each once. The first `done` have been read. */
struct queue {
	VEC(uint64_t) list;
	size_t done;
};

/* The stored answer for the function at `address`, or NULL. Searched by address,
 * because there are hundreds. */
static const struct reach_function *find(const struct reach *r, uint64_t address)
{
	size_t n = vec_count_up_to(&r->known, address, address);

	return n && r->known.data[n - 1].address == address ? &r->known.data[n - 1]
							    : NULL;
}

/* Store an answer. Without memory the function will be read again. */
static void remember(struct reach *r, uint64_t address, bool reaches)
{
	size_t n = vec_count_up_to(&r->known, address, address);
	const struct reach_function answer = {address, reaches};

	/* Moving the answers takes time, too. */
	if (find(r, address) || !work_spend(r->source->work, r->known.len / 32) ||
	    !vec_push(&r->known, answer))
		return;
	memmove(&r->known.data[n + 1], &r->known.data[n],
		(r->known.len - 1 - n) * sizeof(answer));
	r->known.data[n] = answer;
}

static bool add(const struct reach *r, struct queue *queue, uint64_t address)
{
	if (!work_spend(r->source->work, queue->list.len / 16))
		return false;
	vec_foreach (other, &queue->list)
		if (*other == address)
			return true;
	return queue->list.len < FUNCTIONS_MAX && vec_push(&queue->list, address);
}

static bool is_transfer(const struct insn *insn)
{
	return insn->kind == INSN_CALL || insn->kind == INSN_JMP ||
	       insn->kind == INSN_CALL_INDIRECT || insn->kind == INSN_JMP_INDIRECT;
}

/* Get the target of a call or jump. False: it has none that we read. Sets *is_unknown
 * if the target is not a function of this file. */
static bool goes_to(const struct reach *r, uint64_t address, const struct insn *insn,
		    uint64_t *ret, bool *is_unknown)
{
	const struct callees *callees = r->source->callees;
	struct callee callee = {CALLEE_OTHER, 0};

	if (is_transfer(insn))
		work_spend(r->source->work, WORK_NAME);
	switch (insn->kind) {
	case INSN_CALL:
	case INSN_JMP:
	case INSN_JCC:
		*ret = address + (uint64_t)insn->target;
		callee = callees ? callees_at(callees, *ret)
				 : (struct callee){CALLEE_HERE, *ret};
		break;
	case INSN_CALL_INDIRECT:
	case INSN_JMP_INDIRECT:
		if (insn->base == INSN_BASE_PC && !insn->is_indexed && callees)
			callee = callees_through(
				callees, address + (uint64_t)(int64_t)insn->displacement);
		break;
	default:
		break;
	}
	*ret = callee.address;
	*is_unknown = (insn->kind == INSN_CALL || insn->kind == INSN_JMP ||
		       insn->base == INSN_BASE_PC) &&
		      callee.kind == CALLEE_OTHER;
	return callee.kind == CALLEE_HERE;
}

/* Read one function. False: its code cannot be read. */
static bool look_at(struct reach *r, uint64_t function, struct queue *queue, bool *found)
{
	uint64_t start, end, at, to;
	_cleanup_(freep) uint8_t *code = NULL;
	size_t size;

	if (!r->source->extent ||
	    !r->source->extent(r->source->arg, function, &start, &end) ||
	    end - start > CODE_MAX)
		return false;
	size = (size_t)(end - start);
	r->looked_at += size;
	if (r->looked_at > ALL_CODE_MAX || !work_spend(r->source->work, WORK_FUNCTION))
		return false;
	code = malloc(size ? size : 1);
	if (!code || r->source->read(r->source->arg, start, code, size) != size)
		return false;
	for (at = start; at < end;) {
		struct insn insn;

		insn_decode(code + (at - start), (size_t)(end - at), &insn);
		if (!insn.length || !work_spend(r->source->work, 1))
			return false;
		bool is_unknown = false;

		if (goes_to(r, at, &insn, &to, &is_unknown) &&
		    (to < start || to >= end)) {
			const struct reach_function *known = find(r, to);

			*found = *found || r->is_probed(r->arg, to) ||
				 (known && known->reaches);
			if (*found)
				return true;
			if (!known && !add(r, queue, to))
				return false;
		}
		/* An unknown target: it is probed by its name, or has no name. */
		*found |= is_unknown && is_transfer(&insn);
		if (*found)
			return true;
		at += insn.length;
	}
	return true;
}

bool reach_any(struct reach *reach, uint64_t address)
{
	const struct reach_function *known = find(reach, address);
	struct queue queue = {0};
	bool found = reach->is_probed(reach->arg, address), is_complete = true;

	if (known)
		return known->reaches;
	if (work_is_over(reach->source->work))
		return true;
	is_complete = add(reach, &queue, address);
	while (is_complete && !found && queue.done < queue.list.len)
		is_complete =
			look_at(reach, queue.list.data[queue.done++], &queue, &found);
	found |= !is_complete;
	remember(reach, address, found);
	/* If a function reaches no probed one, neither do its callees. */
	for (size_t i = 0; !found && i < queue.list.len; i++)
		remember(reach, queue.list.data[i], false);
	vec_deinit(&queue.list);
	return found;
}

void reach_deinit(struct reach *reach)
{
	vec_deinit(&reach->known);
}
