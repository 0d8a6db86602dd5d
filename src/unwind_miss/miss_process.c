// SPDX-License-Identifier: Apache-2.0
#include "unwind_miss/miss_process.h"

#include <linux/bpf.h>
#include <stdlib.h>

#include "abi.h"
#include "unwind_miss/code_ranges.h"
#include "bpf/syscall.h"
#include "util/clock.h"

/* A call of mremap() that seems to take longer never returned: a signal handler left it
 * by longjmp(). */
#define MOVE_MAX_NS 1000000000

/* Processes that are checked in one call. Reading a thousand mappings takes 1 ms. */
#define LOOKS_MAX 16

static uint64_t load(const uint64_t *at)
{
	return __atomic_load_n(at, __ATOMIC_SEQ_CST);
}

static uint64_t changes_of(void *arg, uint32_t slot)
{
	const struct miss_processes *processes = arg;

	return load(&processes->maps->processes[slot].code_changes);
}

/* Find the slot of the process. Returns false if it has none, or has executed another
 * program since. */
static bool find_slot(const struct miss_processes *processes, uint64_t tgid,
		      uint32_t *ret)
{
	uint32_t slots = processes->maps->sizes->process_slots;

	for (uint32_t i = 0; i < ABI_PROCESS_WAYS; i++) {
		*ret = abi_process_slot(tgid, i, slots);
		if (load(&processes->maps->processes[*ret].tgid) == tgid)
			return true;
	}
	return false;
}

static uint64_t moves_of(void *arg, int pid)
{
	const struct miss_processes *processes = arg;
	uint64_t tgid = (uint64_t)pid, while_untraced = 0;
	uint32_t slot;

	if (processes->maps->untraced_movers >= 0)
		(void)sys_bpf_element(BPF_MAP_LOOKUP_ELEM,
				      processes->maps->untraced_movers, &tgid,
				      &while_untraced);
	return while_untraced + (find_slot(processes, tgid, &slot)
					 ? load(&processes->moves[slot].onto)
					 : 0);
}

void miss_processes_set_layout(struct miss_processes *processes, uint32_t slot,
			       uint64_t number)
{
	struct miss_process *p = &processes->by_slot[slot];

	__atomic_store_n(&processes->maps->processes[slot].layout, number,
			 __ATOMIC_SEQ_CST);
	if (p->layout)
		layouts_put(processes->layouts, p->layout);
	p->layout = number;
}

/* The slot has another process, or code of its process was replaced. */
static void drop_layout(struct miss_processes *processes, uint32_t slot)
{
	miss_processes_set_layout(processes, slot, 0);
	processes->by_slot[slot].shown = 0;
}

/* --- rules of replaced code ------------------------------------------------------- */

struct stretch {
	uint64_t start, end;
};

static bool is_elsewhere(void *arg, uint64_t pc, bool is_interrupted)
{
	const struct stretch *place = arg;
	uint64_t at = pc - !is_interrupted;

	return at < place->start || at >= place->end;
}

void miss_processes_doubt(struct miss_processes *processes, uint32_t slot)
{
	struct abi_process *process = &processes->maps->processes[slot];

	__atomic_add_fetch(&process->code_changes, ABI_CODE_USDT, __ATOMIC_SEQ_CST);
	/* As code_has_changed() of the probes does. */
	__atomic_store_n(&process->family, process->parting, __ATOMIC_RELAXED);
}

/*
 * May the probes have used rules of the old code? Not if they saw a change after the old
 * code was found. Not if those rules were never acknowledged: when memtrace has fallen
 * behind, it finds the old and the new code at once. Not if the dynamic linker reported a
 * change between the two.
 */
static bool is_doubtful(const struct miss_processes *processes, uint32_t slot,
			const struct code_replaced *what)
{
	uint64_t linker_ns = load(&processes->moves[slot].linker_ns);

	if (what->is_found)
		return true;
	return what->tag == changes_of((void *)(uintptr_t)processes, slot) &&
	       what->tag == processes->by_slot[slot].known &&
	       (linker_ns <= what->was_ns || linker_ns >= what->is_ns);
}

static void on_replaced(void *arg, uint32_t slot, const struct code_replaced *what)
{
	struct miss_processes *processes = arg;
	uint64_t before = processes->rules->count;
	struct stretch place = {what->start, what->end};
	bool is_in_doubt = is_doubtful(processes, slot, what);
	bool has_layout = processes->by_slot[slot].layout;

	processes->by_slot[slot].known_ns = clock_now_ns();
	miss_processes_doubt(processes, slot);
	rule_table_purge(processes->rules, slot, is_elsewhere, &place);
	drop_layout(processes, slot);
	miss_processes_doubt(processes, slot);
	if ((processes->rules->count != before || has_layout) && is_in_doubt)
		processes->doubtful++;
}

/* As on_replaced(), for a child that has its parent's layout and no miss so far. */
static void on_replaced_unmet(void *arg, int pid)
{
	struct miss_processes *processes = arg;
	uint32_t slot;

	if (!find_slot(processes, (uint64_t)pid, &slot))
		return;
	__atomic_store_n(&processes->maps->processes[slot].layout, 0, __ATOMIC_SEQ_CST);
	miss_processes_doubt(processes, slot);
}

/* --- the list --------------------------------------------------------------------- */

static void on_image_closed(void *arg, uint32_t number)
{
	struct miss_processes *processes = arg;

	unwind_tables_remove(processes->files, number);
}

struct error *miss_processes_init(struct miss_processes *processes,
				  const struct miss_maps *maps, struct rule_table *rules,
				  struct unwind_tables *files, struct layouts *layouts,
				  struct abi_moves *moves)
{
	*processes = (struct miss_processes){
		.maps = maps,
		.rules = rules,
		.files = files,
		.layouts = layouts,
		.moves = moves,
		.by_slot =
			calloc(maps->sizes->process_slots, sizeof(*processes->by_slot)),
		.code = {.scope = maps->scope,
			 .on_replaced = on_replaced,
			 .on_replaced_unmet = on_replaced_unmet,
			 .tag = changes_of,
			 .moves = moves_of,
			 .arg = processes},
	};
	return processes->by_slot
		       ? miss_code_init(&processes->code, on_image_closed, processes)
		       : error_no_memory();
}

void miss_processes_deinit(struct miss_processes *processes)
{
	miss_code_deinit(&processes->code);
	free(processes->by_slot);
}

/* Drop all rules: the slot has another process, or none. */
static void remove_rules(struct miss_processes *processes, uint32_t slot)
{
	rule_table_purge(processes->rules, slot, NULL, NULL);
	drop_layout(processes, slot);
	code_ranges_clear(&processes->moves[slot]);
}

void miss_processes_remove(struct miss_processes *processes, uint32_t slot)
{
	uint64_t tgid =
		load(&processes->maps->processes[slot].tgid) & ~ABI_PROCESS_RETIRED;
	uint32_t other;

	remove_rules(processes, slot);
	__atomic_store_n(&processes->moves[slot].under_way, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&processes->moves[slot].onto, 0, __ATOMIC_SEQ_CST);
	processes->by_slot[slot] = (struct miss_process){0};
	if (tgid && !find_slot(processes, tgid, &other))
		miss_code_remove(&processes->code, (int)tgid);
}

/* --- changes ---------------------------------------------------------------------- */

/* What the probes report about a process at one moment. */
struct state {
	uint64_t changes, moves;
	bool is_moving; /* code is being moved: mappings that are read may be outdated */
	uint64_t last_move_ns;
};

static void read_state(const struct miss_processes *processes, uint32_t slot,
		       struct state *ret)
{
	const uint64_t *changes = &processes->maps->processes[slot].code_changes;
	const struct abi_moves *m = &processes->moves[slot];

	ret->changes = load(changes);
	ret->moves = load(&m->count);
	ret->last_move_ns = load(&m->last_ns);
	/* A move that began meanwhile is still under way or has increased
	 * code_changes. */
	ret->is_moving = (load(&m->under_way) &&
			  clock_now_ns() < ret->last_move_ns + MOVE_MAX_NS) ||
			 load(changes) != ret->changes;
}

static uint64_t unreported(uint64_t changes)
{
	return changes & (ABI_CODE_USDT - 1);
}

static struct code_change change_of(const struct miss_process *p, const struct state *now)
{
	uint64_t changes = unreported(now->changes - p->read),
		 moves = now->moves - p->moves;
	struct code_change change = {.is_any = p->known != now->changes,
				     .is_unreported =
					     p->known != MISS_HANDLER_NEVER && changes,
				     .is_moved = moves};

	/* Only moves have changed the code, so the time is known. */
	if (moves && changes == 2 * moves) {
		change.since_ns = now->last_move_ns;
		change.after_ns = moves == 1 ? now->last_move_ns : 0;
	}
	return change;
}

struct process_code *miss_processes_get(struct miss_processes *processes, uint32_t slot)
{
	struct abi_process *record = &processes->maps->processes[slot];
	struct miss_process *p = &processes->by_slot[slot];
	uint64_t owner = load(&record->tgid), tgid = owner & ~ABI_PROCESS_RETIRED;
	struct process_code *code;
	struct code_change change;
	struct state now;

	if (!tgid)
		return NULL;
	read_state(processes, slot, &now);
	if (p->tgid != tgid) {
		remove_rules(processes, slot);
		*p = (struct miss_process){.tgid = tgid,
					   .known = MISS_HANDLER_NEVER,
					   .read = now.changes,
					   .moves = now.moves};
	}
	change = change_of(p, &now);
	/* Do not read the mappings because of code that is being moved: no thread can use
	 * that. */
	if (now.is_moving)
		change.is_unreported = false;
	code = miss_code_of(&processes->code, (int)tgid, slot, owner == tgid, &change);
	if (!code || code->must_read || now.is_moving || p->known == now.changes)
		return code;
	/* From here on the probes may use the rules again, unless there was another
	 * change. */
	p->read = now.changes;
	p->moves = now.moves;
	p->known = now.changes;
	if (p->known_ns <= code->changed_ns)
		p->known_ns = code->changed_ns + 1;
	__atomic_store_n(&record->code_known, now.changes, __ATOMIC_SEQ_CST);
	return code;
}

bool miss_processes_unchanged(const struct miss_processes *processes, uint32_t slot,
			      uint64_t at_ns)
{
	const struct abi_process *record = &processes->maps->processes[slot];
	const struct miss_process *p = &processes->by_slot[slot];

	return p->tgid == load(&record->tgid) && p->known_ns && p->known_ns <= at_ns &&
	       p->known == load(&record->code_changes);
}

void miss_processes_cover(struct miss_processes *processes, uint32_t slot,
			  struct process_code *code, uint64_t pc)
{
	struct abi_moves *m = &processes->moves[slot];
	uint64_t start, end;

	if (!images_extent(code->images, pc, UINT64_MAX - 1, &start, &end) ||
	    code_ranges_add(m, start, end))
		return;
	/* In this order: a call of mremap() that is not counted here yet sees the new
	 * version. */
	__atomic_add_fetch(&m->version, 1, __ATOMIC_SEQ_CST);
	code->is_doubtful |= miss_code_may_have_moved(&processes->code, code);
}

void miss_processes_renew(struct miss_processes *processes, uint32_t slot)
{
	struct abi_process *record = &processes->maps->processes[slot];
	struct miss_process *p = &processes->by_slot[slot];
	uint64_t changes = p->known;

	/* If there was another change, the rules are in doubt anyway. */
	if (p->tgid != load(&record->tgid) || changes == MISS_HANDLER_NEVER ||
	    !__atomic_compare_exchange_n(&record->code_changes, &changes,
					 changes + ABI_CODE_USDT, false, __ATOMIC_SEQ_CST,
					 __ATOMIC_SEQ_CST))
		return;
	p->known += ABI_CODE_USDT;
	__atomic_store_n(&record->code_known, p->known, __ATOMIC_SEQ_CST);
}

/* Do the probes use rules of the process, and have seen no change? */
static bool looks_settled(const struct miss_processes *processes, uint32_t slot)
{
	const struct abi_process *record = &processes->maps->processes[slot];
	const struct miss_process *p = &processes->by_slot[slot];

	return p->tgid && p->tgid == load(&record->tgid) &&
	       p->known == load(&record->code_changes);
}

void miss_processes_look_over(struct miss_processes *processes)
{
	uint32_t slots = processes->maps->sizes->process_slots, looks = 0;

	for (uint32_t i = 0; i < slots && looks < LOOKS_MAX; i++) {
		uint32_t slot = processes->looked = (processes->looked + 1) % slots;
		struct process_code *code;

		if (!looks_settled(processes, slot))
			continue;
		code = miss_processes_get(processes, slot);
		if (code)
			(void)miss_code_look(&processes->code, code);
		looks++;
	}
}

void miss_processes_look_at_parents(struct miss_processes *processes)
{
	struct miss_code *code = &processes->code;

	/* Reading the mappings of one process may add further processes. */
	for (size_t i = 0; i < code->parents.len; i++) {
		uint32_t slot;
		struct process_code *p =
			find_slot(processes, (uint64_t)code->parents.data[i], &slot)
				? miss_processes_get(processes, slot)
				: NULL;

		if (p && miss_code_may_have_moved(code, p))
			(void)miss_code_look(code, p);
	}
	code->parents.len = 0;
}

struct process_code *miss_processes_next_mapped(struct miss_processes *processes,
						uint32_t *ret_slot)
{
	struct process_code *code;

	while ((code = miss_code_next_mapped(&processes->code))) {
		if (code->slot != CODE_NO_SLOT && looks_settled(processes, code->slot) &&
		    processes->by_slot[code->slot].tgid == (uint64_t)code->pid &&
		    !code->must_read) {
			*ret_slot = code->slot;
			return code;
		}
	}
	return NULL;
}

static bool is_retired(const struct miss_processes *processes, uint32_t slot)
{
	return load(&processes->maps->processes[slot].tgid) & ABI_PROCESS_RETIRED;
}

bool miss_processes_look_again(struct miss_processes *processes, uint32_t slot,
			       struct process_code *code)
{
	return !is_retired(processes, slot) &&
	       miss_code_look_again(&processes->code, code);
}

bool miss_processes_look(struct miss_processes *processes, uint32_t slot,
			 struct process_code *code)
{
	return !is_retired(processes, slot) && miss_code_look(&processes->code, code);
}
