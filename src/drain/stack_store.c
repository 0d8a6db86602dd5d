// SPDX-License-Identifier: Apache-2.0
#include "drain/stack_store.h"

#include <string.h>

#include <linux/bpf.h>

#include "abi.h"
#include "abi_walk.h"
#include "bpf/mapped.h"
#include "bpf/syscall.h"
#include "util/clock.h"

/* Of a stack, in the index. */
#define BUCKETS (2 * ABI_INDEX_PARTS)

/* After the kernel had no memory for a part: many stacks may come that need it. */
#define RETRY_NS UINT64_C(100000000)

static bool has_check(struct stack_store *store, uint32_t number, uint64_t check)
{
	const struct abi_stack_head *head = record_windows_at(&store->records, number);

	return head && __atomic_load_n(&head->check, __ATOMIC_ACQUIRE) == check;
}

static bool has_tag(uint64_t word, const struct abi_stack_hash *hash)
{
	return word >> ABI_STACK_NUMBER_BITS == ABI_STACK_TAG(hash->hash);
}

/* Like stack_of_word() of the probes, for a word with the tag. */
static uint32_t number_of_word(struct stack_store *store, uint64_t word,
			       const struct abi_stack_hash *hash)
{
	uint32_t number = word & ABI_STACK_NUMBER_MASK;

	return has_check(store, number, hash->check) ? number : ABI_NO_STACK;
}

/* Like stack_find_in() of the probes. */
static uint32_t find_in(struct stack_store *store, const struct abi_stack_bucket *b,
			const struct abi_stack_hash *hash)
{
	for (int i = 0; i < ABI_STACK_WAYS; i++) {
		uint64_t word = __atomic_load_n(&b->word[i], __ATOMIC_ACQUIRE);

		if (has_tag(word, hash))
			return number_of_word(store, word, hash);
	}
	return ABI_NO_STACK;
}

/* Are parts missing for a stack with this number, whose words are in `block`? */
static bool lacks_parts(const struct stack_store *store, uint32_t number, uint64_t block)
{
	const struct stack_tables *t = store->tables;

	return part_table_lacks(&t->heads, number / t->heads.part_entries + 1) ||
	       part_table_lacks(&t->pcs, (uint32_t)(block / t->pcs.part_entries + 1)) ||
	       part_table_lacks(&t->index, source_index_parts(t->sizes, number));
}

/* Add the parts for a stack that has just got a number, if they are missing. */
static void make_room(struct stack_store *store, uint32_t number, uint64_t at)
{
	struct stack_tables *t = store->tables;
	struct new_parts parts[STACK_TABLES];
	struct error *err;

	stack_tables_ask(t);
	if (!lacks_parts(store, number, at / ABI_PCS_BLOCK) ||
	    (store->failed_ns && clock_now_ns() - store->failed_ns < RETRY_NS))
		return;
	err = stack_tables_create(t, parts);
	for (int i = 0; i < STACK_TABLES; i++)
		part_table_put(&parts[i]);
	store->failed_ns = err ? clock_now_ns() : 0;
	/* The stack may have room all the same. */
	error_destroy(err);
}

/* Are the parts there for the stack `number`, whose words begin at `at`? Adds them if
 * they are missing. */
static bool has_room(struct stack_store *store, uint32_t number, uint64_t at)
{
	make_room(store, number, at);
	return at <= UINT32_MAX && record_windows_at(&store->records, number) &&
	       stack_pcs_at(&store->pcs, (uint32_t)at);
}

/* Write the stack's record; its return addresses go to the words from `at` on. */
static bool write_record(struct stack_store *store, uint32_t number, uint64_t at,
			 const struct stored_stack *stack, uint64_t check)
{
	struct abi_stack_head *head;
	uint64_t *words;

	make_room(store, number, at);
	head = record_windows_at(&store->records, number);
	words = at <= UINT32_MAX ? stack_pcs_at(&store->pcs, (uint32_t)at) : NULL;
	if (!head || !words)
		return false;
	memcpy(words, stack->pcs, stack->depth * sizeof(*stack->pcs));
	head->at = (uint32_t)at;
	head->family = stack->family;
	head->depth = (uint8_t)stack->depth;
	head->gap = (uint8_t)stack->gap;
	head->end = (uint8_t)stack->end;
	head->allocator = (uint8_t)stack->allocator;
	__atomic_store_n(&head->check, check, __ATOMIC_RELEASE);
	return true;
}

/* Like stack_index_insert() of the probes. */
static uint32_t insert_in(struct stack_store *store, struct abi_stack_bucket *b,
			  const struct abi_stack_hash *hash, uint32_t number)
{
	uint64_t mine = ABI_STACK_TAG(hash->hash) << ABI_STACK_NUMBER_BITS | number;

	for (int i = 0; i < ABI_STACK_WAYS; i++) {
		uint64_t word = 0;

		if (__atomic_compare_exchange_n(&b->word[i], &word, mine, false,
						__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			return number;
		if (has_tag(word, hash))
			return number_of_word(store, word, hash);
	}
	return ABI_NO_STACK;
}

/* Like stack_bucket() of the probes. */
static struct abi_stack_bucket *bucket(struct stack_store *store, uint64_t hash, int i)
{
	int part = i / 2, fd;
	uint32_t count = store->tables->sizes->stack_buckets[part];

	if (!store->index[part]) {
		fd = part_table_part(&store->tables->index, (uint32_t)part);
		if (fd >= 0)
			store->index[part] =
				mapped_open(fd, count * sizeof(struct abi_stack_bucket));
	}
	return store->index[part] ? &store->index[part][abi_live_hash(hash, count, i % 2)]
				  : NULL;
}

void stack_store_init(struct stack_store *store, struct stack_tables *tables,
		      int numbers_fd, int claims_fd)
{
	*store = (struct stack_store){
		.numbers_fd = numbers_fd, .claims_fd = claims_fd, .tables = tables};
	stack_heads_init(&store->records, &tables->heads);
	stack_pcs_init(&store->pcs, &tables->pcs);
}

void stack_store_deinit(struct stack_store *store)
{
	record_windows_deinit(&store->records);
	stack_pcs_deinit(&store->pcs);
	for (int part = 0; part < ABI_INDEX_PARTS; part++) {
		if (store->index[part])
			mapped_close(store->index[part],
				     store->tables->sizes->stack_buckets[part] *
					     sizeof(struct abi_stack_bucket));
		store->index[part] = NULL;
	}
}

/* Like stack_find() of the probes. */
static uint32_t find(struct stack_store *store, const struct abi_stack_hash *hash)
{
	struct abi_stack_bucket *b;
	uint32_t number = ABI_NO_STACK;

	for (int i = 0; i < BUCKETS && (b = bucket(store, hash->hash, i)); i++) {
		number = find_in(store, b, hash);
		if (number != ABI_NO_STACK)
			break;
	}
	return number;
}

/* Like stack_insert() of the probes. */
static uint32_t insert_first(struct stack_store *store, const struct abi_stack_hash *hash,
			     uint32_t number)
{
	struct abi_stack_bucket *b;
	uint32_t stored = ABI_NO_STACK;

	for (int i = 0; i < BUCKETS && (b = bucket(store, hash->hash, i)); i++) {
		stored = insert_in(store, b, hash, number);
		if (stored != ABI_NO_STACK)
			break;
	}
	return stored;
}

static uint32_t add(struct stack_store *store, const struct stored_stack *stack,
		    const struct abi_stack_hash *hash)
{
	uint64_t *used = &store->tables->control->stacks_used;
	uint64_t *pcs_used = &store->tables->control->stack_pcs_used;
	uint64_t pcs_max =
		(uint64_t)store->tables->sizes->stack_pcs_blocks * ABI_PCS_BLOCK;
	uint64_t next = __atomic_load_n(used, __ATOMIC_SEQ_CST);
	uint64_t at = __atomic_load_n(pcs_used, __ATOMIC_SEQ_CST), after;
	uint32_t number = ABI_NO_STACK;

	if (next >= store->tables->sizes->max_stacks || at >= pcs_max ||
	    !has_room(store, (uint32_t)next, at))
		return ABI_NO_STACK;
	next = __atomic_fetch_add(used, 1, __ATOMIC_SEQ_CST);
	at = __atomic_fetch_add(pcs_used, stack->depth, __ATOMIC_SEQ_CST);
	if (next < store->tables->sizes->max_stacks && at < pcs_max &&
	    write_record(store, (uint32_t)next, at, stack, hash->check))
		number = insert_first(store, hash, (uint32_t)next);
	if (number != next) {
		after = next + 1;
		__atomic_compare_exchange_n(used, &after, next, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST);
		after = at + stack->depth;
		__atomic_compare_exchange_n(pcs_used, &after, at, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST);
	}
	return number;
}

static uint32_t number_by_table(struct stack_store *store,
				const struct stored_stack *stack,
				const struct abi_stack_hash *hash)
{
	uint32_t number = find(store, hash);

	return number == ABI_NO_STACK ? add(store, stack, hash) : number;
}

/* --- by the hashes ---------------------------------------------------------------- */

static bool insert(int fd, const void *key, const uint32_t *value)
{
	return sys_bpf_insert(fd, key, value) == 0;
}

/* Like stack_take_number() of the probes. */
static uint32_t take_number(struct stack_store *store)
{
	uint64_t *used = &store->tables->control->stacks_used;
	uint64_t from = __atomic_load_n(used, __ATOMIC_SEQ_CST);
	const uint32_t taken = 1;

	/* A number that is taken cannot be given back. */
	if (from >= store->tables->sizes->max_stacks ||
	    !has_room(store, (uint32_t)from, from * store->tables->sizes->stack_depth))
		return ABI_NO_STACK;
	for (uint32_t i = 0; i < ABI_STACK_CLAIM_TRIES * ABI_STACK_CLAIM_PLACES; i++) {
		uint32_t offset = i % ABI_STACK_CLAIM_TRIES, number;

		/* While room was made, the probes may have taken many numbers. */
		if (!offset)
			from = __atomic_fetch_add(used, 1, __ATOMIC_SEQ_CST);
		number = (uint32_t)from + offset;
		if (number >= store->tables->sizes->max_stacks)
			break;
		if (insert(store->claims_fd, &number, &taken))
			return number;
	}
	return ABI_NO_STACK;
}

static uint32_t number_by_hash(struct stack_store *store,
			       const struct stored_stack *stack,
			       const struct abi_stack_hash *hash)
{
	const struct abi_stack_key key = {hash->hash, hash->check};
	uint32_t number, other;
	uint64_t at;

	if (!sys_bpf_element(BPF_MAP_LOOKUP_ELEM, store->numbers_fd, &key, &number))
		return number;
	number = take_number(store);
	at = (uint64_t)number * store->tables->sizes->stack_depth;
	if (number == ABI_NO_STACK ||
	    !write_record(store, number, at, stack, hash->check))
		return ABI_NO_STACK;
	if (insert(store->numbers_fd, &key, &number))
		return number;
	/* A probe inserted it first, or the map is full: the record stays unused. */
	write_record(store, number, at, stack, 0);
	return sys_bpf_element(BPF_MAP_LOOKUP_ELEM, store->numbers_fd, &key, &other)
		       ? ABI_NO_STACK
		       : other;
}

/* --- both ------------------------------------------------------------------------- */

uint32_t stack_store_number(struct stack_store *store, const struct stored_stack *stack)
{
	struct abi_stack_hash hash;
	uint32_t number;

	abi_stack_hash_begin(&hash, stack->family, stack->allocator,
			     store->tables->hash_seed);
	for (size_t i = 0; i < stack->depth; i++)
		abi_stack_hash_step(&hash, stack->pcs[i]);
	abi_stack_hash_end(&hash, stack->end, (uint32_t)stack->gap);
	number = store->tables->by_hash ? number_by_hash(store, stack, &hash)
					: number_by_table(store, stack, &hash);
	if (number == ABI_NO_STACK)
		store->refused++;
	return number;
}
