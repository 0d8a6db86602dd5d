// SPDX-License-Identifier: Apache-2.0
/* Makes room in the rule table. The kernel does not report when a file is unmapped, nor
 * does a program when it frees code that it generated. So rules of such code stay until
 * the table is crowded. */
#include "unwind_miss/miss_process.h"

#include "abi.h"
#include "util/clock.h"

/* Evicting takes at most a fifth of the time. A process has its turn at most once a
 * second: the rules that it still uses are found again. */
#define EVICT_SHARE    5
#define EVICT_PAUSE_NS UINT64_C(1000000000)
#define LOOK_PAUSE_NS  UINT64_C(100000000)

/* Does the pc lie in code of a file? `arg` is the struct proc_maps of the process. */
static bool is_in_file(void *arg, uint64_t pc, bool is_interrupted)
{
	const struct proc_maps *maps = arg;
	uint64_t at = pc - !is_interrupted;
	size_t count = vec_count_up_to(&maps->mappings, start, at);
	const struct proc_mapping *m = count ? &maps->mappings.data[count - 1] : NULL;

	return m && at < m->end && m->executable && m->inode;
}

/* The slot with the most rules, among processes that had no turn in the last second.
 * Returns false if no process qualifies. */
static bool find_largest(const struct miss_processes *processes, uint64_t now_ns,
			 uint32_t *ret)
{
	const uint32_t *held = processes->rules->held;
	uint32_t slots = processes->maps->sizes->process_slots, most = 0;

	for (uint32_t slot = 0; slot < slots; slot++) {
		if (held[slot] <= most ||
		    now_ns < processes->by_slot[slot].next_eviction_ns)
			continue;
		most = held[slot];
		*ret = slot;
	}
	return most;
}

static void purge(struct miss_processes *processes, uint32_t slot, struct proc_maps *maps)
{
	/* Before and after: a walk that begins in between may also have seen rules that
	 * are removed. */
	miss_processes_doubt(processes, slot);
	rule_table_purge(processes->rules, slot, maps ? is_in_file : NULL, maps);
	miss_processes_doubt(processes, slot);
	(void)miss_processes_get(processes, slot);
}

static void evict_from(struct miss_processes *processes, uint32_t slot)
{
	uint64_t tgid =
		__atomic_load_n(&processes->maps->processes[slot].tgid, __ATOMIC_SEQ_CST);
	struct proc_maps maps = {0};
	struct error *err = NULL;

	if (!tgid || tgid & ABI_PROCESS_RETIRED) {
		purge(processes, slot, NULL);
		return;
	}
	err = miss_code_mappings((int)tgid, &maps);
	if (!err)
		purge(processes, slot, &maps);
	else if (err->code == ERROR_GONE || err->code == ERROR_NOT_FOUND)
		purge(processes, slot, NULL);
	error_destroy(err);
	proc_maps_deinit(&maps);
}

void miss_processes_evict(struct miss_processes *processes)
{
	uint64_t begun_ns = clock_now_ns(), now_ns;
	uint32_t slot;

	if (begun_ns < processes->next_eviction_ns)
		return;
	if (!find_largest(processes, begun_ns, &slot)) {
		processes->next_eviction_ns = begun_ns + LOOK_PAUSE_NS;
		return;
	}
	evict_from(processes, slot);
	now_ns = clock_now_ns();
	processes->by_slot[slot].next_eviction_ns = now_ns + EVICT_PAUSE_NS;
	processes->next_eviction_ns = now_ns + (EVICT_SHARE - 1) * (now_ns - begun_ns);
}
