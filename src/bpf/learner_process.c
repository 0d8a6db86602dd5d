// SPDX-License-Identifier: Apache-2.0
#include "bpf/learner_process.h"

#include <stdlib.h>

#include "abi.h"
#include "util/clock.h"

static uint64_t load(const uint64_t *at)
{
	return __atomic_load_n(at, __ATOMIC_SEQ_CST);
}

static uint64_t changes_of(void *arg, uint32_t slot)
{
	const struct learner_processes *processes = arg;

	return load(&processes->maps->processes[slot].code_changes);
}

/* --- rules of code that is gone --------------------------------------------------- */

struct stretch {
	uint64_t start, end;
};

static bool is_elsewhere(void *arg, uint64_t pc, bool is_interrupted)
{
	const struct stretch *place = arg;
	uint64_t at = pc - !is_interrupted;

	return at < place->start || at >= place->end;
}

static void on_replaced(void *arg, uint32_t slot, uint64_t start, uint64_t end,
			uint64_t tag)
{
	struct learner_processes *processes = arg;
	uint64_t before = processes->rules->count;
	struct stretch place = {start, end};

	processes->by_slot[slot].known_ns = clock_now_ns();
	rule_table_purge(processes->rules, slot, is_elsewhere, &place);
	/* Else the probes have seen that something changed, and used none of them. */
	if (processes->rules->count != before && tag == changes_of(processes, slot))
		processes->doubtful++;
}

/* --- the list --------------------------------------------------------------------- */

struct error *learner_processes_init(struct learner_processes *processes,
				     const struct learner_maps *maps,
				     struct rule_table *rules)
{
	*processes = (struct learner_processes){
		.maps = maps,
		.rules = rules,
		.by_slot =
			calloc(maps->sizes->process_slots, sizeof(*processes->by_slot)),
		.code = {.scope = maps->scope,
			 .on_replaced = on_replaced,
			 .tag = changes_of,
			 .arg = processes},
	};
	return processes->by_slot ? learner_code_init(&processes->code)
				  : error_no_memory();
}

void learner_processes_deinit(struct learner_processes *processes)
{
	learner_code_deinit(&processes->code);
	free(processes->by_slot);
}

/* Is the process in some slot, and has not executed another program since? */
static bool is_traced(const struct learner_processes *processes, uint64_t tgid)
{
	uint32_t slots = processes->maps->sizes->process_slots;

	for (uint32_t i = 0; i < ABI_PROCESS_WAYS; i++) {
		uint32_t slot = abi_process_slot(tgid, i, slots);

		if (load(&processes->maps->processes[slot].tgid) == tgid)
			return true;
	}
	return false;
}

void learner_processes_forget(struct learner_processes *processes, uint32_t slot)
{
	uint64_t tgid =
		load(&processes->maps->processes[slot].tgid) & ~ABI_PROCESS_RETIRED;

	rule_table_purge(processes->rules, slot, NULL, NULL);
	processes->by_slot[slot] = (struct learner_process){0};
	if (tgid && !is_traced(processes, tgid))
		learner_code_forget(&processes->code, (int)tgid);
}

struct process_code *learner_processes_get(struct learner_processes *processes,
					   uint32_t slot)
{
	struct abi_process *record = &processes->maps->processes[slot];
	struct learner_process *p = &processes->by_slot[slot];
	uint64_t owner = load(&record->tgid), tgid = owner & ~ABI_PROCESS_RETIRED;
	uint64_t changes = load(&record->code_changes);
	struct process_code *code;

	if (!tgid)
		return NULL;
	if (p->tgid != tgid) {
		rule_table_purge(processes->rules, slot, NULL, NULL);
		*p = (struct learner_process){.tgid = tgid, .known = LEARNER_NEVER};
	}
	code = learner_code_of(&processes->code, (int)tgid, slot, owner == tgid,
			       p->known != changes);
	/* From here on the probes may use the rules again, unless there was another
	 * change. */
	if (code && !code->must_read && p->known != changes) {
		p->known = changes;
		p->known_ns = clock_now_ns();
		__atomic_store_n(&record->code_known, changes, __ATOMIC_SEQ_CST);
	}
	return code;
}

bool learner_processes_unchanged(const struct learner_processes *processes, uint32_t slot,
				 uint64_t at_ns)
{
	const struct abi_process *record = &processes->maps->processes[slot];
	const struct learner_process *p = &processes->by_slot[slot];

	return p->tgid == load(&record->tgid) && p->known_ns && p->known_ns <= at_ns &&
	       p->known == load(&record->code_changes);
}

bool learner_processes_look_again(struct learner_processes *processes, uint32_t slot,
				  struct process_code *code)
{
	uint64_t owner = load(&processes->maps->processes[slot].tgid);

	return !(owner & ABI_PROCESS_RETIRED) &&
	       learner_code_look_again(&processes->code, code);
}
