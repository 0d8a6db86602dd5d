// SPDX-License-Identifier: Apache-2.0
#include "reach/sweep.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include "util/quiet_thread.h"

/* A thread takes so much at a time, and more if there is very much. */
#define SLICE_BYTES (UINT64_C(8) << 20)
#define SLICES_MAX  65536

#define STACK_BYTES ((size_t)256 << 10)

/* What all threads share. */
struct work {
	struct reach_regions slices;
	size_t next; /* index of the next slice to take; atomic */
};

struct sweeper {
	struct work *work;
	struct reach_memory memory;
	struct reach_marks marks;
	pthread_t thread;
	bool runs;
};

static bool cut_into_slices(const struct reach_regions *regions, struct work *work)
{
	uint64_t total = 0, slice = SLICE_BYTES;

	vec_foreach (region, &regions->list)
		total += region->end - region->start;
	while (total / slice > SLICES_MAX)
		slice *= 2;
	vec_foreach (region, &regions->list) {
		struct reach_region part = *region;

		for (; part.start < region->end; part.start = part.end) {
			/* At multiples of pages. */
			part.end = (part.start / slice + 1) * slice;
			if (part.end > region->end)
				part.end = region->end;
			if (!vec_push(&work->slices.list, part))
				return false;
		}
	}
	return true;
}

static void take_slices(struct work *work, struct reach_memory *memory,
			struct reach_marks *marks)
{
	size_t i;

	while ((i = __atomic_fetch_add(&work->next, 1, __ATOMIC_RELAXED)) <
	       work->slices.list.len)
		reach_memory_sweep_region(memory, &work->slices.list.data[i], marks);
}

static void *sweep(void *arg)
{
	struct sweeper *sweeper = arg;

	take_slices(sweeper->work, &sweeper->memory, &sweeper->marks);
	return NULL;
}

/* Signals are for the thread that has stopped the process. */
static bool start(struct sweeper *sweeper)
{
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	sweeper->runs =
		!quiet_thread_start(&sweeper->thread, &attributes, sweep, sweeper);
	pthread_attr_destroy(&attributes);
	return sweeper->runs;
}

/* Another thread's own state. */
static bool prepare(struct sweeper *sweeper, struct work *work,
		    const struct reach_memory *memory, const struct reach_marks *marks)
{
	sweeper->work = work;
	sweeper->marks = *marks;
	sweeper->marks.is_apart = true;
	sweeper->marks.followed = NULL;
	sweeper->marks.todo.data = NULL;
	sweeper->marks.todo.len = sweeper->marks.todo.cap = 0;
	return reach_memory_share(memory, &sweeper->memory);
}

/* Add what a thread has found, and free its state. */
static void collect(struct sweeper *sweeper, struct reach_memory *memory,
		    struct reach_marks *marks)
{
	memory->read_bytes += sweeper->memory.read_bytes;
	memory->is_late |= sweeper->memory.is_late;
	memory->is_gone |= sweeper->memory.is_gone;
	memory->is_denied |= sweeper->memory.is_denied;
	marks->no_memory |=
		sweeper->marks.no_memory || !vec_copy(&sweeper->marks.todo, &marks->todo);
	vec_deinit(&sweeper->marks.todo);
	reach_memory_unshare(&sweeper->memory);
}

void reach_sweep(struct reach_memory *memory, const struct reach_regions *regions,
		 struct reach_marks *marks)
{
	struct sweeper sweepers[REACH_SWEEPERS] = {{.runs = false}};
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	struct work work = {.next = 0};
	size_t count = 0;

	if (!cut_into_slices(regions, &work))
		marks->no_memory = true;
	/* This thread is one of them. */
	while (!marks->no_memory && count + 1 < REACH_SWEEPERS &&
	       count + 1 < (size_t)processors && count + 1 < work.slices.list.len) {
		struct sweeper *sweeper = &sweepers[count];

		if (!prepare(sweeper, &work, memory, marks))
			break;
		count++;
		if (!start(sweeper))
			break;
	}
	marks->is_apart = true;
	if (!marks->no_memory)
		take_slices(&work, memory, marks);
	for (size_t i = 0; i < count; i++) {
		if (sweepers[i].runs)
			pthread_join(sweepers[i].thread, NULL);
		collect(&sweepers[i], memory, marks);
	}
	reach_regions_deinit(&work.slices);
}
