// SPDX-License-Identifier: Apache-2.0
#include "plan/returns.h"

#include <stdlib.h>
#include <string.h>

#include "code/place.h"
#include "plan/returns_choice.h"
#include "util/cleanup.h"

#define NO_MEMORY RETURN_NO_MEMORY

/* Bound on functions reached by tail calls. */
#define UNITS_MAX 64

/* --- one site ----------------------------------------------------------------------- */

static unsigned lowest(place_set in)
{
	unsigned n = 0;

	while (!(in >> n & 1))
		n++;
	return n;
}

/* Describe the place of the result. False: a probe cannot read it. */
static bool describe(const struct choice *c, const struct cfg_insn *at,
		     const struct result *result, struct return_value *ret)
{
	place_set registers = result->in & PLACES_REGISTERS;
	place_set out = result->out & PLACES_REGISTERS;
	unsigned slot;

	if (result->is_known) {
		if (c->request->width == RESULT_OUT && !result->value) {
			if (!out)
				return false;
			*ret = (struct return_value){RETURN_BLOCK, (uint8_t)lowest(out),
						     0};
			return true;
		}
		*ret = (struct return_value){RETURN_VALUE, 0, (int32_t)result->value};
		return result->value <= RETURN_VALUE_MAX &&
		       result->value >= -RETURN_VALUE_MAX;
	}
	if (c->request->width == RESULT_OUT && !(result->out & PLACES_STORED))
		return false;
	if (registers) {
		*ret = (struct return_value){RETURN_REGISTER, (uint8_t)lowest(registers),
					     0};
		return true;
	}
	slot = lowest(result->in) - PLACES_SLOT_SHIFT;
	*ret = (struct return_value){RETURN_FRAME, 0,
				     at->sp_delta - c->values->slots[slot]};
	return ret->offset >= -128 && ret->offset <= RETURN_OFFSET_MAX;
}

/* Find the place of the caller's rbp. False: unknown. */
static bool find_bp(const struct choice *c, const struct cfg_insn *at, uint8_t *ret)
{
	place_set held = c->values->held[at - c->cfg->insns.data][VALUE_BP];

	*ret = 0;
	if (held & 1u << INSN_BP)
		return true;
	for (size_t k = 0; k < c->values->slot_count; k++) {
		int32_t words = c->values->slots[k] / 8;

		if (held >> (PLACES_SLOT_SHIFT + k) & 1 && words > 0 &&
		    words <= RETURN_BP_WORDS_MAX) {
			*ret = (uint8_t)words;
			return true;
		}
	}
	return false;
}

static const struct result *result_of(const struct choice *c, uint32_t i)
{
	return &c->values->results[i];
}

static bool is_settled(const struct choice *c, const struct cfg_insn *at,
		       const struct result *result)
{
	struct return_value value;

	return !result->is_any && result_is_settled(result, c->request->width) &&
	       describe(c, at, result, &value);
}

/* Do calls on this path fail? A result of 0 from posix_memalign() or munmap() is
 * success. */
static bool is_failure(const struct choice *c, const struct result *result)
{
	switch (c->request->width) {
	case RESULT_VOID:
		return false;
	case RESULT_INT:
	case RESULT_OUT:
		return result->is_known && result->value;
	default:
		return result->is_known;
	}
}

static int32_t price_of_size(const struct choice *c, uint32_t i)
{
	uint8_t unused;

	return c->is_called && !choice_finds_size(c, i, &unused) ? PRICE_SIZE_LOST : 0;
}

/* The price of a site at the instruction. */
static int32_t price_of(const struct choice *c, uint32_t i)
{
	const struct cfg_insn *at = &c->cfg->insns.data[i];
	const struct result *result = result_of(c, i);
	uint8_t bp;

	if (at->is_pseudo || at->insn.no_probe || at->insn.kind == INSN_OPAQUE ||
	    at->insn.kind == INSN_SYSCALL || !is_settled(c, at, result) ||
	    !find_bp(c, at, &bp) || choice_is_taken(c->returns, at->address))
		return CUT_NEVER;
	if (at->insn.kind == INSN_CALL)
		return c->returns->emulated & EMULATED_CALL ? PRICE_CALL : CUT_NEVER;
	if (choice_emulated(c, at))
		return PRICE_EMULATED + price_of_size(c, i);
	return is_failure(c, result) ? PRICE_STEPPED_FAILED : PRICE_STEPPED;
}

/* The price of a conditional jump as the site for its branch to `to` only. */
static int32_t price_of_way(const struct choice *c, uint32_t i, uint32_t to)
{
	const struct cfg_insn *at = &c->cfg->insns.data[i];
	uint8_t bp;

	if (at->insn.kind != INSN_JCC || !choice_emulated(c, at) ||
	    !is_settled(c, at, result_of(c, to)) || !find_bp(c, at, &bp))
		return CUT_NEVER;
	/* If the other branch is a site as well, this one is free. */
	if (is_failure(c, result_of(c, to)) &&
	    !is_settled(c, at, result_of(c, at->next[at->next[0] == to])))
		return PRICE_ONE_WAY_FAILED;
	return PRICE_ONE_WAY + price_of_size(c, i);
}

/* --- all of them -------------------------------------------------------------------- */

/* Does a path end here with a result that must have been seen? */
static bool is_end(const struct cfg_insn *at)
{
	return at->exit == CFG_RETURNS ||
	       (at->exit == CFG_LEAVES && at->callee.kind == CALLEE_FIRST);
}

/* Make the graph to cut. `once`: no path may pass two sites. */
static bool make_graph(struct choice *c, bool once)
{
	uint32_t count = (uint32_t)c->cfg->insns.len, source = 2 * count;
	int32_t back = once ? CUT_NEVER : 0;
	bool ok = cut_init(&c->cut, source + 2) &&
		  cut_add(&c->cut, source, BEFORE(c->cfg->entry), CUT_NEVER, back);

	for (uint32_t i = 0; i < count && ok; i++) {
		const struct cfg_insn *at = &c->cfg->insns.data[i];

		if (!at->returns)
			continue;
		ok = cut_add(&c->cut, BEFORE(i), BEHIND(i), price_of(c, i), back);
		if (ok && is_end(at))
			ok = cut_add(&c->cut, BEHIND(i), source + 1, CUT_NEVER, 0);
		for (uint8_t n = 0; n < at->next_count && ok; n++)
			ok = cut_add(&c->cut, BEHIND(i), BEFORE(at->next[n]),
				     price_of_way(c, i, at->next[n]), back);
	}
	return ok;
}

static const char *add_site(const struct choice *c, struct return_unit *unit, uint32_t i)
{
	const struct cfg_insn *at = &c->cfg->insns.data[i];
	const char *reason = choice_emulated(c, at);
	struct return_site site = {
		.address = at->address,
		.sp_delta = at->sp_delta,
		.is_emulated = reason,
		.reason = reason ? reason : "single-stepped",
	};
	bool is_before = cut_is_before(&c->cut, BEFORE(i));
	bool is_behind = cut_is_before(&c->cut, BEHIND(i));

	if (is_before && !is_behind) {
		describe(c, at, result_of(c, i), &site.value[0]);
	} else if (is_behind && at->insn.kind == INSN_JCC) {
		/* next[0] is the taken branch, which is value[1]. */
		for (uint8_t n = 0; n < at->next_count; n++)
			if (at->returns && !cut_is_before(&c->cut, BEFORE(at->next[n])) &&
			    is_settled(c, at, result_of(c, at->next[n])))
				describe(c, at, result_of(c, at->next[n]),
					 &site.value[n == 0]);
		site.has_condition = site.value[0].kind || site.value[1].kind;
		site.condition = at->insn.condition;
		if (!site.has_condition)
			return NULL;
	} else {
		return NULL;
	}
	find_bp(c, at, &site.bp_words);
	if (unit->sites.len == RETURN_SITES_MAX)
		return "it has too many sites";
	return vec_push(&unit->sites, site) ? NULL : NO_MEMORY;
}

static const char *choose(struct choice *c, struct return_unit *unit)
{
	uint32_t count = (uint32_t)c->cfg->insns.len;
	const char *why = NULL;
	int32_t price = -1;

	for (int once = 1; once >= 0 && price < 0; once--) {
		cut_deinit(&c->cut);
		if (!make_graph(c, once))
			return NO_MEMORY;
		price = choice_cut(c, 2 * count, 2 * count + 1);
	}
	if (price < 0)
		return "a way to its end has no site";
	for (uint32_t i = 0; i < count && !why; i++)
		if (c->cfg->insns.data[i].returns)
			why = add_site(c, unit, i);
	return why;
}

/* --- units -------------------------------------------------------------------------- */

static void unit_destroy(struct return_unit *unit)
{
	vec_deinit(&unit->sites);
	vec_deinit(&unit->entries);
	vec_deinit(&unit->exits);
	vec_deinit(&unit->next);
	free(unit);
}

static bool is_covered(const struct returns *r, uint64_t address)
{
	return r->is_covered && r->is_covered(r->arg, address);
}

/* The index of the unit. A new one is added, not yet read. -1: memory is out. */
static int64_t unit_at(struct returns *r, const struct returns_request *request)
{
	struct return_unit *unit;

	work_spend(r->source->work, r->units.len / 16 + 1);
	for (size_t i = 0; i < r->units.len; i++) {
		const struct returns_request *other = &r->units.data[i]->request;

		if (other->address == request->address &&
		    other->width == request->width && other->asked == request->asked)
			return (int64_t)i;
	}
	unit = calloc(1, sizeof(*unit));
	if (!unit)
		return -1;
	unit->request = *request;
	if (!vec_push(&r->units, unit)) {
		free(unit);
		return -1;
	}
	return (int64_t)r->units.len - 1;
}

static const char *add_next(struct returns *r, struct return_unit *unit,
			    const struct cfg_insn *at)
{
	int64_t next;

	if (at->callee.kind == CALLEE_ENDS || is_end(at))
		return NULL;
	/* A jump through a hook pointer, which was loaded and tested before, and is
	 * rarely set. */
	if (at->callee.kind == CALLEE_OTHER && r->has_hooks &&
	    at->insn.kind == INSN_JMP_INDIRECT && at->insn.base == INSN_BASE_NONE)
		return NULL;
	if (at->callee.kind != CALLEE_HERE)
		return "it ends by a jump to an unknown function";
	if (is_covered(r, at->callee.address)) {
		unit->is_left = true;
		return NULL;
	}
	if (work_is_over(r->source->work))
		return CFG_TOO_MUCH;
	next = unit_at(r, &(struct returns_request){.address = at->callee.address,
						    .width = unit->request.width,
						    .asked = RETURN_NO_SIZE});
	if (next < 0 || !vec_push(&unit->next, (uint32_t)next))
		return NO_MEMORY;
	return NULL;
}

/* Check that each tail call meets the assumptions about a function's entry: rbp is the
 * caller's and, with RESULT_OUT, so is the first argument. */
static const char *check_jumps(const struct choice *c)
{
	vec_foreach (at, &c->cfg->insns) {
		const place_set *held = c->values->held[at - c->cfg->insns.data];

		if (at->exit != CFG_LEAVES || at->callee.kind != CALLEE_HERE ||
		    is_covered(c->returns, at->callee.address))
			continue;
		if (!(held[VALUE_BP] & 1u << INSN_BP))
			return "it passes on another rbp";
		if (c->request->width == RESULT_OUT &&
		    !(held[VALUE_ARG0] & 1u << INSN_ARGUMENT_0))
			return "it passes on another first argument";
	}
	return NULL;
}

/* Check all code of the function with returns.check(). */
static const char *check_code(const struct returns *r, const struct cfg *cfg)
{
	const char *why = NULL;

	/* Pseudo instructions come last. */
	for (size_t i = 0; i < cfg->insns.len && !cfg->insns.data[i].is_pseudo && !why;) {
		uint64_t start = cfg->insns.data[i].address, end = start;

		for (; i < cfg->insns.len && cfg->insns.data[i].address == end &&
		       !cfg->insns.data[i].is_pseudo;
		     i++)
			end += cfg->insns.data[i].insn.length;
		if (!work_spend(r->source->work, WORK_FUNCTION))
			return CFG_TOO_MUCH;
		why = r->check ? r->check(r->arg, start, (size_t)(end - start)) : NULL;
	}
	return why;
}

/* Can the call reach a probed function? A call through an unknown pointer can. */
static bool calls_probed(const struct returns *r, const struct cfg_insn *at)
{
	switch (at->insn.kind) {
	case INSN_CALL:
	case INSN_CALL_INDIRECT:
		return at->callee.kind == CALLEE_OTHER ||
		       (at->callee.kind == CALLEE_HERE &&
			(!r->calls || r->calls(r->arg, at->callee.address)));
	default:
		return false;
	}
}

/* Mark the instructions that some path reaches through such a call. */
static bool find_calls(struct choice *c)
{
	bool changed = true;

	c->is_called = calloc(c->cfg->insns.len + 1, sizeof(*c->is_called));
	while (c->is_called && changed && work_spend(c->cfg->work, c->cfg->insns.len)) {
		changed = false;
		for (size_t i = 0; i < c->cfg->insns.len; i++) {
			const struct cfg_insn *at = &c->cfg->insns.data[i];
			bool called = c->is_called[i] ||
				      (calls_probed(c->returns, at) &&
				       work_spend(c->cfg->work, WORK_VALUES));

			for (uint8_t n = 0; n < at->next_count && called; n++) {
				changed |= !c->is_called[at->next[n]];
				c->is_called[at->next[n]] = true;
			}
		}
	}
	return c->is_called;
}

static bool add_exit(struct return_unit *unit, const struct cfg_insn *at)
{
	/* A conditional jump out of the function: no probe can see only this branch. */
	unit->has_more_exits |= at->is_pseudo || at->insn.no_probe;
	return at->is_pseudo || at->insn.no_probe ||
	       vec_push(&unit->exits, ((struct return_exit){
					      .address = at->address,
					      .is_jump = at->exit == CFG_LEAVES,
				      }));
}

static const char *try_unit(struct returns *r, struct return_unit *unit)
{
	_cleanup_(cfg_deinit) struct cfg cfg = {0};
	_cleanup_(values_deinit) struct values values = {0};
	struct choice c = {
		.returns = r, .cfg = &cfg, .values = &values, .request = &unit->request};
	const char *why =
		cfg_read(r->source, unit->request.address, unit->request.size, &cfg);

	vec_foreach (at, &cfg.insns) {
		if (!why && at->exit == CFG_LEAVES)
			why = add_next(r, unit, at);
		if (!why && is_end(at) && !add_exit(unit, at))
			why = NO_MEMORY;
	}
	if (!why)
		why = check_code(r, &cfg);
	if (why)
		return why;
	if (!values_find(&cfg, unit->request.width, r->calls, r->arg, &values))
		return NO_MEMORY;
	if (unit->request.asked != RETURN_NO_SIZE && !find_calls(&c))
		return NO_MEMORY;
	why = check_jumps(&c);
	if (!why)
		why = choose(&c, unit);
	if (!why && c.is_called)
		why = choice_fuse(&c, unit);
	/* What was found since the work was over may be wrong. */
	if (work_is_over(cfg.work))
		why = CFG_TOO_MUCH;
	cut_deinit(&c.cut);
	free(c.is_called);
	return why;
}

static void read_unit(struct returns *r, struct return_unit *unit)
{
	if (!unit->is_read)
		unit->why = try_unit(r, unit);
	unit->is_read = true;
}

/* Add the unit's exits, each once: functions may have code in common. */
static const char *add_exits(const struct returns *r, const struct return_unit *unit,
			     bool is_first, struct return_sites *ret)
{
	const struct returns_request *of = &unit->request;

	ret->has_more_exits |= unit->has_more_exits;
	vec_foreach (at, &unit->exits) {
		struct return_exit exit = *at;
		bool is_known = false;

		if (!work_spend(r->source->work, ret->exits.len / 16 + 1))
			return CFG_TOO_MUCH;
		exit.is_own = is_first && exit.address - of->address < of->size;
		vec_foreach (site, &unit->sites)
			exit.is_site |= site->address == exit.address;
		vec_foreach (other, &ret->exits)
			is_known |= other->address == exit.address;
		if (!is_known && !vec_push(&ret->exits, exit))
			return NO_MEMORY;
	}
	return NULL;
}

/* Collect the sites of the unit and of all units that it leads to, reading new ones.
 */
static const char *collect(struct returns *r, uint32_t first, struct return_sites *ret)
{
	VEC(uint32_t) todo = {0};
	bool is_left = false;
	const char *why = vec_push(&todo, first) ? NULL : NO_MEMORY;

	vec_foreach (unit, &r->units)
		(*unit)->is_marked = false;
	for (size_t done = 0; done < todo.len && !why; done++) {
		uint32_t index = todo.data[done];
		struct return_unit *unit = r->units.data[index];

		if (unit->is_marked)
			continue;
		unit->is_marked = true;
		read_unit(r, unit);
		why = unit->why;
		is_left |= unit->is_left;
		if (done == UNITS_MAX)
			why = "it leads to too many functions";
		vec_foreach (site, &unit->sites) {
			struct return_site copy = *site;

			copy.is_shared = index != first;
			if (!why && !vec_push(&ret->list, copy))
				why = NO_MEMORY;
		}
		if (!why)
			why = add_exits(r, unit, index == first, ret);
		vec_foreach (next, &unit->next)
			if (!why && !vec_push(&todo, *next))
				why = NO_MEMORY;
	}
	vec_deinit(&todo);
	if (!why)
		why = return_sites_merge(ret);
	if (!why && ret->list.len > RETURN_SITES_MAX)
		why = "it has too many sites";
	if (!why && !ret->list.len && !is_left)
		why = "it never returns";
	ret->is_complete = !why;
	return why;
}

const char *returns_find(struct returns *returns, const struct returns_request *request,
			 struct return_sites *ret)
{
	int64_t index = unit_at(returns, request);
	struct return_unit *unit;
	const char *why;

	*ret = (struct return_sites){0};
	if (index < 0)
		return NO_MEMORY;
	why = collect(returns, (uint32_t)index, ret);
	unit = returns->units.data[index];
	ret->is_fused = !why && unit->is_fused;
	vec_foreach (entry, &unit->entries)
		if (!why && !vec_push(&ret->entries, *entry))
			why = NO_MEMORY;
	return why;
}

void returns_deinit(struct returns *returns)
{
	vec_foreach (unit, &returns->units)
		unit_destroy(*unit);
	vec_deinit(&returns->units);
}
