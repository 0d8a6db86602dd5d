// SPDX-License-Identifier: Apache-2.0
/* Unwind rules of code that is gone are removed when the table is full. */
#include "check.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abi.h"
#include "abi_walk.h"
#include "unwind_miss/miss_process.h"
#include "unwind_miss/miss_tables.h"
#include "unit/process/child.h"
#include "unwind_step.h"

#define SLOTS      8
#define BUCKETS    1024
#define PAGE_BYTES 4096
#define RULE       UNWIND_RULE(UNWIND_SP, 32, 0, UNWIND_BP_SAME, 0)

struct tables {
	struct source_sizes sizes;
	struct abi_process processes[SLOTS];
	struct abi_moves moves[SLOTS];
	struct abi_rule_bucket buckets[BUCKETS];
	struct abi_control control;
	struct rule_table rules;
	struct miss_tables tables; /* the test's own: the kernel has none */
	struct miss_maps maps;
	struct miss_processes list;
};

static struct tables *open_tables(void)
{
	struct tables *t = calloc(1, sizeof(*t));

	REQUIRE(t);
	t->sizes.process_slots = SLOTS;
	t->rules.spill_fd = -1;
	t->rules.control = &t->control;
	REQUIRE(rule_table_init(&t->rules, t->buckets, BUCKETS));
	t->maps = (struct miss_maps){.processes = t->processes,
				     .control = &t->control,
				     .sizes = &t->sizes,
				     .scope = SCOPE_FORKS,
				     .untraced_movers = -1};
	REQUIRE(!miss_processes_init(&t->list, &t->maps, &t->rules, &t->tables.files,
				     &t->tables.layouts, t->moves));
	return t;
}

static void close_tables(struct tables *t)
{
	miss_processes_deinit(&t->list);
	rule_table_deinit(&t->rules);
	free(t);
}

static uint32_t trace(struct tables *t, pid_t pid)
{
	uint32_t slot = abi_process_slot((uint64_t)pid, 0, SLOTS);

	t->processes[slot].tgid = (uint64_t)pid;
	REQUIRE(miss_processes_get(&t->list, slot));
	return slot;
}

static bool has(const struct tables *t, uint32_t slot, uint64_t pc)
{
	return rule_table_get(&t->rules, slot, pc, false) == RULE;
}

static uint64_t address(const void *at)
{
	return (uint64_t)(uintptr_t)at;
}

/* Addresses of code that a child has made, and of code that it has unmapped. */
struct jit_code {
	char *jit, *freed;
};

static char *map_code(void)
{
	return mmap(NULL, PAGE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
}

static void make_code(void *arg)
{
	struct jit_code *code = arg; /* shared memory */

	code->jit = map_code();
	code->freed = map_code();
	munmap(code->freed, PAGE_BYTES);
}

static void code_that_is_gone(void)
{
	struct tables *t = open_tables();
	struct jit_code *code = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct child child = child_fork(make_code, code);
	uint32_t slot = trace(t, child.pid);
	struct abi_process *record = &t->processes[slot];
	uint64_t own = address((const void *)(uintptr_t)code_that_is_gone) + 16;
	/* A call may be the last instruction of a page: its return address is in the next
	 * page. */
	uint64_t jit = address(code->jit) + 64, freed = address(code->freed) + PAGE_BYTES;
	uint64_t changes;

	rule_table_put(&t->rules, slot, own, false, RULE);
	rule_table_put(&t->rules, slot, jit, false, RULE);
	rule_table_put(&t->rules, slot, freed, false, RULE);
	changes = record->code_changes;

	miss_processes_evict(&t->list);
	CHECK(has(t, slot, own));
	CHECK(!has(t, slot, jit));
	CHECK(!has(t, slot, freed));
	CHECK_INT(t->rules.count, 1);
	CHECK_INT(t->rules.held[slot], 1);
	/* Unwinding that began before gets no result, later unwinding does. */
	CHECK_INT(record->code_changes - changes, 2 * ABI_CODE_USDT);
	CHECK_INT(record->code_known, record->code_changes);

	/* It was just checked: it is not checked again. */
	rule_table_put(&t->rules, slot, jit, false, RULE);
	miss_processes_evict(&t->list);
	CHECK(has(t, slot, jit));
	child_end(&child);
	munmap(code, PAGE_BYTES);
	close_tables(t);
}

/* The process with the most rules is checked first, even if it has ended. */
static void processes_that_are_gone(void)
{
	struct tables *t = open_tables();
	struct child child = child_fork(NULL, NULL);
	uint64_t own = address((const void *)(uintptr_t)code_that_is_gone);
	uint32_t slot = trace(t, child.pid), other = (slot + 1) % SLOTS;

	for (int i = 0; i < 100; i++)
		rule_table_put(&t->rules, slot, own + 16 * i, false, RULE);
	rule_table_put(&t->rules, other, own, false, RULE);
	child_end(&child);
	miss_processes_evict(&t->list);
	CHECK_INT(t->rules.held[slot], 0);
	CHECK_INT(t->rules.held[other], 1);
	close_tables(t);
}

/* Each rule that does not fit is counted each time. */
static void no_room(void)
{
	struct tables *t = open_tables();
	uint64_t refused;

	for (uint64_t i = 1; i <= BUCKETS * ABI_RULE_WAYS + 100; i++)
		rule_table_put(&t->rules, 0, i * 64, false, RULE);
	refused = t->rules.refused;
	CHECK(refused >= 100);
	CHECK_INT(t->rules.count + refused, BUCKETS * ABI_RULE_WAYS + 100);
	CHECK(!rule_table_is_crowded(&t->rules));
	close_tables(t);
}

int main(void)
{
	RUN(code_that_is_gone);
	RUN(processes_that_are_gone);
	RUN(no_room);
	return check_done();
}
