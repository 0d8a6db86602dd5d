// SPDX-License-Identifier: Apache-2.0
#include "drain/stack_tables.h"

#include <unistd.h>

#include "abi.h"
#include "abi_walk.h"

void stack_tables_open(struct stack_tables *t, const struct stack_maps *maps,
		       const struct source_sizes *sizes, struct abi_control *control,
		       bool by_hash)
{
	t->sizes = sizes;
	t->control = control;
	t->by_hash = by_hash;
	t->grower_fd = -1;
	part_table_open(&t->heads, "stacks", maps->stacks, maps->stacks_part,
			sizeof(struct abi_stack_head), sizes->max_stacks,
			sizes->stacks_part);
	part_table_open(&t->pcs, "stack_pcs", maps->stack_pcs, maps->stack_pcs_part,
			ABI_PCS_BLOCK_BYTES(sizes->stack_depth), sizes->stack_pcs_blocks,
			sizes->stack_pcs_part);
	stack_heads_init(&t->read_heads, &t->heads);
	stack_pcs_init(&t->read_pcs, &t->pcs);
	if (by_hash)
		return;
	part_table_open(&t->index, "stack_index", maps->stack_index,
			maps->stack_index_part, sizeof(struct abi_stack_bucket),
			sizes->stack_buckets[0], sizes->stack_buckets[0]);
	t->index.entries = sizes->stack_buckets;
	t->index.count = source_index_parts(sizes, sizes->max_stacks);
}

void stack_tables_unmap(struct stack_tables *t)
{
	record_windows_deinit(&t->read_heads);
	stack_pcs_deinit(&t->read_pcs);
}

void stack_tables_close(struct stack_tables *t)
{
	stack_tables_unmap(t);
	part_table_close(&t->index);
	part_table_close(&t->heads);
	part_table_close(&t->pcs);
}

/* The number of parts, of `each` elements, if `used` elements are in use, and `ahead`
 * parts should be free. As stack_ask() of the probes, but with one more. */
static uint32_t parts_for(uint64_t used, uint64_t each, uint32_t ahead)
{
	uint64_t count = used <= ABI_PART_EIGHTH(each) ? 1 : used / each + ahead + 2;

	return count < ABI_PARTS_MAX ? (uint32_t)count : ABI_PARTS_MAX;
}

static uint64_t heads_used(const struct stack_tables *t)
{
	return __atomic_load_n(&t->control->stacks_used, __ATOMIC_SEQ_CST);
}

static uint64_t words_used(const struct stack_tables *t)
{
	return t->by_hash
		       ? heads_used(t) * t->sizes->stack_depth
		       : __atomic_load_n(&t->control->stack_pcs_used, __ATOMIC_SEQ_CST);
}

static uint32_t parts_of_heads(const struct stack_tables *t)
{
	return parts_for(heads_used(t), t->sizes->stacks_part, t->sizes->stacks_ahead);
}

static uint32_t parts_of_pcs(const struct stack_tables *t)
{
	return parts_for(words_used(t),
			 (uint64_t)t->sizes->stack_pcs_part * ABI_PCS_BLOCK,
			 t->sizes->stack_pcs_ahead);
}

static uint32_t parts_of_index(const struct stack_tables *t)
{
	return source_index_parts(t->sizes, heads_used(t));
}

struct error *stack_tables_create(struct stack_tables *t,
				  struct new_parts ret[STACK_TABLES])
{
	struct error *err = part_table_create(&t->heads, parts_of_heads(t), &ret[0]);

	/* Each is tried: one may find room where another one, with larger parts, does
	 * not. */
	err = error_first(err, part_table_create(&t->pcs, parts_of_pcs(t), &ret[1]));
	ret[2] = (struct new_parts){.table = &t->index};
	if (!t->by_hash)
		err = error_first(
			err, part_table_create(&t->index, parts_of_index(t), &ret[2]));
	return err;
}

void stack_tables_ask(const struct stack_tables *t)
{
	const uint64_t one = 1;

	if (t->grower_fd >= 0 && (part_table_lacks(&t->heads, parts_of_heads(t)) ||
				  part_table_lacks(&t->pcs, parts_of_pcs(t)) ||
				  part_table_lacks(&t->index, parts_of_index(t))))
		(void)!write(t->grower_fd, &one, sizeof(one));
}

uint32_t stack_tables_used(const struct stack_tables *t)
{
	uint64_t used = heads_used(t);

	return used < t->sizes->max_stacks ? (uint32_t)used : t->sizes->max_stacks;
}

uint32_t stack_tables_count(struct stack_tables *t)
{
	return part_table_elements(&t->heads, stack_tables_used(t));
}

bool stack_tables_is_whole(const struct stack_tables *t)
{
	return !t->heads.is_short && !t->pcs.is_short;
}
