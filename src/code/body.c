// SPDX-License-Identifier: Apache-2.0
#include "code/body.h"

#include <stdlib.h>
#include <string.h>

#include "code/place.h"
#include "util/cleanup.h"

#define NO_MEMORY "out of memory"

/* How paths reach an instruction: before or after passing a site. Or-ed if there are
 * both. */
enum ways {
	WAYS_BEFORE = 1,
	WAYS_AFTER = 2,
};

struct reading {
	struct flow flow;
	unsigned emulated;
	/* The arrays are indexed by instruction. */
	bool final[FLOW_CODE_MAX];
	bool is_late[FLOW_CODE_MAX]; /* no site here; it was moved to a later instruction
				      */
	uint8_t result[FLOW_CODE_MAX]; /* enum ways, or-ed, in final code: sites of the
					  result */
	uint8_t entry[FLOW_CODE_MAX];  /* enum ways, or-ed, everywhere: the site of the
					  entry */
	/* Work list of instructions. */
	uint32_t todo[FLOW_CODE_MAX];
	size_t todo_count;
	bool is_todo[FLOW_CODE_MAX];
};

static void reading_destroy(struct reading *r)
{
	if (r)
		flow_deinit(&r->flow);
	free(r);
}

DEFINE_CLEANUP(struct reading *, reading_destroy);

static const char *emulated(const struct reading *r, uint32_t i)
{
	const struct flow_insn *at = &r->flow.insns.data[i];

	return emulated_reason(r->flow.code, at->offset, &at->insn, r->emulated);
}

/* --- final code --------------------------------------------------------------------- */

static bool keeps_result(const struct insn *insn)
{
	return insn->kind != INSN_CALL && insn->kind != INSN_CALL_INDIRECT &&
	       !(insn->writes & 1u << INSN_RESULT);
}

/* Find final code. Code that never returns is also final: it has no result. */
static void find_final(struct reading *r)
{
	bool changed = true;

	for (size_t i = 0; i < r->flow.insns.len; i++)
		r->final[i] = !r->flow.insns.data[i].returns ||
			      keeps_result(&r->flow.insns.data[i].insn);
	while (changed) {
		changed = false;
		for (size_t i = 0; i < r->flow.insns.len; i++) {
			const struct flow_insn *at = &r->flow.insns.data[i];

			for (uint8_t n = 0; n < at->next_count && r->final[i]; n++) {
				r->final[i] = !at->returns || r->final[at->next[n]];
				changed |= !r->final[i];
			}
		}
	}
}

/* In final code, on a path to a `ret`? */
static bool is_inside(const struct reading *r, uint32_t i)
{
	return r->final[i] && r->flow.insns.data[i].returns;
}

/* Does it make the result 0, followed by final code? */
static bool gives_up(const struct reading *r, uint32_t i)
{
	const struct flow_insn *at = &r->flow.insns.data[i];

	return at->insn.zeroes && at->insn.to == INSN_RESULT && !at->insn.no_probe &&
	       at->returns && r->final[at->next[0]];
}

/* --- ways --------------------------------------------------------------------------- */

/* Record that paths of the kinds `more` reach the instruction `i`. */
static void add_ways(struct reading *r, uint8_t ways[], uint32_t i, uint8_t more)
{
	if ((ways[i] | more) == ways[i])
		return;
	ways[i] |= more;
	if (r->is_todo[i])
		return;
	r->is_todo[i] = true;
	r->todo[r->todo_count++] = i;
}

/* Is the instruction a site of the result? Sites are the first emulated instructions on
 * each path through final code that no path with a site reaches. */
static bool is_result_site(const struct reading *r, uint32_t i)
{
	return is_inside(r, i) && r->result[i] == WAYS_BEFORE && !r->is_late[i] &&
	       emulated(r, i);
}

static bool next_todo(struct reading *r, uint32_t *ret)
{
	if (!r->todo_count)
		return false;
	*ret = r->todo[--r->todo_count];
	r->is_todo[*ret] = false;
	return true;
}

static void spread_results(struct reading *r)
{
	uint32_t i;

	memset(r->result, 0, sizeof(r->result));
	for (i = 0; i < r->flow.insns.len; i++) {
		const struct flow_insn *at = &r->flow.insns.data[i];

		for (uint8_t n = 0; n < at->next_count && !is_inside(r, i); n++)
			if (is_inside(r, at->next[n]))
				add_ways(r, r->result, at->next[n],
					 gives_up(r, i) ? WAYS_AFTER : WAYS_BEFORE);
	}
	while (next_todo(r, &i)) {
		const struct flow_insn *at = &r->flow.insns.data[i];
		uint8_t out = is_result_site(r, i) ? WAYS_AFTER : r->result[i];

		for (uint8_t n = 0; n < at->next_count; n++)
			if (is_inside(r, at->next[n]))
				add_ways(r, r->result, at->next[n], out);
	}
}

static bool goes_to(const struct reading *r, uint32_t from, uint32_t to)
{
	const struct flow_insn *at = &r->flow.insns.data[from];

	for (uint8_t n = 0; n < at->next_count; n++)
		if (at->next[n] == to)
			return true;
	return false;
}

/* Find the first instruction where paths with a site meet paths without one. False: not
 * found. */
static bool find_meeting(const struct reading *r, uint32_t *ret)
{
	for (uint32_t i = 0; i < r->flow.insns.len; i++) {
		bool is_first = r->result[i] == (WAYS_BEFORE | WAYS_AFTER);

		for (uint32_t from = 0; from < r->flow.insns.len && is_first; from++)
			is_first = r->result[from] != (WAYS_BEFORE | WAYS_AFTER) ||
				   !goes_to(r, from, i);
		*ret = i;
		if (is_first)
			return true;
	}
	return false;
}

/* Is a successor of the instruction marked? */
static bool leads_to(const struct reading *r, uint32_t i, const uint8_t marked[])
{
	const struct flow_insn *at = &r->flow.insns.data[i];

	for (uint8_t n = 0; n < at->next_count; n++)
		if (marked[at->next[n]])
			return true;
	return false;
}

/* Move all sites before `meeting` to instructions after it. False: none was moved. */
static bool put_off(struct reading *r, uint32_t meeting)
{
	bool found = false, changed = true;

	memset(r->entry, 0, sizeof(r->entry));
	r->entry[meeting] = WAYS_AFTER;
	/* Most jumps are forward, so mostly one round from the end finds everything. */
	while (changed) {
		changed = false;
		for (uint32_t i = (uint32_t)r->flow.insns.len; i-- > 0;) {
			if (r->entry[i] || !is_inside(r, i) || !leads_to(r, i, r->entry))
				continue;
			if (is_result_site(r, i)) {
				r->is_late[i] = found = true;
			} else if (r->result[i] == WAYS_AFTER) {
				r->entry[i] = WAYS_AFTER;
				changed = true;
			}
		}
	}
	return found;
}

/* Bound on rounds; each one moves at least one site. */
#define MEETINGS_MAX 64

static void find_results(struct reading *r)
{
	uint32_t meeting;

	for (int i = 0; i < MEETINGS_MAX; i++) {
		spread_results(r);
		if (!find_meeting(r, &meeting) || !put_off(r, meeting))
			return;
	}
}

/* Does each path to a `ret` pass a site? None passes two, since paths do not leave
 * final code. */
static bool all_results_seen(const struct reading *r)
{
	for (uint32_t i = 0; i < r->flow.insns.len; i++)
		if (r->flow.insns.data[i].insn.kind == INSN_RET &&
		    r->result[i] != WAYS_AFTER)
			return false;
	return true;
}

/* --- the site of the entry ---------------------------------------------------------- */

/* Can the entry's site be at `entry`? If so, r->entry says which paths pass it. */
static bool try_entry(struct reading *r, uint32_t entry)
{
	uint32_t i;

	memset(r->entry, 0, sizeof(r->entry));
	add_ways(r, r->entry, 0, WAYS_BEFORE);
	while (next_todo(r, &i)) {
		const struct flow_insn *at = &r->flow.insns.data[i];
		uint8_t out = i == entry ? WAYS_AFTER : r->entry[i];

		for (uint8_t n = 0; n < at->next_count; n++)
			add_ways(r, r->entry, at->next[n], out);
	}
	if (entry < r->flow.insns.len && r->entry[entry] != WAYS_BEFORE)
		return false;
	for (i = 0; i < r->flow.insns.len; i++) {
		if (!is_result_site(r, i))
			continue;
		if (r->entry[i] != WAYS_AFTER &&
		    (r->entry[i] != WAYS_BEFORE || !r->flow.insns.data[i].size_in))
			return false;
	}
	return true;
}

#define NO_ENTRY UINT32_MAX

/* Choose the place for the entry's site that the fewest instructions follow. *ret is
 * NO_ENTRY if no call needs this site. False: no place fits. */
static bool find_entry(struct reading *r, uint32_t *ret)
{
	size_t best = SIZE_MAX;

	*ret = NO_ENTRY;
	if (try_entry(r, NO_ENTRY))
		return true;
	for (uint32_t i = 0; i < r->flow.insns.len; i++) {
		const struct flow_insn *at = &r->flow.insns.data[i];
		size_t behind = 0, whole = 0;

		if (!at->returns || is_inside(r, i) || !at->size_in || !emulated(r, i) ||
		    !try_entry(r, i))
			continue;
		for (uint32_t k = 0; k < r->flow.insns.len; k++) {
			behind += r->entry[k] == WAYS_AFTER;
			whole += is_result_site(r, k) && r->entry[k] == WAYS_BEFORE;
		}
		if (whole && behind < best) {
			best = behind;
			*ret = i;
		}
	}
	return *ret != NO_ENTRY && try_entry(r, *ret);
}

/* --- all of them -------------------------------------------------------------------- */

static uint8_t lowest_register(insn_register_set registers)
{
	uint8_t n = 0;

	while (n < INSN_REGISTERS - 1 && !(registers & 1u << n))
		n++;
	return n;
}

static bool add_site(struct body *body, const struct flow_insn *at, enum body_part part,
		     const char *reason)
{
	bool has_size = part == BODY_WHOLE || part == BODY_ENTRY;

	if (body->count == BODY_SITES_MAX)
		return false;
	body->sites[body->count++] = (struct body_site){
		.part = part,
		.delta = at->offset,
		.sp_delta = (int32_t)at->sp_delta,
		.size_reg = has_size ? lowest_register(at->size_in) : PLACE_NO_REGISTER,
		.reason = reason,
	};
	return true;
}

/* Is the instruction followed by a call that does not return, and that no other
 * instruction leads to? */
static bool comes_to_end(const struct reading *r, uint32_t i)
{
	const struct flow_insn *at = &r->flow.insns.data[i], *call;

	if (at->next_count != 1)
		return false;
	call = &r->flow.insns.data[at->next[0]];
	return call->ends && call->from_count == 1 && !at->insn.no_probe;
}

/* Does each call that does not return have such an instruction before it? */
static bool all_ends_seen(const struct reading *r)
{
	size_t ends = 0, seen = 0;

	for (uint32_t i = 0; i < r->flow.insns.len; i++) {
		ends += r->flow.insns.data[i].ends;
		seen += comes_to_end(r, i);
	}
	return ends == seen;
}

static bool is_part(const struct reading *r, uint32_t i, uint32_t entry,
		    enum body_part part)
{
	switch (part) {
	case BODY_WHOLE:
		return is_result_site(r, i) && r->entry[i] == WAYS_BEFORE;
	case BODY_RETURN:
		return is_result_site(r, i) && r->entry[i] == WAYS_AFTER;
	case BODY_ENTRY:
		return i == entry;
	case BODY_FAILURE:
		return gives_up(r, i);
	case BODY_STOP:
		return comes_to_end(r, i);
	}
	return false;
}

static const char *add_part(const struct reading *r, uint32_t entry, enum body_part part,
			    struct body *body)
{
	for (uint32_t i = 0; i < r->flow.insns.len; i++) {
		const struct flow_insn *at = &r->flow.insns.data[i];
		const char *reason = emulated(r, i);

		if (!is_part(r, i, entry, part))
			continue;
		if (part == BODY_STOP)
			reason = "a check has failed";
		else if (part == BODY_FAILURE)
			reason = "the result is 0";
		if (!add_site(body, at, part, reason))
			return "it has too many sites";
	}
	return NULL;
}

static const char *read_body(struct reading *r, struct body *ret)
{
	static const enum body_part order[] = {BODY_STOP, BODY_FAILURE, BODY_RETURN,
					       BODY_ENTRY, BODY_WHOLE};
	const char *why = NULL;
	uint32_t entry;

	find_final(r);
	if (is_inside(r, 0))
		return "it makes nothing";
	find_results(r);
	if (!all_results_seen(r))
		return "a way to its end has no site";
	if (!all_ends_seen(r))
		return "a call that does not return has no site";
	if (!find_entry(r, &entry))
		return "the size is not known at all sites";
	for (size_t i = 0; i < sizeof(order) / sizeof(*order) && !why; i++)
		why = add_part(r, entry, order[i], ret);
	if (!why && (!ret->count || ret->sites[ret->count - 1].part != BODY_WHOLE))
		why = "no site sees a whole call";
	return why;
}

const char *body_find(const struct flow_text *text, unsigned emulated, struct body *ret)
{
	_cleanup_(reading_destroyp) struct reading *r = calloc(1, sizeof(*r));
	const char *why;

	*ret = (struct body){0};
	if (!r)
		return NO_MEMORY;
	r->emulated = emulated;
	why = flow_read(text, &r->flow);
	if (!why)
		why = read_body(r, ret);
	if (why)
		ret->count = 0;
	return why;
}
