// SPDX-License-Identifier: Apache-2.0
#include "probes/stress/model.h"

#include <string.h>

#include "check.h"
#include "probes/stress/machine.h"

#define HEAP UINT64_C(0x7f0000001000)

/* Some addresses do not fit the slots of the table. */
uint64_t model_address(unsigned index)
{
	return HEAP + index * 24 + (index % 8 == 7 ? 4 : 0);
}

static struct model_block *block_at(struct model *m, uint64_t key)
{
	uint64_t index = (ABI_KEY_ADDRESS(key) - HEAP) / 24;

	SIM_REQUIRE(ABI_KEY_SLOT(key) < MODEL_SLOTS && index < MODEL_BLOCKS &&
		    model_address((unsigned)index) == ABI_KEY_ADDRESS(key));
	return &m->block[ABI_KEY_SLOT(key)][index];
}

struct model_block *model_block(struct model *m, uint64_t key)
{
	struct model_block *b = block_at(m, key);

	return b->key ? b : NULL;
}

static unsigned stack_index(const struct model *m, uint64_t family, uint64_t stack)
{
	unsigned i = (unsigned)((family ^ stack) * UINT64_C(0x9e3779b97f4a7c15) >> 40);

	for (;; i++) {
		const struct model_stack *s = &m->stacks[i % MODEL_STACKS];

		if (!s->family || (s->family == family && s->stack == stack))
			return i % MODEL_STACKS;
	}
}

static struct model_stack *stack_of(struct model *m, uint32_t slot, uint64_t stack)
{
	uint64_t family = m->family[slot];
	struct model_stack *s = &m->stacks[stack_index(m, family, stack)];

	SIM_REQUIRE(family);
	s->family = family;
	s->stack = stack;
	return s;
}

/* Estimates: a block stands for 2^32 / threshold blocks of its size. */
static void estimate(struct model *m, enum abi_counter blocks, enum abi_counter bytes,
		     uint64_t size)
{
	uint64_t weight = (UINT64_C(1) << 48) / sim_threshold(size);

	if (!host_programs.is_sampled_by_bytes)
		return;
	m->count[blocks] += weight;
	m->count[bytes] += size * weight >> 16;
}

static void stack_freed(struct model *m, const struct model_block *b)
{
	struct model_stack *s = stack_of(m, ABI_KEY_SLOT(b->key), b->stack);

	s->frees++;
	s->freed_bytes += b->size_bytes;
	s->live_bytes -= (int64_t)b->size_bytes;
}

/* Returns false if the tables were full. */
static bool put(struct model *m, const struct model_block *b)
{
	struct model_block *at = block_at(m, b->key);

	if (at->key) {
		m->count[ABI_BLOCKS_REPLACED]++;
		stack_freed(m, at);
		at->key = 0;
	}
	if (!machine_has_block(b->key)) {
		if (!m->can_be_full)
			CHECK_FAIL("block %#" PRIx64 " is not in the table", b->key);
		m->count[ABI_BLOCKS_FULL]++;
		return false;
	}
	*at = *b;
	return true;
}

static bool take(struct model *m, uint64_t key, struct model_block *ret)
{
	struct model_block *at = block_at(m, key);

	if (!at->key)
		return false;
	*ret = *at;
	at->key = 0;
	return true;
}

static void put_back(struct model *m, const struct model_block *b)
{
	if (!put(m, b))
		stack_freed(m, b);
}

static void count_freed(struct model *m, const struct model_block *b)
{
	m->count[ABI_FREES]++;
	m->count[ABI_FREED_BYTES] += b->size_bytes;
	estimate(m, ABI_ESTIMATED_FREES, ABI_ESTIMATED_FREED_BYTES, b->size_bytes);
	stack_freed(m, b);
}

static void record(struct model *m, const struct model_block *b)
{
	struct model_stack *s;

	m->count[ABI_ALLOCATIONS]++;
	m->count[ABI_ALLOCATED_BYTES] += b->size_bytes;
	estimate(m, ABI_ESTIMATED_ALLOCATIONS, ABI_ESTIMATED_ALLOCATED_BYTES,
		 b->size_bytes);
	if (!put(m, b))
		return;
	s = stack_of(m, ABI_KEY_SLOT(b->key), b->stack);
	s->allocations++;
	s->allocated_bytes += b->size_bytes;
	s->live_bytes += (int64_t)b->size_bytes;
}

static void abandon(struct model *m, struct model_call *c)
{
	m->count[ABI_CALLS_ABANDONED]++;
	c->is_open = false;
	if (c->old.key)
		put_back(m, &c->old);
}

/* Is the call of a thread of this slot within the open one? */
static bool is_nested(const struct model_call *open, uint32_t slot, bool from_allocator)
{
	return open->is_open && !open->is_left && open->slot == slot && from_allocator;
}

static void free_block(struct model *m, struct model_thread *t,
		       const struct model_call *c)
{
	struct model_block old;

	if (!c->old_key)
		return;
	if (take(m, c->old_key, &old))
		count_freed(m, &old);
	else if (t->freed_key == c->old_key && t->freed_sp >= c->sp &&
		 t->freed_by != c->fn)
		return;
	else
		m->count[ABI_FREES_UNKNOWN]++;
	t->freed_key = c->old_key;
	t->freed_sp = c->sp;
	t->freed_by = c->fn;
}

bool model_begin(struct model *m, struct model_thread *t, const struct model_call *next,
		 bool from_allocator)
{
	struct model_call *call = &t->call;

	if (is_nested(call, next->slot, from_allocator)) {
		m->count[ABI_NESTED_CALLS]++;
		return false;
	}
	if (call->is_open)
		abandon(m, call);
	*call = *next;
	call->is_open = true;
	call->old.key = 0;
	if (next->fn == FN_FREE || next->fn == FN_DELETE) {
		free_block(m, t, call);
		return true;
	}
	t->freed_key = 0;
	if (next->fn == FN_REALLOC || next->fn == FN_REALLOC_INSIDE) {
		if (next->old_key && !take(m, next->old_key, &call->old))
			call->old.key = 0;
	}
	return true;
}

void model_free(struct model *m, struct model_thread *t, const struct model_call *next,
		bool from_allocator)
{
	if (!is_nested(&t->call, next->slot, from_allocator))
		free_block(m, t, next);
}

static void realloc_ends(struct model *m, struct model_call *c, uint64_t result,
			 const struct model_block *fresh)
{
	if (!result && (c->size_bytes || !c->old_key)) {
		m->count[ABI_FAILURES]++;
		if (c->old.key)
			put_back(m, &c->old);
		return;
	}
	if (c->old.key)
		count_freed(m, &c->old);
	else if (c->old_key)
		m->count[ABI_FREES_UNKNOWN]++;
	if (result && !c->skips)
		record(m, fresh);
}

/* The block has its new size, unless the table is full. */
static void resize_ends(struct model *m, struct model_call *c, uint64_t result)
{
	struct model_block old, now;

	if (result < c->size_bytes || !c->old_key || !take(m, c->old_key, &old))
		return;
	now = old;
	now.size_bytes = c->size_bytes;

	struct model_stack *s = stack_of(m, c->slot, old.stack);

	if (now.size_bytes > old.size_bytes) {
		m->count[ABI_ALLOCATED_BYTES] += now.size_bytes - old.size_bytes;
		s->allocated_bytes += now.size_bytes - old.size_bytes;
	} else {
		m->count[ABI_FREED_BYTES] += old.size_bytes - now.size_bytes;
		s->freed_bytes += old.size_bytes - now.size_bytes;
	}
	s->live_bytes += (int64_t)(now.size_bytes - old.size_bytes);
	put_back(m, &now);
}

static void call_ends(struct model *m, struct model_call *c, uint64_t result,
		      uint64_t stack)
{
	const struct model_block fresh = {.key = ABI_KEY(c->slot, result),
					  .size_bytes = c->size_bytes,
					  .stack = stack,
					  .tid = c->tid};

	switch (c->fn) {
	case FN_REALLOC:
	case FN_REALLOC_INSIDE:
		realloc_ends(m, c, result, &fresh);
		break;
	case FN_RESIZE:
		resize_ends(m, c, result);
		break;
	case FN_MALLOC:
	case FN_CALLOC:
	case FN_MEMALIGN:
	case FN_MALLOC_INSIDE:
	case FN_MALLOC_WHOLE:
		if (c->skips)
			break;
		if (result)
			record(m, &fresh);
		else
			m->count[ABI_FAILURES]++;
		break;
	default:
		break;
	}
}

void model_end(struct model *m, struct model_thread *t, uint64_t id, uint64_t result,
	       uint64_t stack)
{
	struct model_call *call = &t->call;

	if (!call->is_open || call->id != id)
		return;
	call_ends(m, call, result, stack);
	call->is_open = false;
}

void model_whole(struct model *m, struct model_thread *t, const struct model_call *next,
		 bool from_allocator, uint64_t result, uint64_t stack)
{
	struct model_call whole = *next, *call = &t->call;

	if (is_nested(call, next->slot, from_allocator)) {
		m->count[ABI_NESTED_CALLS]++;
		return;
	}
	if (call->is_open)
		abandon(m, call);
	t->freed_key = 0;
	call_ends(m, &whole, result, stack);
}

uint64_t model_gone(struct model *m, uint32_t slot, uint64_t *bytes)
{
	uint64_t n = 0;

	*bytes = 0;
	for (unsigned i = 0; i < MODEL_BLOCKS; i++) {
		struct model_block *b = &m->block[slot][i];

		if (!b->key)
			continue;
		n++;
		*bytes += b->size_bytes;
		stack_freed(m, b);
		b->key = 0;
	}
	return n;
}

uint64_t model_end_call(struct model *m, struct model_call *call, uint32_t slot,
			uint64_t *bytes)
{
	if (!call->is_open || call->slot != slot)
		return 0;
	call->is_open = false;
	if (!call->old.key)
		return 0;
	stack_freed(m, &call->old);
	*bytes += call->old.size_bytes;
	return 1;
}

const struct model_stack *model_stack_find(const struct model *m, uint64_t family,
					   uint64_t stack)
{
	const struct model_stack *s = &m->stacks[stack_index(m, family, stack)];

	return s->family ? s : NULL;
}
