// SPDX-License-Identifier: Apache-2.0
/*
 * Sites that see a whole call: the result is known there, and the requested size is
 * still in a register. Calls on other paths, mostly slow ones, get an entry site on
 * their path.
 */
#include <stdlib.h>
#include <string.h>

#include "plan/returns_choice.h"
#include "util/cleanup.h"

/* Calls that pass a whole site should not pass an entry site as well. This is added to
 * an entry site's price for each whole site that it leads to. */
#define PRICE_ON_THE_WAY 20

bool choice_finds_size(const struct choice *c, uint32_t i, uint8_t *ret)
{
	place_set held = c->values->held[i][c->request->asked];

	for (uint8_t n = 0; n < INSN_REGISTERS; n++) {
		*ret = n;
		if (held >> n & 1 && !c->is_called[i])
			return true;
	}
	return false;
}

/* The index of the instruction at `address`, which must exist. */
static uint32_t index_of(const struct cfg *cfg, uint64_t address)
{
	uint32_t i = 0;

	while (cfg->insns.data[i].address != address || cfg->insns.data[i].is_pseudo)
		i++;
	return i;
}

/* Is the result known on one branch only, or is the site not a conditional one? */
static bool has_one_value(const struct return_site *site)
{
	return !site->has_condition || !site->value[0].kind || !site->value[1].kind;
}

/* Mark each instruction that leads to a marked one. */
static void spread_back(const struct cfg *cfg, bool marked[])
{
	bool changed = true;

	while (changed && work_spend(cfg->work, cfg->insns.len)) {
		changed = false;
		for (size_t i = cfg->insns.len; i-- > 0;) {
			const struct cfg_insn *at = &cfg->insns.data[i];

			for (uint8_t n = 0; n < at->next_count && !marked[i]; n++)
				changed |= marked[i] = marked[at->next[n]];
		}
	}
}

/* The price of an entry site at the instruction. */
static int32_t price_of_entry(const struct choice *c, uint32_t i,
			      const uint8_t to_whole[], const bool is_site[])
{
	const struct cfg_insn *at = &c->cfg->insns.data[i];
	uint8_t unused;

	if (is_site[i] || !choice_finds_size(c, i, &unused) || at->insn.no_probe ||
	    !choice_emulated(c, at))
		return CUT_NEVER;
	return PRICE_EMULATED + to_whole[i] * PRICE_ON_THE_WAY;
}

/* Must a call that goes from `from` to `to` have passed an entry site? */
static bool wants_entry(const struct choice *c, const struct return_unit *unit,
			uint32_t from, uint32_t to)
{
	const struct cfg_insn *at = &c->cfg->insns.data[from];

	vec_foreach (site, &unit->sites) {
		if (site->is_whole || site->address != at->address)
			continue;
		if (!site->has_condition)
			return true;
		if (site->value[at->next[0] == to].kind)
			return true;
	}
	return false;
}

/*
 * Make the graph to cut, with all edges reversed: of several cheapest cuts the search
 * finds the one nearest to its source, and the cut nearest to the sites is passed by
 * the fewest calls. `once`: no path may go back across the cut.
 */
static bool make_graph(struct choice *c, const struct return_unit *unit,
		       const uint8_t to_whole[], const bool is_site[], bool once)
{
	uint32_t count = (uint32_t)c->cfg->insns.len, start = 2 * count, end = start + 1;
	int32_t back = once ? CUT_NEVER : 0;
	bool ok = cut_init(&c->cut, end + 1) &&
		  cut_add(&c->cut, BEFORE(c->cfg->entry), start, CUT_NEVER, back);

	for (uint32_t i = 0; i < count && ok; i++) {
		const struct cfg_insn *at = &c->cfg->insns.data[i];

		ok = cut_add(&c->cut, BEHIND(i), BEFORE(i),
			     price_of_entry(c, i, to_whole, is_site), back);
		if (ok && at->exit == CFG_LEAVES && at->callee.kind != CALLEE_ENDS &&
		    at->callee.kind != CALLEE_FIRST)
			ok = cut_add(&c->cut, end, BEHIND(i), CUT_NEVER, 0);
		if (ok && at->next_count == 0 && wants_entry(c, unit, i, UINT32_MAX))
			ok = cut_add(&c->cut, end, BEHIND(i), CUT_NEVER, 0);
		for (uint8_t n = 0; n < at->next_count && ok; n++) {
			ok = cut_add(&c->cut, BEFORE(at->next[n]), BEHIND(i), CUT_NEVER,
				     back);
			if (ok && wants_entry(c, unit, i, at->next[n]))
				ok = cut_add(&c->cut, end, BEHIND(i), CUT_NEVER, 0);
		}
	}
	return ok;
}

static bool is_cut(const struct choice *c, uint32_t i)
{
	return cut_is_before(&c->cut, BEHIND(i)) && !cut_is_before(&c->cut, BEFORE(i));
}

/* Can a call pass two entry sites? */
static bool comes_twice(const struct choice *c, bool leads_to_entry[])
{
	uint32_t count = (uint32_t)c->cfg->insns.len;

	for (uint32_t i = 0; i < count; i++)
		leads_to_entry[i] = is_cut(c, i);
	spread_back(c->cfg, leads_to_entry);
	for (uint32_t i = 0; i < count; i++) {
		const struct cfg_insn *at = &c->cfg->insns.data[i];

		for (uint8_t n = 0; n < at->next_count && is_cut(c, i); n++)
			if (leads_to_entry[at->next[n]])
				return true;
	}
	return false;
}

/* Find the cheapest set of entry sites such that no call passes two of them. If the
 * cheapest cut allows that, forbid all paths back across the cut, which costs more. */
static const char *solve_entries(struct choice *c, const struct return_unit *unit,
				 const uint8_t to_whole[], const bool is_site[],
				 bool *found)
{
	uint32_t count = (uint32_t)c->cfg->insns.len;
	_cleanup_(freep) bool *marked = malloc(count * sizeof(*marked) + 1);

	for (int once = 0; once < 2; once++) {
		cut_deinit(&c->cut);
		if (!marked || !make_graph(c, unit, to_whole, is_site, once))
			return RETURN_NO_MEMORY;
		*found = choice_cut(c, 2 * count + 1, 2 * count) >= 0;
		if (*found && !comes_twice(c, marked))
			break;
	}
	return NULL;
}

/* Find the entry sites for calls of other sites. *found is false if they cannot be
 * placed. */
static const char *find_entries(struct choice *c, struct return_unit *unit,
				const uint8_t to_whole[], const bool is_site[],
				bool *found)
{
	const char *why = solve_entries(c, unit, to_whole, is_site, found);

	if (why)
		return why;
	for (uint32_t i = 0; i < c->cfg->insns.len && *found; i++) {
		const struct cfg_insn *at = &c->cfg->insns.data[i];
		struct entry_site entry = {.address = at->address,
					   .sp_delta = at->sp_delta,
					   .reason = choice_emulated(c, at)};

		if (!is_cut(c, i))
			continue;
		choice_finds_size(c, i, &entry.size_reg);
		if (!vec_push(&unit->entries, entry))
			return RETURN_NO_MEMORY;
	}
	return NULL;
}

/* Count the whole sites that each instruction leads to. */
static bool count_wholes(const struct choice *c, const struct return_unit *unit,
			 uint8_t to_whole[])
{
	size_t count = c->cfg->insns.len;
	bool *marked = malloc(count * sizeof(*marked) + 1);

	vec_foreach (site, &unit->sites) {
		if (!marked || !site->is_whole)
			continue;
		memset(marked, 0, count * sizeof(*marked));
		marked[index_of(c->cfg, site->address)] = true;
		spread_back(c->cfg, marked);
		for (size_t i = 0; i < count; i++)
			to_whole[i] += marked[i];
	}
	free(marked);
	return marked;
}

/* Mark the sites that see whole calls. True if there are any. */
static bool mark_wholes(const struct choice *c, struct return_unit *unit, bool is_site[])
{
	bool any = false;

	vec_foreach (site, &unit->sites) {
		uint32_t i = index_of(c->cfg, site->address);

		is_site[i] = true;
		site->is_whole = site->is_emulated && has_one_value(site) &&
				 choice_finds_size(c, i, &site->size_reg);
		any |= site->is_whole;
	}
	return any;
}

const char *choice_fuse(struct choice *c, struct return_unit *unit)
{
	uint8_t *to_whole = calloc(c->cfg->insns.len + 1, sizeof(*to_whole));
	bool *is_site = calloc(c->cfg->insns.len + 1, sizeof(*is_site));
	const char *why = to_whole && is_site ? NULL : RETURN_NO_MEMORY;
	bool found = false;

	if (!why && mark_wholes(c, unit, is_site)) {
		if (!count_wholes(c, unit, to_whole))
			why = RETURN_NO_MEMORY;
		else
			why = find_entries(c, unit, to_whole, is_site, &found);
	}
	unit->is_fused = found;
	if (!found) {
		unit->entries.len = 0;
		vec_foreach (site, &unit->sites)
			site->is_whole = false;
	}
	free(to_whole);
	free(is_site);
	return why;
}
