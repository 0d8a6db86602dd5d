// SPDX-License-Identifier: Apache-2.0
#include "drain/drain_traffic.h"

#include <stdlib.h>
#include <string.h>

#include "bpf/mapped.h"
#include "process/proc.h"

_Static_assert(SNAPSHOT_BUCKETS == ABI_SIZE_BUCKETS, "same buckets");
_Static_assert(SNAPSHOT_LIFETIMES == ABI_LIFETIME_BUCKETS, "same buckets");

struct drain_paths {
	const struct traffic_tables *tables;
	const struct drain_slots *slots;
	const struct tick_clock *ticks;
	struct snapshot *snap;
};

/* --- peaks ------------------------------------------------------------------------ */

/* The time of a peak; 0 if nothing was ever outstanding. */
static uint64_t peak_time_ns(const struct drain_paths *d, const struct abi_outstanding *o)
{
	uint64_t time_ns;

	if (!o->peak_bytes)
		return 0;
	/* Ticks are rounded down, possibly to a time before the attach. */
	time_ns = tick_clock_time_ns(d->ticks, ABI_PEAK_TICKS(o->peak_when));
	return time_ns < d->snap->attached_ns ? d->snap->attached_ns : time_ns;
}

/* --- call paths ------------------------------------------------------------------- */

static bool read_details(struct snapshot *snap, const struct abi_traffic *elements,
			 uint32_t count)
{
	if (!vec_reserve(&snap->lifetimes, snap->lifetimes.len + count) ||
	    !vec_reserve(&snap->path_sizes, snap->path_sizes.len + count))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		memcpy(snap->lifetimes.data[snap->lifetimes.len++].count,
		       elements[i].lifetime, sizeof(snap->lifetimes.data->count));
		memcpy(snap->path_sizes.data[snap->path_sizes.len++].count,
		       elements[i].size, sizeof(snap->path_sizes.data->count));
	}
	return true;
}

static bool read_paths(const void *elements, uint32_t first, uint32_t count, void *arg)
{
	struct drain_paths *d = arg;
	struct snapshot *snap = d->snap;

	(void)first;
	if (!vec_reserve(&snap->traffic, snap->traffic.len + count) ||
	    (!snap->sums_only && !read_details(snap, elements, count)))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		/* A copy, so that each field is read only once. */
		struct abi_flow flow =
			((const volatile struct abi_traffic *)elements)[i].flow;

		snap->traffic.data[snap->traffic.len++] = (struct snapshot_traffic){
			.allocations = flow.allocations,
			.allocated_bytes = flow.allocated_bytes,
			.frees = flow.frees,
			.freed_bytes = flow.freed_bytes,
			.temporary = flow.temporary,
			.peak_bytes = flow.outstanding.peak_bytes,
			.peak_time_ns = peak_time_ns(d, &flow.outstanding),
			.peak_count = (uint32_t)flow.outstanding.peak_when,
		};
	}
	return true;
}

static bool read_estimates(const void *elements, uint32_t first, uint32_t count,
			   void *arg)
{
	const struct drain_paths *d = arg;

	for (uint32_t i = 0; i < count; i++) {
		struct abi_flow f = ((const volatile struct abi_flow *)elements)[i];
		struct snapshot_traffic *t = &d->snap->traffic.data[first + i];

		t->estimated_allocations = f.allocations >> ABI_SAMPLE_WEIGHT_SHIFT;
		t->estimated_allocated_bytes = f.allocated_bytes;
		t->estimated_frees = f.frees >> ABI_SAMPLE_WEIGHT_SHIFT;
		t->estimated_freed_bytes = f.freed_bytes;
		t->estimated_temporary = f.temporary >> ABI_SAMPLE_WEIGHT_SHIFT;
		t->estimated_peak_bytes = f.outstanding.peak_bytes;
	}
	return true;
}

/* --- threads ---------------------------------------------------------------------- */

static bool add_thread(struct drain_paths *d, struct abi_thread *thread, uint32_t process)
{
	const struct snapshot_process *owner = snapshot_process(d->snap, process);
	struct snapshot_thread t = {
		.process = process,
		.tid = ABI_THREAD_TID(thread->key),
		.allocations = thread->allocations,
		.allocated_bytes = thread->allocated_bytes,
		.frees = thread->frees,
		.freed_bytes = thread->freed_bytes,
		.freed_by_others = thread->freed_by_others,
		.freed_by_others_bytes = thread->freed_by_others_bytes,
		.freed_own = thread->freed_own,
		.freed_own_bytes = thread->freed_own_bytes,
	};
	char name[PROC_COMM_SIZE];

	t.exited = !owner || owner->exited || !proc_thread_name(owner->pid, t.tid, name);
	if (!t.exited)
		memcpy(thread->name, name, sizeof(name));
	memcpy(name, thread->name, sizeof(name));
	name[sizeof(name) - 1] = 0;
	t.name = strdup(name);
	if (t.name && vec_push(&d->snap->threads, t))
		return true;
	free(t.name);
	return false;
}

static bool read_threads(const void *elements, uint32_t first, uint32_t count, void *arg)
{
	struct drain_paths *d = arg;
	const struct source_sizes *sizes = d->tables->sizes;

	(void)first;
	for (uint32_t i = 0; i < count; i++) {
		/* Writable: see mapped_walk_writable(). */
		struct abi_thread *thread =
			(void *)((char *)(uintptr_t)elements +
				 (size_t)i * sizes->thread_record_bytes);
		uint64_t key = __atomic_load_n(&thread->key, __ATOMIC_ACQUIRE);
		uint32_t slot = ABI_THREAD_SLOT(key);
		uint32_t process = key && slot < sizes->process_slots
					   ? d->slots->process[slot]
					   : SNAPSHOT_NO_PROCESS;

		if (process != SNAPSHOT_NO_PROCESS && !add_thread(d, thread, process))
			return false;
	}
	return true;
}

static int compare_threads(const void *pa, const void *pb)
{
	const struct snapshot_thread *a = pa, *b = pb;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return a->tid < b->tid ? -1 : a->tid > b->tid;
}

/* --- all together ----------------------------------------------------------------- */

static bool add_sizes(const void *elements, uint32_t first, uint32_t count, void *arg)
{
	const volatile struct abi_sizes *sizes = elements;
	struct drain_paths *d = arg;

	(void)first;
	for (uint32_t i = 0; i < count; i++)
		for (size_t j = 0; j < ABI_SIZE_BUCKETS; j++)
			d->snap->sizes[j] += sizes[i].count[j];
	return true;
}

static void read_outstanding(struct drain_paths *d)
{
	struct abi_traffic_all all =
		*(const volatile struct abi_traffic_all *)d->tables->all;

	/* Otherwise drain_peak() knows better. */
	if (!d->tables->heap_peak || d->tables->maps.estimates >= 0)
		d->snap->peak_bytes = all.traced.peak_bytes;
	if (d->tables->heap_peak)
		return;
	d->snap->peak_time_ns = peak_time_ns(d, &all.traced);
	d->snap->estimated_peak_bytes = all.estimated.peak_bytes;
}

struct error *drain_traffic(const struct traffic_tables *tables,
			    const struct drain_slots *slots,
			    const struct tick_clock *ticks, struct snapshot *snap)
{
	struct drain_paths d = {tables, slots, ticks, snap};
	uint32_t stacks = (uint32_t)snap->stacks.len;
	struct error *err;

	err = mapped_walk(tables->maps.traffic, stacks, sizeof(struct abi_traffic),
			  read_paths, &d);
	if (!err && tables->maps.estimates >= 0)
		err = mapped_walk(tables->maps.estimates, stacks, sizeof(struct abi_flow),
				  read_estimates, &d);
	if (!err)
		err = mapped_walk(tables->maps.sizes, tables->sizes->cpu_slots,
				  sizeof(struct abi_sizes), add_sizes, &d);
	if (!err)
		err = mapped_walk_writable(
			tables->maps.threads, tables->sizes->thread_slots,
			tables->sizes->thread_record_bytes, read_threads, &d);
	if (err)
		return err;
	if (snap->threads.len)
		qsort(snap->threads.data, snap->threads.len, sizeof(*snap->threads.data),
		      compare_threads);
	read_outstanding(&d);
	snap->has_traffic = true;
	snap->has_lifetimes = !snap->sums_only;
	return NULL;
}
