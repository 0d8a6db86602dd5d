// SPDX-License-Identifier: Apache-2.0
/* The rules of processes that come and go, compared with a plain model. */
#include "unwind_miss/rule_table.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abi.h"
#include "abi_walk.h"
#include "check.h"
#include "unit/bpf/create_map.h"
#include "unit/random.h"
#include "unwind_step.h"

/* Few buckets, so that rules of several processes share most of them, and many spill. */
#define BUCKETS 16
#define SLOTS   5
#define PCS     24
#define STEPS   4000

struct world {
	struct abi_rule_bucket buckets[BUCKETS];
	struct abi_control control;
	struct rule_table table;
	uint64_t model[SLOTS][PCS][2]; /* the rule, or UNWIND_NONE; by is_interrupted */
};

static uint64_t pc_of(uint32_t pc)
{
	return 0x401000 + 16 * (uint64_t)pc;
}

/* The last slot that a key can name is one of them. */
static uint32_t slot_of(uint32_t i)
{
	return RULE_TABLE_SLOTS - 1 - i;
}

static struct world *open_world(void)
{
	struct world *w = calloc(1, sizeof(*w));

	REQUIRE(w);
	w->table.control = &w->control;
	w->table.spill_fd = create_map((union bpf_attr){.map_type = BPF_MAP_TYPE_HASH,
							.key_size = sizeof(uint64_t),
							.value_size = sizeof(uint64_t),
							.max_entries = SLOTS * PCS * 2});
	REQUIRE(rule_table_init(&w->table, w->buckets, BUCKETS));
	for (uint32_t i = 0; i < SLOTS * PCS * 2; i++)
		w->model[i / (2 * PCS)][i / 2 % PCS][i % 2] = UNWIND_NONE;
	return w;
}

static void close_world(struct world *w)
{
	close(w->table.spill_fd);
	rule_table_deinit(&w->table);
	free(w);
}

/* The rule that the probes find. */
static uint64_t found(const struct world *w, uint32_t slot, uint64_t pc,
		      bool is_interrupted)
{
	uint64_t key = ABI_RULE_KEY(slot, pc, is_interrupted ? ABI_RULE_INTERRUPTED : 0);
	uint64_t rule = rule_table_get(&w->table, slot, pc, is_interrupted);

	if (rule == UNWIND_NONE)
		(void)sys_bpf_element(BPF_MAP_LOOKUP_ELEM, w->table.spill_fd, &key,
				      &rule);
	return rule;
}

static void compare(const struct world *w)
{
	uint64_t in_buckets = 0, held = 0;

	for (uint32_t i = 0; i < SLOTS * PCS * 2; i++) {
		uint32_t slot = i / (2 * PCS), pc = i / 2 % PCS;

		REQUIRE(found(w, slot_of(slot), pc_of(pc), i % 2) ==
			w->model[slot][pc][i % 2]);
	}
	for (uint32_t i = 0; i < BUCKETS * ABI_RULE_WAYS; i++)
		in_buckets += w->buckets[i / ABI_RULE_WAYS].key[i % ABI_RULE_WAYS] != 0;
	for (uint32_t i = 0; i < SLOTS; i++)
		held += w->table.held[slot_of(i)];
	REQUIRE(w->table.count == in_buckets + w->table.spilled.len);
	REQUIRE(w->table.count == held);
	REQUIRE(w->control.spilled_rules == w->table.spilled.len);
}

static bool is_high(void *arg, uint64_t pc, bool is_interrupted)
{
	(void)is_interrupted;
	return pc >= *(const uint64_t *)arg;
}

/* Purge the slot, or with `low` > 0 only its rules below that pc. */
static void purge(struct world *w, uint32_t slot, uint32_t low)
{
	uint64_t limit = pc_of(low);

	rule_table_purge(&w->table, slot_of(slot), low ? is_high : NULL, &limit);
	for (uint32_t pc = 0; pc < (low ? low : PCS); pc++)
		w->model[slot][pc][0] = w->model[slot][pc][1] = UNWIND_NONE;
}

static void processes_that_come_and_go(void)
{
	struct world *w = open_world();
	uint64_t state = 42;
	size_t most = 0;

	for (int step = 0; step < STEPS; step++) {
		uint32_t slot = (uint32_t)(random_next(&state) >> 32) % SLOTS;
		uint32_t pc = (uint32_t)(random_next(&state) >> 32) % PCS;
		uint32_t kind = (uint32_t)(random_next(&state) >> 32) % 64;
		bool is_interrupted = kind & 1;
		uint64_t rule = UNWIND_RULE(UNWIND_SP, 8 + 8 * (step % 100), 0,
					    UNWIND_BP_SAME, 0);

		if (kind < 4) {
			purge(w, slot, kind < 2 ? 0 : pc);
		} else {
			rule_table_put(&w->table, slot_of(slot), pc_of(pc),
				       is_interrupted, rule);
			w->model[slot][pc][is_interrupted] = rule;
		}
		if (w->table.spilled.len > most)
			most = w->table.spilled.len;
		compare(w);
	}
	CHECK(most > 8);
	for (uint32_t slot = 0; slot < SLOTS; slot++)
		purge(w, slot, 0);
	compare(w);
	CHECK_INT(w->table.count, 0);
	CHECK_INT(w->table.refused, 0);
	close_world(w);
}

/* When thousands of processes exit in a row, each has a few rules of the whole table. The
 * pages of the other buckets must not even be read. */
static void only_its_own_buckets(void)
{
	enum {
		MANY = 4096
	};
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t bytes = MANY * sizeof(struct abi_rule_bucket);
	char *buckets = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct rule_table *table = calloc(1, sizeof(*table));
	uint64_t key = ABI_RULE_KEY(SLOTS, pc_of(0), 0);

	REQUIRE(buckets != MAP_FAILED && table);
	table->spill_fd = -1;
	REQUIRE(rule_table_init(table, (void *)buckets, MANY));
	rule_table_put(table, SLOTS, pc_of(0), false, UNWIND_RULE_END);

	size_t own = abi_rule_at(key, MANY) * sizeof(struct abi_rule_bucket) & -page;

	REQUIRE(!mprotect(buckets, bytes, PROT_NONE));
	rule_table_purge(table, SLOTS + 1, NULL, NULL);
	REQUIRE(!mprotect(buckets + own, page, PROT_READ | PROT_WRITE));
	rule_table_purge(table, SLOTS, NULL, NULL);
	CHECK_INT(table->count, 0);
	CHECK(rule_table_get(table, SLOTS, pc_of(0), false) == UNWIND_NONE);
	rule_table_deinit(table);
	free(table);
	munmap(buckets, bytes);
}

int main(void)
{
	RUN(processes_that_come_and_go);
	RUN(only_its_own_buckets);
	return check_done();
}
