// SPDX-License-Identifier: Apache-2.0
#include "unwind_miss/rule_table.h"

#include <linux/bpf.h>
#include <stdlib.h>

#include "abi.h"
#include "abi_walk.h"
#include "bpf/syscall.h"
#include "unwind_step.h"

_Static_assert(RULE_TABLE_SLOTS - 1 == ABI_RULE_SLOT(UINT64_MAX), "one for each slot");

bool rule_table_init(struct rule_table *table, struct abi_rule_bucket *buckets,
		     uint32_t bucket_count)
{
	table->buckets = buckets;
	table->bucket_count = bucket_count;
	table->next = calloc((size_t)bucket_count * ABI_RULE_WAYS, sizeof(*table->next));
	return table->next;
}

void rule_table_deinit(struct rule_table *table)
{
	free(table->next);
	vec_deinit(&table->spilled);
}

static void spill(struct rule_table *table, uint64_t key, uint64_t rule)
{
	uint64_t before;
	bool is_there =
		!sys_bpf_element(BPF_MAP_LOOKUP_ELEM, table->spill_fd, &key, &before);

	if (is_there && before == rule)
		return;
	if ((!is_there && !vec_reserve(&table->spilled, table->spilled.len + 1)) ||
	    sys_bpf_element(BPF_MAP_UPDATE_ELEM, table->spill_fd, &key, &rule)) {
		table->refused++;
		return;
	}
	if (is_there)
		return;
	table->spilled.data[table->spilled.len++] = key;
	table->count++;
	table->held[ABI_RULE_SLOT(key)]++;
	__atomic_add_fetch(&table->control->spilled_rules, 1, __ATOMIC_SEQ_CST);
}

static void add_to_list(struct rule_table *table, uint32_t slot, uint32_t bucket, int way)
{
	uint32_t i = bucket * ABI_RULE_WAYS + (uint32_t)way;

	table->next[i] = table->first[slot];
	table->first[slot] = i + 1;
}

void rule_table_put(struct rule_table *table, uint32_t slot, uint64_t pc,
		    bool is_interrupted, uint64_t rule)
{
	uint64_t key = ABI_RULE_KEY(slot, pc, is_interrupted ? ABI_RULE_INTERRUPTED : 0);
	uint32_t bucket = abi_rule_at(key, table->bucket_count);
	struct abi_rule_bucket *b = &table->buckets[bucket];
	int empty = -1;

	for (int i = 0; i < ABI_RULE_WAYS; i++) {
		if (b->key[i] == key) {
			__atomic_store_n(&b->rule[i], rule, __ATOMIC_SEQ_CST);
			return;
		}
		if (!b->key[i] && empty < 0)
			empty = i;
	}
	if (empty < 0) {
		spill(table, key, rule);
		return;
	}
	/* Store the rule first: a probe that sees the key must see the rule. */
	__atomic_store_n(&b->rule[empty], rule, __ATOMIC_SEQ_CST);
	__atomic_store_n(&b->key[empty], key, __ATOMIC_SEQ_CST);
	add_to_list(table, slot, bucket, empty);
	table->count++;
	table->held[slot]++;
}

uint64_t rule_table_get(const struct rule_table *table, uint32_t slot, uint64_t pc,
			bool is_interrupted)
{
	uint64_t key = ABI_RULE_KEY(slot, pc, is_interrupted ? ABI_RULE_INTERRUPTED : 0);
	const struct abi_rule_bucket *b =
		&table->buckets[abi_rule_at(key, table->bucket_count)];

	for (int i = 0; i < ABI_RULE_WAYS; i++)
		if (b->key[i] == key)
			return b->rule[i];
	return UNWIND_NONE;
}

bool rule_table_is_crowded(const struct rule_table *table)
{
	return table->spilled.len > ABI_RULE_SPILL / 2;
}

static bool stays(uint64_t key, bool (*keep)(void *arg, uint64_t pc, bool is_interrupted),
		  void *arg)
{
	return keep && keep(arg, ABI_KEY_ADDRESS(key), key & ABI_RULE_INTERRUPTED);
}

static void purge_buckets(struct rule_table *table, uint32_t slot,
			  bool (*keep)(void *arg, uint64_t pc, bool is_interrupted),
			  void *arg)
{
	uint32_t *at = &table->first[slot];

	while (*at) {
		uint32_t i = *at - 1;
		uint64_t *key = &table->buckets[i / ABI_RULE_WAYS].key[i % ABI_RULE_WAYS];

		if (stays(*key, keep, arg)) {
			at = &table->next[i];
			continue;
		}
		__atomic_store_n(key, 0, __ATOMIC_SEQ_CST);
		*at = table->next[i];
		table->count--;
		table->held[slot]--;
	}
}

static void purge_spilled(struct rule_table *table, uint32_t slot,
			  bool (*keep)(void *arg, uint64_t pc, bool is_interrupted),
			  void *arg)
{
	size_t kept = 0;

	vec_foreach (key, &table->spilled) {
		if (ABI_RULE_SLOT(*key) != slot || stays(*key, keep, arg)) {
			table->spilled.data[kept++] = *key;
			continue;
		}
		(void)sys_bpf_element(BPF_MAP_DELETE_ELEM, table->spill_fd, key, NULL);
		table->count--;
		table->held[slot]--;
		__atomic_sub_fetch(&table->control->spilled_rules, 1, __ATOMIC_SEQ_CST);
	}
	table->spilled.len = kept;
}

void rule_table_purge(struct rule_table *table, uint32_t slot,
		      bool (*keep)(void *arg, uint64_t pc, bool is_interrupted),
		      void *arg)
{
	purge_buckets(table, slot, keep, arg);
	/* Most processes have no rule there. */
	if (table->held[slot])
		purge_spilled(table, slot, keep, arg);
}
