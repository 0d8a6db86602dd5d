// SPDX-License-Identifier: Apache-2.0
#include "plan/returns.h"

#include <stdlib.h>
#include <string.h>

#include "plan/cut.h"
#include "plan/place.h"
#include "util/cleanup.h"

#define NO_MEMORY "out of memory"

/*
 * What a site costs. On a way that fails one that is stepped matters little: few calls
 * fail. A conditional site is hit on its other way for nothing.
 */
#define PRICE_EMULATED       10
#define PRICE_ONE_WAY        11
#define PRICE_CALL           30
#define PRICE_STEPPED_FAILED 60
#define PRICE_STEPPED        1000
#define PRICE_LIMIT          20000

/* How deep functions that jump to others are followed. */
#define UNITS_MAX 64

/* A function, or one that is jumped to. */
struct return_unit {
	uint64_t address;
	enum result_width width;
	const char *why; /* NULL: its sites are known */
	VEC(struct return_site) sites;
	VEC(uint32_t) next; /* units that it leaves into */
	bool is_read, is_marked;
};

/* What a unit's sites are chosen from. */
struct choice {
	const struct returns *returns;
	const struct cfg *cfg;
	const struct values *values;
	enum result_width width;
	struct cut cut;
};

/* --- one site ----------------------------------------------------------------------- */

static unsigned lowest(place_set in)
{
	unsigned n = 0;

	while (!(in >> n & 1))
		n++;
	return n;
}

/* Say where the result is; false: in no place that a probe can name. */
static bool describe(const struct choice *c, const struct cfg_insn *at,
		     const struct result *result, struct return_value *ret)
{
	place_set registers = result->in & PLACES_REGISTERS;
	place_set out = result->out & PLACES_REGISTERS;
	unsigned slot;

	if (result->is_known) {
		if (c->width == RESULT_OUT && !result->value) {
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
	if (c->width == RESULT_OUT && !(result->out & PLACES_STORED))
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

/* Where the caller's rbp is; false: nobody knows. */
static bool find_bp(const struct choice *c, const struct cfg_insn *at, uint8_t *ret)
{
	place_set held = c->values->held[at - c->cfg->insns.data][VALUE_BP];

	*ret = 0;
	if (held & 1u << INSN_RBP)
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

static bool is_taken(const struct returns *r, uint64_t address)
{
	return r->is_taken && r->is_taken(r->arg, address);
}

/* Why the instruction is a cheap site, or NULL. */
static const char *emulated(const struct choice *c, const struct cfg_insn *at)
{
	uint8_t code[INSN_LENGTH_MAX + 1];
	/* One byte before, so that it is not at the beginning of a function. */
	size_t size = c->returns->source->read(c->returns->source->arg, at->address - 1,
					       code, sizeof(code));

	if (at->is_pseudo || at->insn.no_probe || size <= at->insn.length ||
	    is_taken(c->returns, at->address))
		return NULL;
	return place_emulated(code, 1, &at->insn, c->returns->emulated);
}

static const struct result *result_of(const struct choice *c, uint32_t i)
{
	return &c->values->results[i];
}

static bool is_settled(const struct choice *c, const struct cfg_insn *at,
		       const struct result *result)
{
	struct return_value value;

	return !result->is_any && result_is_settled(result, c->width) &&
	       describe(c, at, result, &value);
}

/* What a site before the instruction costs. */
static int32_t price_of(const struct choice *c, uint32_t i)
{
	const struct cfg_insn *at = &c->cfg->insns.data[i];
	const struct result *result = result_of(c, i);
	bool fails;
	uint8_t bp;

	if (at->is_pseudo || at->insn.no_probe || at->insn.kind == INSN_OPAQUE ||
	    at->insn.kind == INSN_SYSCALL || !is_settled(c, at, result) ||
	    !find_bp(c, at, &bp) || is_taken(c->returns, at->address))
		return CUT_NEVER;
	if (at->insn.kind == INSN_CALL)
		return c->returns->emulated & PLACE_CALL ? PRICE_CALL : CUT_NEVER;
	if (emulated(c, at))
		return PRICE_EMULATED;
	fails = result->is_known && c->width != RESULT_VOID &&
		(c->width != RESULT_OUT || result->value);
	return fails ? PRICE_STEPPED_FAILED : PRICE_STEPPED;
}

/* What it costs to have a conditional jump as the site of this way from there. */
static int32_t price_of_way(const struct choice *c, uint32_t i, uint32_t to)
{
	const struct cfg_insn *at = &c->cfg->insns.data[i];
	uint8_t bp;

	if (at->insn.kind != INSN_JCC || !emulated(c, at) ||
	    !is_settled(c, at, result_of(c, to)) || !find_bp(c, at, &bp))
		return CUT_NEVER;
	return PRICE_ONE_WAY;
}

/* --- all of them -------------------------------------------------------------------- */

#define BEFORE(i) (2 * (i))
#define BEHIND(i) (2 * (i) + 1)

/* Does a way end here with a result that must have been seen? */
static bool is_end(const struct cfg_insn *at)
{
	return at->exit == CFG_RETURNS ||
	       (at->exit == CFG_LEAVES && at->callee.kind == CALLEE_FIRST);
}

/* `once`: no way may come by two sites. */
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
	const char *reason = emulated(c, at);
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
		/* The way that is taken is the first. */
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
		price = cut_solve(&c->cut, 2 * count, 2 * count + 1, PRICE_LIMIT);
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
	vec_deinit(&unit->next);
	free(unit);
}

static bool is_covered(const struct returns *r, uint64_t address)
{
	return r->is_covered && r->is_covered(r->arg, address);
}

/* The index of the unit; one that is new is not read yet. -1: no memory. */
static int64_t unit_at(struct returns *r, uint64_t address, enum result_width width)
{
	struct return_unit *unit;

	for (size_t i = 0; i < r->units.len; i++)
		if (r->units.data[i]->address == address &&
		    r->units.data[i]->width == width)
			return (int64_t)i;
	unit = calloc(1, sizeof(*unit));
	if (!unit)
		return -1;
	unit->address = address;
	unit->width = width;
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
	/* By a pointer that is hardly ever set. */
	if (at->callee.kind == CALLEE_OTHER && r->has_hooks &&
	    at->insn.kind == INSN_JMP_INDIRECT)
		return NULL;
	if (at->callee.kind != CALLEE_HERE)
		return "it ends by a jump to an unknown function";
	if (is_covered(r, at->callee.address))
		return NULL;
	next = unit_at(r, at->callee.address, unit->width);
	if (next < 0 || !vec_push(&unit->next, (uint32_t)next))
		return NO_MEMORY;
	return NULL;
}

/* What is taken for granted at the entry of a function has to hold of each jump to it:
 * its rbp is the caller's, and with RESULT_OUT its first argument is, too. */
static const char *check_jumps(const struct choice *c)
{
	vec_foreach (at, &c->cfg->insns) {
		const place_set *held = c->values->held[at - c->cfg->insns.data];

		if (at->exit != CFG_LEAVES || at->callee.kind != CALLEE_HERE ||
		    is_covered(c->returns, at->callee.address))
			continue;
		if (!(held[VALUE_BP] & 1u << INSN_RBP))
			return "it passes on another rbp";
		if (c->width == RESULT_OUT && !(held[VALUE_ARG0] & 1u << INSN_RDI))
			return "it passes on another first argument";
	}
	return NULL;
}

/* Is all of the code what it was taken for? */
static const char *check_code(const struct returns *r, const struct cfg *cfg)
{
	const char *why = NULL;

	/* Pseudo ones come last. */
	for (size_t i = 0; i < cfg->insns.len && !cfg->insns.data[i].is_pseudo && !why;) {
		uint64_t start = cfg->insns.data[i].address, end = start;

		for (; i < cfg->insns.len && cfg->insns.data[i].address == end &&
		       !cfg->insns.data[i].is_pseudo;
		     i++)
			end += cfg->insns.data[i].insn.length;
		why = r->check ? r->check(r->arg, start, (size_t)(end - start)) : NULL;
	}
	return why;
}

static const char *try_unit(struct returns *r, struct return_unit *unit, uint64_t size)
{
	_cleanup_(cfg_deinit) struct cfg cfg = {0};
	_cleanup_(values_deinit) struct values values = {0};
	struct choice c = {
		.returns = r, .cfg = &cfg, .values = &values, .width = unit->width};
	const char *why = cfg_read(r->source, unit->address, size, &cfg);

	vec_foreach (at, &cfg.insns)
		if (!why && at->exit == CFG_LEAVES)
			why = add_next(r, unit, at);
	if (!why)
		why = check_code(r, &cfg);
	if (why)
		return why;
	if (!values_find(&cfg, unit->width, &values))
		return NO_MEMORY;
	why = check_jumps(&c);
	if (!why)
		why = choose(&c, unit);
	cut_deinit(&c.cut);
	return why;
}

static void read_unit(struct returns *r, struct return_unit *unit, uint64_t size)
{
	if (!unit->is_read)
		unit->why = try_unit(r, unit, size);
	unit->is_read = true;
}

static int by_address(const void *a, const void *b)
{
	const struct return_site *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

static bool is_same(const struct return_site *a, const struct return_site *b)
{
	bool same = a->sp_delta == b->sp_delta && a->bp_words == b->bp_words &&
		    a->has_condition == b->has_condition && a->condition == b->condition;

	for (size_t n = 0; n < 2; n++)
		same = same && a->value[n].kind == b->value[n].kind &&
		       a->value[n].reg == b->value[n].reg &&
		       a->value[n].offset == b->value[n].offset;
	return same;
}

/* Sort them. Functions may have code in common, where both have the same sites. */
static const char *merge(struct return_sites *sites)
{
	size_t kept = 0;

	if (sites->list.len)
		qsort(sites->list.data, sites->list.len, sizeof(*sites->list.data),
		      by_address);
	vec_foreach (site, &sites->list) {
		struct return_site *last = kept ? &sites->list.data[kept - 1] : NULL;

		if (!last || last->address != site->address) {
			sites->list.data[kept++] = *site;
			continue;
		}
		if (!is_same(last, site))
			return "a site is of two functions";
		last->is_shared = true;
	}
	sites->list.len = kept;
	return NULL;
}

/* Those of the unit and of all that it leads to. Units that are not known yet are read.
 */
static const char *collect(struct returns *r, uint32_t first, struct return_sites *ret)
{
	VEC(uint32_t) todo = {0};
	const char *why = vec_push(&todo, first) ? NULL : NO_MEMORY;

	vec_foreach (unit, &r->units)
		(*unit)->is_marked = false;
	for (size_t done = 0; done < todo.len && !why; done++) {
		uint32_t index = todo.data[done];
		struct return_unit *unit = r->units.data[index];

		if (unit->is_marked)
			continue;
		unit->is_marked = true;
		read_unit(r, unit, 0);
		why = unit->why;
		if (done == UNITS_MAX)
			why = "it leads to too many functions";
		vec_foreach (site, &unit->sites) {
			struct return_site copy = *site;

			copy.is_shared = index != first;
			if (!why && !vec_push(&ret->list, copy))
				why = NO_MEMORY;
		}
		vec_foreach (next, &unit->next)
			if (!why && !vec_push(&todo, *next))
				why = NO_MEMORY;
	}
	vec_deinit(&todo);
	if (!why)
		why = merge(ret);
	if (!why && ret->list.len > RETURN_SITES_MAX)
		why = "it has too many sites";
	if (!why && !ret->list.len)
		why = "it never returns";
	return why;
}

const char *returns_find(struct returns *returns, uint64_t address, uint64_t size,
			 enum result_width width, struct return_sites *ret)
{
	int64_t unit = unit_at(returns, address, width);

	*ret = (struct return_sites){0};
	if (unit < 0)
		return NO_MEMORY;
	read_unit(returns, returns->units.data[unit], size);
	return collect(returns, (uint32_t)unit, ret);
}

void returns_deinit(struct returns *returns)
{
	vec_foreach (unit, &returns->units)
		unit_destroy(*unit);
	vec_deinit(&returns->units);
}

void return_sites_deinit(struct return_sites *sites)
{
	vec_deinit(&sites->list);
}
