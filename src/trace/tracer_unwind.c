// SPDX-License-Identifier: Apache-2.0
#include "trace/tracer_state.h"
#include "util/cleanup.h"
#include "util/priority.h"

/* How long the start waits for unwind tables: enough for a program of 10 MB and its
 * libraries that runs meanwhile, or, before a command runs, for the largest ones (0.6 s
 * for the 225 MB of chromium). */
#define SWEEP_RUNNING_NS UINT64_C(20000000)
#define SWEEP_HELD_NS    UINT64_C(2000000000)

struct error *tracer_open_miss_handler(struct tracer *t)
{
	struct miss_maps maps = {
		.control = t->control,
		.processes = t->processes,
		.sizes = &t->source->sizes,
		.stacks = &t->stacks,
		.no_frame_pointers = t->config->unwind == UNWIND_CHOICE_RULES,
		.marks_interrupted =
			t->run.mode->is_exact && t->run.mode->is_exact(&t->run),
		/* What a supervisor starts is known only when it has executed a
		 * program. */
		.scope = tracer_awaits(t) ? SCOPE_ALL : t->run.scope,
		.counts_hits = tracer_can(t, MODE_HITS),
		.fence = &t->fence,
		.cpu_percent = t->config->unwind_cpu_percent,
		.first_sweep_ns = t->setup.are_held ? SWEEP_HELD_NS : SWEEP_RUNNING_NS,
	};
	const struct {
		const char *name;
		int *fd;
		bool is_wanted;
	} wanted[] = {
		{"misses", &maps.misses, true},
		{"rules", &maps.rules, true},
		{"rule_spill", &maps.rule_spill, true},
		{"moves", &maps.moves, true},
		{"layouts", &maps.layouts, false},
		{"unwind_pages", &maps.unwind_pages, false},
		{"unwind_rules", &maps.unwind_rules, false},
		{"untraced_movers", &maps.untraced_movers, false},
		{"stack_numbers", &maps.stack_numbers, t->by_hash},
		{"stack_claims", &maps.stack_claims, t->by_hash},
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		*wanted[i].fd = compiler_map(t->compiler, wanted[i].name);
		if (*wanted[i].fd < 0 && wanted[i].is_wanted)
			return compiler_lacks_map(wanted[i].name);
	}
	return miss_handler_create(&maps, &t->handler);
}

unsigned tracer_small_ring_mb(const struct tracer *t)
{
	const struct miss_ring *ring = t->handler ? miss_handler_ring(t->handler) : NULL;

	return ring && ring->first_bytes < MISS_RING_BYTES ? ring->first_bytes >> 20 : 0;
}

void tracer_unwind_begin(struct tracer *t, const struct proc *proc, uint32_t slot)
{
	if (!t->handler)
		return;
	tracer_watch_code(t, proc);
	miss_handler_prepare(t->handler, slot);
}

/* --- numbers of stacks ------------------------------------------------------------ */

/* Has no probe walked a stack for two snapshots? */
static bool probes_are_quiet(const struct tracer *t)
{
	/* A mapping can have a new stack without any change of the counters. */
	return !t->run.mappings && drain_kept_is_quiet(&t->kept);
}

void tracer_note_sums(struct tracer *t, const struct snapshot *snap)
{
	uint32_t stacks = stack_tables_count(&t->stacks);
	uint64_t sum = stacks;

	t->same_stacks = stacks == t->last_stacks ? t->same_stacks + 1 : 0;
	t->last_stacks = stacks;
	for (int i = 0; i < BLOCK_CLASS_COUNT; i++) {
		const struct snapshot_totals *totals = &snap->totals[i];

		sum += totals->allocations + totals->frees + totals->frees_unknown +
		       totals->failures + totals->gone;
	}
	t->same_sums = sum == t->last_sum ? t->same_sums + 1 : 0;
	t->last_sum = sum;
}

bool tracer_is_quiet(const struct tracer *t)
{
	bool has_more = t->run.mappings || tracer_can(t, MODE_HITS);

	/* Twice: the last stack may have been stored after its snapshot was made. */
	return has_more ? t->same_sums >= 2 : probes_are_quiet(t);
}

bool tracer_has_new_stacks(const struct tracer *t)
{
	/* Twice, as above. */
	return t->same_stacks < 2;
}

void tracer_catch_up(void *arg)
{
	_cleanup_(priority_restore) struct priority priority = {0};
	struct tracer *t = arg;

	if (!t->handler)
		return;
	/* Unwinding reads what the target has written. */
	priority_lower(&priority);
	miss_handler_catch_up(t->handler);
	/* Otherwise no probe has walked a stack since that was done. */
	if (!probes_are_quiet(t))
		miss_handler_look_over(t->handler);
}

uint32_t tracer_stack(void *arg, uint32_t stack)
{
	struct tracer *t = arg;

	return t->handler ? miss_handler_stack(t->handler, stack) : stack;
}

void tracer_unwind_counts(const struct tracer *t, uint64_t *walks, uint64_t *rules,
			  uint64_t *table_bytes)
{
	struct miss_handler_counts counts = {0};

	if (t->handler)
		miss_handler_count(t->handler, &counts);
	*walks = counts.walks;
	*rules = counts.rules;
	*table_bytes = counts.table_bytes;
}

void tracer_add_walks(struct tracer *t, struct snapshot *snap)
{
	struct miss_handler_counts counts;

	if (!t->handler)
		return;
	miss_handler_count(t->handler, &counts);
	snap->losses[LOSS_STACKS_UNREADABLE] += counts.unreadable;
	snap->losses[LOSS_STACKS_TRUNCATED] += counts.truncated;
	snap->losses[LOSS_WALKS_LOST] += counts.lost;
	snap->losses[LOSS_WALKS_OVER_BUDGET] += counts.over_budget;
	snap->losses[LOSS_STACKS_FULL] += counts.stacks_refused;
	snap->losses[LOSS_RULES_REFUSED] += counts.rules_refused;
}
