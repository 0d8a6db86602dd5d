// SPDX-License-Identifier: Apache-2.0
#include "code/values.h"

#include <stdlib.h>
#include <string.h>

/* Bound on the bytes that an instruction writes to a known place. */
#define WRITE_MAX 64

/* Bound on sweeps over all instructions, after which nothing is assumed known.
 * Compilers' code needs up to ten. */
#define SWEEPS_MAX  100

#define REGISTER(n) ((place_set)1 << (n))
#define SLOT(k)     ((place_set)1 << (PLACES_SLOT_SHIFT + (k)))

/* The effect of an instruction on places. */
struct effect {
	place_set changed; /* places that lose their value */
	/* Source and destination of a move; `from` is 0 if the source is not tracked. */
	place_set from, to;
	bool has_value;
	int64_t value;
};

struct finding {
	const struct cfg *cfg;
	struct values *values;
	struct effect *effects; /* indexed by instruction */
	bool *has_news; /* indexed by instruction: the values there have changed */
	enum result_width width;
	values_calls_fn *calls;
	void *arg;
	/* Frame words at most this far below the return address may be changed by other
	 * code, since their address was taken. INT32_MIN: none. */
	int32_t escaped;
	place_set
		/* pushed words: saved registers, which no other code changes */
		saved;
};

/* --- slots -------------------------------------------------------------------------- */

/* Get the distance of the memory operand below the return address. False: not in the
 * frame, or unknown. */
static bool frame_place(const struct cfg_insn *at, int32_t *ret)
{
	const struct insn *insn = &at->insn;

	if (insn->is_indexed)
		return false;
	if (insn->base == INSN_SP)
		*ret = at->sp_delta - insn->displacement;
	else if (insn->base == INSN_BP && at->bp_delta != CFG_NO_BP)
		*ret = at->bp_delta - insn->displacement;
	else
		return false;
	return true;
}

static bool is_frame_base(const struct cfg_insn *at)
{
	return at->insn.base == INSN_SP ||
	       (at->insn.base == INSN_BP && at->bp_delta != CFG_NO_BP);
}

static int slot_at(const struct values *v, int32_t below)
{
	for (size_t k = 0; k < v->slot_count; k++)
		if (v->slots[k] == below)
			return (int)k;
	return -1;
}

/* Track the frame word, if there is room. */
static void add_slot(struct values *v, int32_t below)
{
	if (below <= 0 || below % 8 || slot_at(v, below) >= 0 ||
	    v->slot_count == VALUES_SLOTS_MAX)
		return;
	v->slots[v->slot_count++] = below;
}

/* Is the register preserved across calls? A push of another register usually only makes
 * room for a word that is written later. */
static bool is_preserved(uint8_t reg)
{
	return reg != INSN_SP && !(INSN_CALL_CHANGES >> reg & 1);
}

static void find_slots(struct finding *f)
{
	place_set written = 0;

	f->escaped = INT32_MIN;
	vec_foreach (at, &f->cfg->insns) {
		const struct insn *insn = &at->insn;
		int32_t below;

		if (insn->kind == INSN_PUSH) {
			int k;

			add_slot(f->values, at->sp_delta + 8);
			k = slot_at(f->values, at->sp_delta + 8);
			if (k >= 0 && is_preserved(insn->from))
				f->saved |= SLOT(k);
			else if (k >= 0)
				written |= SLOT(k);
		}
		if (insn->from == INSN_SP && at->sp_delta > f->escaped &&
		    (insn->kind == INSN_COPY || insn->kind == INSN_PUSH ||
		     insn->memory == INSN_MEMORY_STORE))
			f->escaped = at->sp_delta;
		if (insn->memory == INSN_MEMORY_NONE)
			continue;
		if (insn->memory == INSN_MEMORY_ADDRESS && is_frame_base(at) &&
		    insn->to != INSN_SP) {
			/* With an index the address may be anywhere in the frame. */
			if (!frame_place(at, &below))
				below = INT32_MAX;
			if (below > f->escaped)
				f->escaped = below;
		} else if (frame_place(at, &below)) {
			add_slot(f->values, below);
		}
	}
	f->saved &= ~written;
}

/* All words that an address at `below`, or nearer to the return address, may belong
 * to. */
static place_set slots_from(const struct values *v, int32_t below)
{
	place_set ret = 0;

	for (size_t k = 0; k < v->slot_count; k++)
		if (v->slots[k] <= below)
			ret |= SLOT(k);
	return ret;
}

/* Words below the stack pointer, which are lost. */
static place_set slots_below(const struct values *v, int32_t sp_delta)
{
	place_set ret = 0;

	for (size_t k = 0; k < v->slot_count; k++)
		if (v->slots[k] > sp_delta)
			ret |= SLOT(k);
	return ret;
}

static bool is_call(const struct cfg_insn *at)
{
	return at->insn.kind == INSN_CALL || at->insn.kind == INSN_CALL_INDIRECT;
}

/* Places that the instruction may change, except by a move that is tracked. */
static place_set changes(const struct finding *f, const struct cfg_insn *at)
{
	const struct insn *insn = &at->insn;
	const struct values *v = f->values;
	place_set ret = insn->writes;
	int32_t below;

	if (insn->kind == INSN_OPAQUE && !insn->sp_from_bp)
		ret |= PLACES_REGISTERS & ~REGISTER(INSN_SP);
	if (insn->is_leave)
		ret |= REGISTER(INSN_BP);
	if (insn->has_value)
		ret |= REGISTER(insn->to);
	if (is_call(at))
		ret |= INSN_CALL_CHANGES | slots_below(v, at->sp_delta) |
		       (slots_from(v, f->escaped) & ~f->saved);
	if (insn->kind == INSN_PUSH || insn->sp_change < 0)
		for (size_t k = 0; k < v->slot_count; k++)
			if (v->slots[k] > at->sp_delta &&
			    v->slots[k] <= at->sp_delta - insn->sp_change)
				ret |= SLOT(k);
	/* Words below the red zone are lost. */
	ret |= slots_below(v, at->sp_delta - insn->sp_change + INSN_RED_ZONE);
	if (insn->memory == INSN_MEMORY_NONE || insn->memory == INSN_MEMORY_LOAD ||
	    insn->memory == INSN_MEMORY_ADDRESS)
		return ret;
	if (frame_place(at, &below)) {
		bool is_word = insn->memory != INSN_MEMORY_OTHER;
		place_set hit = 0;

		for (size_t k = 0; k < v->slot_count; k++)
			if (v->slots[k] < below + 8 &&
			    v->slots[k] > below - (is_word ? 8 : WRITE_MAX))
				hit |= SLOT(k);
		ret |= is_word ? hit : hit & ~f->saved;
	} else if (is_frame_base(at)) {
		ret |= slots_from(v, INT32_MAX) & ~f->saved;
	} else if (insn->base != INSN_BASE_PC) {
		ret |= slots_from(v, f->escaped) & ~f->saved;
	}
	return ret;
}

/* --- effects ------------------------------------------------------------------------ */

/* The place of a frame word; 0: not tracked. */
static place_set slot_place(const struct values *v, int32_t below)
{
	int k = slot_at(v, below);

	return k < 0 ? 0 : SLOT(k);
}

static bool is_int(enum result_width width)
{
	return width == RESULT_INT || width == RESULT_OUT;
}

static struct effect find_effect(const struct finding *f, const struct cfg_insn *at)
{
	const struct insn *insn = &at->insn;
	const struct values *v = f->values;
	struct effect m = {0};
	int32_t below;

	if (insn->kind == INSN_PUSH) {
		m.from = REGISTER(insn->from);
		m.to = slot_place(v, at->sp_delta + 8);
	} else if (insn->is_leave) {
		m.from = at->bp_delta == CFG_NO_BP ? 0 : slot_place(v, at->bp_delta);
		m.to = REGISTER(INSN_BP);
	} else if (insn->kind == INSN_COPY || (insn->copies_half && is_int(f->width))) {
		m.from = REGISTER(insn->from);
		m.to = REGISTER(insn->to);
	} else if (insn->has_value) {
		m.to = REGISTER(insn->to);
		m.has_value = true;
		m.value = insn->value;
	} else if (insn->memory == INSN_MEMORY_LOAD) {
		m.to = REGISTER(insn->to);
		m.from = frame_place(at, &below) ? slot_place(v, below) : 0;
	} else if (insn->memory == INSN_MEMORY_STORE && frame_place(at, &below)) {
		m.from = REGISTER(insn->from);
		m.to = slot_place(v, below);
	} else if (insn->memory == INSN_MEMORY_SET && frame_place(at, &below)) {
		m.to = slot_place(v, below);
		m.has_value = true;
		m.value = insn->value;
	} else if (is_call(at) && at->callee.kind == CALLEE_FIRST) {
		m.from = REGISTER(INSN_ARGUMENT_0);
		m.to = REGISTER(INSN_RESULT);
	}
	m.changed = changes(f, at) | m.to;
	return m;
}

static const struct effect *effect_of(const struct finding *f, const struct cfg_insn *at)
{
	return &f->effects[at - f->cfg->insns.data];
}

/* --- results, from the end on ------------------------------------------------------- */

/* RESULT_VOID: the result counts as known after the last call. */
static struct result void_before(const struct cfg_insn *at, struct result r)
{
	if (is_call(at) && !r.is_any)
		r = (struct result){0};
	return r;
}

/* Does the instruction write to memory outside the frame? */
static bool stores_outside(const struct cfg_insn *at)
{
	const struct insn *insn = &at->insn;

	return !is_frame_base(at) &&
	       (insn->memory == INSN_MEMORY_STORE || insn->memory == INSN_MEMORY_SET ||
		insn->memory == INSN_MEMORY_OTHER);
}

/* The places of the block before the instruction. */
static place_set out_before(const struct finding *f, const struct cfg_insn *at,
			    place_set after)
{
	const struct insn *insn = &at->insn;
	place_set pointer = f->values->held[at - f->cfg->insns.data][VALUE_ARG0];
	const struct effect *m = effect_of(f, at);
	place_set out = after & ~m->changed;

	if (after & m->to)
		out |= m->from & PLACES_REGISTERS;
	if (is_call(at))
		return out & ~PLACES_STORED;
	if (!stores_outside(at))
		return out;
	if (after & PLACES_STORED && insn->memory == INSN_MEMORY_STORE &&
	    !insn->is_indexed && !insn->displacement && insn->base < INSN_REGISTERS &&
	    pointer & REGISTER(insn->base))
		return REGISTER(insn->from);
	/* The store may overwrite the caller's pointer to the block. */
	return out & ~PLACES_STORED;
}

static bool calls_probed(const struct finding *f, const struct cfg_insn *at)
{
	return at->callee.kind == CALLEE_OTHER ||
	       (at->callee.kind == CALLEE_HERE &&
		(!f->calls || f->calls(f->arg, at->callee.address)));
}

static struct result result_before(const struct finding *f, const struct cfg_insn *at,
				   struct result after)
{
	const struct effect *m = effect_of(f, at);
	struct result r = after;

	if (f->width == RESULT_VOID)
		return void_before(at, after);
	if (f->width == RESULT_MOVED && is_call(at) && !after.is_any &&
	    calls_probed(f, at))
		return (struct result){0};
	if (f->width == RESULT_OUT)
		r.out = out_before(f, at, after.out);
	r.in &= ~m->changed;
	if (after.in & m->to) {
		r.in |= m->from;
		if (m->has_value && !r.is_known) {
			r.is_known = true;
			r.value = is_int(f->width) ? (int32_t)m->value : m->value;
		}
	}
	return r;
}

static struct result meet(struct result a, struct result b)
{
	struct result r = {.in = a.in & b.in, .out = a.out & b.out};

	if (a.is_any)
		return b;
	if (b.is_any)
		return a;
	if (a.is_known && b.is_known && a.value == b.value) {
		r.is_known = true;
		r.value = a.value;
	}
	return r;
}

static struct result result_at_exit(const struct finding *f, const struct cfg_insn *at)
{
	switch (at->exit) {
	case CFG_RETURNS:
		if (f->width == RESULT_VOID)
			return (struct result){.is_known = true};
		return (struct result){.in = REGISTER(INSN_RESULT),
				       .out = f->width == RESULT_OUT ? PLACES_STORED : 0};
	case CFG_LEAVES:
		if (at->callee.kind == CALLEE_FIRST && !is_int(f->width) &&
		    f->width != RESULT_VOID)
			return (struct result){.in = REGISTER(INSN_ARGUMENT_0)};
		if (at->callee.kind == CALLEE_ENDS)
			return (struct result){.is_any = true};
		return (struct result){0};
	default:
		return (struct result){.is_any = true};
	}
}

static bool same(const struct result *a, const struct result *b)
{
	return a->in == b->in && a->is_known == b->is_known && a->is_any == b->is_any &&
	       a->out == b->out && (!a->is_known || a->value == b->value);
}

static bool spend_sweep(const struct cfg *cfg)
{
	return work_spend(cfg->work, WORK_VALUES * cfg->insns.len);
}

/* Start with everything possible, and shrink the sets until nothing changes. */
static void find_results(struct finding *f)
{
	const struct cfg *cfg = f->cfg;
	struct result *results = f->values->results;
	bool changed = true;

	for (size_t i = 0; i < cfg->insns.len; i++)
		results[i] = (struct result){.is_any = true};
	for (unsigned sweep = 0; changed; sweep++) {
		changed = false;
		if (sweep == SWEEPS_MAX || !spend_sweep(cfg)) {
			memset(results, 0, cfg->insns.len * sizeof(*results));
			return;
		}
		for (size_t i = cfg->insns.len; i-- > 0;) {
			const struct cfg_insn *at = &cfg->insns.data[i];
			struct result r = {.is_any = true};

			if (at->exit != CFG_GOES_ON) {
				r = result_at_exit(f, at);
			} else {
				for (uint8_t n = 0; n < at->next_count; n++)
					r = meet(r, results[at->next[n]]);
				if (!r.is_any)
					r = result_before(f, at, r);
			}
			changed |= !same(&r, &results[i]);
			results[i] = r;
		}
	}
}

/* --- values, from the beginning on -------------------------------------------------- */

/* Are the factors the first two arguments? */
static bool multiplies_arguments(const struct insn *insn,
				 const place_set before[VALUE_COUNT])
{
	place_set to = REGISTER(insn->to), from = REGISTER(insn->from);

	return insn->multiplies &&
	       ((before[VALUE_ARG0] & to && before[VALUE_ARG1] & from) ||
		(before[VALUE_ARG1] & to && before[VALUE_ARG0] & from));
}

static void values_after(const struct finding *f, const struct cfg_insn *at,
			 const place_set before[VALUE_COUNT], place_set ret[VALUE_COUNT])
{
	const struct effect *m = effect_of(f, at);

	for (size_t i = 0; i < VALUE_COUNT; i++) {
		ret[i] = before[i] & ~m->changed;
		/* A copied half is not the value. */
		if (before[i] & m->from && !at->insn.copies_half)
			ret[i] |= m->to;
	}
	if (multiplies_arguments(&at->insn, before))
		ret[VALUE_PRODUCT] |= REGISTER(at->insn.to);
}

/* Intersect the values held at the instruction with `values`. True if some were
 * removed. */
static bool hold(struct finding *f, uint32_t i, const place_set values[VALUE_COUNT])
{
	place_set *held = f->values->held[i], less = 0;

	for (size_t k = 0; k < VALUE_COUNT; k++) {
		less |= held[k] & ~values[k];
		held[k] &= values[k];
	}
	f->has_news[i] |= less != 0;
	return less;
}

static void find_held(struct finding *f)
{
	static const uint8_t at_entry[VALUE_COUNT] = {
		[VALUE_ARG0] = INSN_ARGUMENT_0, [VALUE_ARG1] = INSN_ARGUMENT_1,
		[VALUE_ARG2] = INSN_ARGUMENT_2, [VALUE_ARG3] = INSN_ARGUMENT_3,
		[VALUE_BP] = INSN_BP,
	};
	const struct cfg *cfg = f->cfg;
	place_set(*held)[VALUE_COUNT] = f->values->held;
	bool changed = true;

	memset(held, 0xff, cfg->insns.len * sizeof(*held));
	memset(f->has_news, true, cfg->insns.len * sizeof(*f->has_news));
	for (size_t i = 0; i < VALUE_COUNT; i++)
		held[cfg->entry][i] = REGISTER(at_entry[i]);
	held[cfg->entry][VALUE_PRODUCT] = 0;
	for (unsigned sweep = 0; changed; sweep++) {
		changed = false;
		if (sweep == SWEEPS_MAX || !spend_sweep(cfg)) {
			memset(held, 0, cfg->insns.len * sizeof(*held));
			return;
		}
		for (size_t i = 0; i < cfg->insns.len; i++) {
			const struct cfg_insn *at = &cfg->insns.data[i];
			place_set after[VALUE_COUNT];

			if (!f->has_news[i])
				continue;
			f->has_news[i] = false;
			values_after(f, at, held[i], after);
			for (uint8_t n = 0; n < at->next_count; n++)
				changed |= hold(f, at->next[n], after);
		}
	}
}

bool values_find(const struct cfg *cfg, enum result_width width, values_calls_fn *calls,
		 void *arg, struct values *ret)
{
	struct finding f = {
		.cfg = cfg, .values = ret, .width = width, .calls = calls, .arg = arg};

	*ret = (struct values){
		.results = calloc(cfg->insns.len + 1, sizeof(*ret->results)),
		.held = calloc(cfg->insns.len + 1, sizeof(*ret->held)),
	};
	f.effects = calloc(cfg->insns.len + 1, sizeof(*f.effects));
	f.has_news = calloc(cfg->insns.len + 1, sizeof(*f.has_news));

	bool ok = ret->results && ret->held && f.effects && f.has_news;

	if (ok) {
		spend_sweep(cfg);
		find_slots(&f);
		vec_foreach (at, &cfg->insns)
			f.effects[at - cfg->insns.data] = find_effect(&f, at);
		find_held(&f);
		find_results(&f);
	}
	free(f.effects);
	free(f.has_news);
	return ok;
}

void values_deinit(struct values *values)
{
	free(values->results);
	free(values->held);
}
