// SPDX-License-Identifier: Apache-2.0
/* Traces the blocks of allocation functions (probes/hooks.c, probes/result.c). */
#include "trace/tracer_state.h"

struct error *tracer_begin_calls(struct tracer *t)
{
	return tracer_begin_programs(t, tracer_preferred_ops(t));
}

static struct error *load(struct tracer *t, unsigned beside)
{
	if (!t->features.cookies)
		return tracer_load(t, PROGRAM_RETURN);
	return tracer_load_programs(t, t->compiler, t->compiled & ~beside);
}

struct error *tracer_drain_blocks(struct tracer *t, const struct drain_slots *slots,
				  struct drain_kept *kept, struct snapshot *snap,
				  bool *settled)
{
	const struct drain_resolver resolver = {tracer_catch_up, tracer_stack, t};
	struct error *err = drain_blocks(&t->maps, &t->source->sizes, t->control, slots,
					 &t->ticks, &resolver, kept, snap, settled);

	if (err)
		return err;
	/* The last report looks for dead threads in any case: one may have died inside a
	 * call, which counts nothing. */
	if (!t->control->enabled)
		kept = NULL;
	return drain_counters(&t->maps, &t->source->sizes, slots, kept, snap);
}

struct error *tracer_drain_heap(struct tracer *t, const struct drain_slots *slots,
				struct snapshot *snap, bool *settled)
{
	struct error *err = tracer_drain_blocks(t, slots, &t->kept, snap, settled);

	snap->totals[BLOCK_HEAP].gone = t->gone[BLOCK_HEAP].gone;
	snap->totals[BLOCK_HEAP].gone_bytes = t->gone[BLOCK_HEAP].gone_bytes;
	return err;
}

struct taken_blocks {
	struct tracer *t;
	bool *held; /* by slot */
};

static void take_block(void *arg, uint32_t slot, const struct abi_block *block)
{
	const struct taken_blocks *taken = arg;

	taken->held[slot] = true;
	if (taken->t->run.traffic)
		tracer_block_gone(taken->t, slot, block);
}

struct error *tracer_remove_blocks(struct tracer *t, const bool gone[], bool held[])
{
	struct snapshot_totals *sum = &t->gone[BLOCK_HEAP];
	struct taken_blocks blocks = {t, held};
	const struct drain_taken taken = {take_block, &blocks};

	drain_kept_drop(&t->kept);
	return drain_remove_gone(&t->maps, &t->source->sizes, t->control, gone, &taken,
				 &sum->gone, &sum->gone_bytes);
}

const struct trace_mode trace_mode_heap = {
	.does = "traces allocation functions",
	.class = BLOCK_HEAP,
	.source =
		{
			.able = MODE_BLOCKS | MODE_CALLS | MODE_FUNCTIONS | MODE_TRAFFIC |
				MODE_PROCESSES | MODE_FORKS | MODE_SAMPLE_BYTES,
		},
	.begin_load = tracer_begin_calls,
	.load = load,
	.attach_once = tracer_attach_tracepoints,
	.attach = tracer_attach_sites,
	.load_entry = tracer_load_entry,
	.drain = tracer_drain_heap,
	.drop_slots = tracer_remove_blocks,
};
