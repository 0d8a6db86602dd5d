// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "report/build.h"
#include "util/saturate.h"

static int compare(const void *pa, const void *pb)
{
	const struct report_thread *a = pa, *b = pb;

	if (a->live_bytes != b->live_bytes)
		return a->live_bytes > b->live_bytes ? -1 : 1;
	if (a->thread->allocated_bytes != b->thread->allocated_bytes)
		return a->thread->allocated_bytes > b->thread->allocated_bytes ? -1 : 1;
	return a->thread->tid < b->thread->tid ? -1 : a->thread->tid > b->thread->tid;
}

static uint64_t left(uint64_t made, uint64_t own, uint64_t others)
{
	return saturate_subtract(made, saturate_add(own, others));
}

static uint64_t weigh(const struct builder *b, uint64_t bytes, uint64_t count)
{
	double weight = report_weight(b->report, &b->report->sections[BLOCK_HEAP],
				      count ? bytes / count : 0);

	return weight == 1 ? bytes : report_round((double)bytes * weight);
}

struct error *report_threads_build(struct builder *b)
{
	const struct report_section *heap = &b->report->sections[BLOCK_HEAP];
	size_t count = b->snap->has_traffic ? b->snap->threads.len : 0;
	struct report_thread *threads =
		report_arena_alloc(b->arena, count, sizeof(*threads));

	if (!threads)
		return error_no_memory();
	for (size_t i = 0; i < count; i++) {
		const struct snapshot_thread *thread = &b->snap->threads.data[i];
		uint64_t live_count = left(thread->allocations, thread->freed_own,
					   thread->freed_by_others);
		uint64_t live_bytes =
			left(thread->allocated_bytes, thread->freed_own_bytes,
			     thread->freed_by_others_bytes);
		double weight = report_weight(b->report, heap,
					      live_count ? live_bytes / live_count : 0);

		threads[i] = (struct report_thread){
			.thread = thread,
			.process = snapshot_process(b->snap, thread->process),
			.live_bytes = report_round((double)live_bytes * weight),
			.live_count = report_round((double)live_count * weight),
			.allocated_bytes =
				weigh(b, thread->allocated_bytes, thread->allocations),
			.freed_own_bytes =
				weigh(b, thread->freed_own_bytes, thread->freed_own),
			.freed_by_others_bytes = weigh(b, thread->freed_by_others_bytes,
						       thread->freed_by_others),
			.freed_of_others_bytes = weigh(
				b,
				saturate_subtract(thread->freed_bytes,
						  thread->freed_own_bytes),
				saturate_subtract(thread->frees, thread->freed_own)),
		};
	}
	if (count)
		qsort(threads, count, sizeof(*threads), compare);
	b->report->threads = threads;
	b->report->thread_count = count;
	return NULL;
}
