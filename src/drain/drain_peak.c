// SPDX-License-Identifier: Apache-2.0
#include "drain/drain_peak.h"

#include <sched.h>
#include <stdlib.h>

#include "bpf/mapped.h"
#include "util/cleanup.h"

/* How often a record is read that a probe is changing; the probe's thread may have been
 * preempted. */
#define READ_TRIES 100000

struct drain_peaks {
	struct snapshot *snap;
	uint64_t number;       /* of the last peak */
	unsigned blocks_shift; /* 16 if blocks are counted in units of 1/65536 */
};

/* --- records of call paths -------------------------------------------------------- */

/* Copy a record while no probe changes it. */
static struct abi_path_peak read_record(const struct abi_path_peak *from)
{
	const volatile struct abi_path_peak *at = from;
	struct abi_path_peak copy;

	for (int i = 0; i < READ_TRIES; i++) {
		uint64_t version = at->version;

		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		copy = *at;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (!(version & 1) && at->version == version)
			break;
		sched_yield();
	}
	return copy;
}

/* Differences modulo 2^64: a free can be counted before its allocation. */
static bool read_paths(const void *elements, uint32_t first, uint32_t count, void *arg)
{
	const struct abi_path_peak *records = elements;
	struct drain_peaks *d = arg;

	(void)first;
	if (!vec_reserve(&d->snap->at_peak, d->snap->at_peak.len + count))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		struct abi_path_peak p = read_record(&records[i]);
		uint64_t is_included = p.label <= d->number;

		d->snap->at_peak.data[d->snap->at_peak.len++] = (struct snapshot_at_peak){
			.bytes = p.bytes_before + is_included * p.bytes,
			.count = p.blocks_before + is_included * p.blocks,
		};
	}
	return true;
}

/* --- processes that have ended ---------------------------------------------------- */

/* Subtract the blocks of processes that had ended before the peak. They are still in the
 * tables until a report has shown the processes. */
static bool subtract_ended(struct drain_peaks *d, const struct traffic_tables *tables,
			   const struct drain_slots *slots)
{
	_cleanup_(freep) bool *ended = calloc(d->snap->processes.len + 1, sizeof(*ended));
	bool has_any = false;

	if (!ended)
		return false;
	for (uint32_t i = 0; i < tables->sizes->process_slots; i++) {
		uint64_t label = tables->process_live[i].end_label;

		if (!label || label > d->number ||
		    slots->process[i] >= d->snap->processes.len)
			continue;
		ended[slots->process[i]] = has_any = true;
	}
	if (!has_any)
		return true;
	vec_foreach (block, &d->snap->blocks[BLOCK_HEAP]) {
		uint64_t bytes, blocks;

		if (block->process >= d->snap->processes.len || !ended[block->process] ||
		    block->stack >= d->snap->at_peak.len)
			continue;
		traffic_tables_weigh(tables, block->size_bytes, &bytes, &blocks);
		d->snap->at_peak.data[block->stack].bytes -= bytes;
		d->snap->at_peak.data[block->stack].count -= blocks;
	}
	return true;
}

/* --- all together ----------------------------------------------------------------- */

static void finish(const struct drain_peaks *d)
{
	vec_foreach (path, &d->snap->at_peak) {
		if ((int64_t)path->bytes < 0)
			path->bytes = 0;
		if ((int64_t)path->count < 0)
			path->count = 0;
		path->count >>= d->blocks_shift;
	}
}

static void read_heap(const struct traffic_tables *tables, const struct tick_clock *ticks,
		      struct snapshot *snap)
{
	const struct abi_heap_peak heap =
		*(const volatile struct abi_heap_peak *)tables->heap_peak;
	uint64_t time_ns = tick_clock_time_ns(ticks, heap.ticks);

	if (tables->maps.estimates >= 0)
		snap->estimated_peak_bytes = heap.bytes;
	else
		snap->peak_bytes = heap.bytes;
	if (heap.bytes)
		/* Ticks are rounded down, possibly to a time before the attach. */
		snap->peak_time_ns =
			time_ns < snap->attached_ns ? snap->attached_ns : time_ns;
	if (heap.missed_bytes > heap.bytes)
		snap->missed_peak_bytes = heap.missed_bytes;
}

struct error *drain_peak(const struct traffic_tables *tables,
			 const struct drain_slots *slots, const struct tick_clock *ticks,
			 struct snapshot *snap)
{
	struct drain_peaks d = {
		.snap = snap,
		.number = tables->heap_peak->number,
		.blocks_shift = tables->maps.estimates >= 0 ? ABI_SAMPLE_WEIGHT_SHIFT : 0,
	};
	struct error *err =
		mapped_walk(tables->maps.path_peaks, (uint32_t)snap->stacks.len,
			    sizeof(struct abi_path_peak), read_paths, &d);

	if (err)
		return err;
	if (!subtract_ended(&d, tables, slots))
		return error_no_memory();
	finish(&d);
	read_heap(tables, ticks, snap);
	snap->has_at_peak = true;
	return NULL;
}
