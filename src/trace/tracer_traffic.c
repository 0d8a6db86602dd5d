// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include "drain/drain_peak.h"
#include "drain/drain_traffic.h"
#include "trace/tracer_state.h"

struct error *tracer_open_traffic(struct tracer *t)
{
	struct traffic_maps maps = {
		.estimates = -1, .late_numbers = -1, .heap_peak = -1, .path_peaks = -1};
	const struct {
		const char *name;
		int *fd;
		bool is_unused;
	} wanted[] = {
		{"traffic", &maps.traffic, false},
		{"threads", &maps.threads, false},
		{"traffic_all", &maps.all, false},
		{"process_live", &maps.process_live, false},
		{"sizes", &maps.sizes, false},
		{"heap_peak", &maps.heap_peak, !t->run.peak},
		{"path_peaks", &maps.path_peaks, !t->run.peak},
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		if (wanted[i].is_unused)
			continue;
		*wanted[i].fd = compiler_map(t->compiler, wanted[i].name);
		if (*wanted[i].fd < 0)
			return compiler_lacks_map(wanted[i].name);
	}
	if (t->handler)
		maps.late_numbers = compiler_map(t->compiler, "late_numbers");
	if (sampling_is_by_size(&t->config->sampling))
		maps.estimates = compiler_map(t->compiler, "traffic_estimates");

	struct error *err = traffic_tables_open(
		&maps, &t->source->sizes, t->config->sampling.mean_bytes, &t->traffic);

	if (!err)
		t->traffic.all->tick_ns = t->ticks.tick_ns;
	return err;
}

/* --- late events ------------------------------------------------------------------ */

static int on_late(void *arg, void *data, size_t size)
{
	struct tracer *t = arg;
	const struct abi_late *event = data;

	if (size < sizeof(*event) || !vec_push(&t->late, *event))
		t->traffic.lost++;
	return 0;
}

struct error *tracer_open_late(struct tracer *t)
{
	int fd = compiler_map(t->compiler, "late");

	t->late_ring = fd < 0 ? NULL : ring_open(fd, on_late, t);
	return t->late_ring ? NULL
			    : error_errno(ERROR_IO, errno,
					  "cannot map the ring buffer of --traffic");
}

void tracer_poll_traffic(struct tracer *t)
{
	if (!t->late_ring)
		return;
	ring_consume(t->late_ring);
	if (!t->late.len)
		return;
	/* Each miss came into its ring before the events of its block did. */
	if (t->handler)
		miss_handler_catch_up(t->handler);
	vec_foreach (event, &t->late)
		traffic_tables_count(&t->traffic, event, tracer_stack(t, event->stack));
	t->late.len = 0;
}

/* --- processes -------------------------------------------------------------------- */

void tracer_block_gone(struct tracer *t, uint32_t slot, const struct abi_block *block)
{
	traffic_tables_count_gone(&t->traffic, slot, block->size_bytes,
				  tracer_stack(t, block->stack));
}

/* --- snapshots -------------------------------------------------------------------- */

struct error *tracer_add_traffic(struct tracer *t, const struct drain_slots *slots,
				 struct snapshot *snap)
{
	struct error *err = NULL;

	if (t->run.peak) {
		traffic_tables_freeze_peak(&t->traffic);
		if (!fence_wait(&t->fence))
			err = error_create(ERROR_IO,
					   "probes have not ended for seconds, so the "
					   "counts of --peak are not consistent: try "
					   "again when the machine is less busy");
	}
	tracer_poll_traffic(t);
	if (!err && t->run.peak)
		err = drain_peak(&t->traffic, slots, &t->ticks, snap);
	if (t->run.peak)
		traffic_tables_thaw_peak(&t->traffic, tick_clock_now(&t->ticks));
	if (err)
		return err;
	snap->losses[LOSS_TRAFFIC_LOST] += t->traffic.lost + t->traffic.all->late_lost;
	snap->losses[LOSS_THREADS_FULL] += t->traffic.all->threads_full;
	if (t->run.peak)
		snap->losses[LOSS_TRAFFIC_LOST] += t->traffic.heap_peak->left_out;
	return drain_traffic(&t->traffic, slots, &t->ticks, snap);
}

void tracer_close_traffic(struct tracer *t)
{
	ring_close(t->late_ring);
	vec_deinit(&t->late);
	traffic_tables_close(&t->traffic);
}
