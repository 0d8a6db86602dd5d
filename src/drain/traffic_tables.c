// SPDX-License-Identifier: Apache-2.0
#include "drain/traffic_tables.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bpf/mapped.h"
#include "snapshot/sampling.h"

/* Elements that are mapped together: whole pages for any page size up to 64 KiB. */
#define PART_ELEMENTS 4096

_Static_assert(PART_ELEMENTS * sizeof(struct abi_traffic) % 65536 == 0, "whole pages");
_Static_assert(PART_ELEMENTS * sizeof(struct abi_flow) % 65536 == 0, "whole pages");
_Static_assert(PART_ELEMENTS * sizeof(struct abi_path_peak) % 65536 == 0, "whole pages");

/* --- elements by stack ------------------------------------------------------------ */

static size_t part_count(const struct stack_elements *e)
{
	return (e->count + PART_ELEMENTS - 1) / PART_ELEMENTS;
}

static size_t part_bytes(const struct stack_elements *e, size_t part)
{
	size_t rest = e->count - part * PART_ELEMENTS;

	return (rest < PART_ELEMENTS ? rest : PART_ELEMENTS) * e->element_bytes;
}

static bool elements_init(struct stack_elements *ret, int fd, uint32_t count,
			  size_t element_bytes)
{
	*ret = (struct stack_elements){fd, count, element_bytes, NULL};
	ret->parts = calloc(part_count(ret), sizeof(*ret->parts));
	return ret->parts;
}

static void elements_deinit(struct stack_elements *e)
{
	for (size_t i = 0; e->parts && i < part_count(e); i++)
		if (e->parts[i])
			munmap(e->parts[i], part_bytes(e, i));
	free(e->parts);
	e->parts = NULL;
}

/* The element of a stack, or NULL if it cannot be mapped. */
static void *element(struct stack_elements *e, uint32_t stack)
{
	size_t part = stack / PART_ELEMENTS;

	if (!e->parts[part]) {
		void *mapped = mmap(NULL, part_bytes(e, part), PROT_READ | PROT_WRITE,
				    MAP_SHARED, e->fd,
				    (off_t)(part * PART_ELEMENTS * e->element_bytes));

		if (mapped == MAP_FAILED)
			return NULL;
		e->parts[part] = mapped;
	}
	return (char *)e->parts[part] + stack % PART_ELEMENTS * e->element_bytes;
}

/* --- all together ----------------------------------------------------------------- */

static size_t process_live_bytes(const struct source_sizes *sizes)
{
	return sizes->process_slots * sizeof(struct abi_process_live);
}

static const size_t late_numbers_bytes = ABI_LATE_NUMBERS * sizeof(uint64_t);

struct error *traffic_tables_open(const struct traffic_maps *maps,
				  const struct source_sizes *sizes, uint64_t sample_bytes,
				  struct traffic_tables *ret)
{
	*ret = (struct traffic_tables){.maps = *maps, .sizes = sizes};
	ret->all = mapped_open(maps->all, sizeof(*ret->all));
	ret->process_live = mapped_open(maps->process_live, process_live_bytes(sizes));
	if (maps->late_numbers >= 0)
		ret->late_numbers = mapped_open(maps->late_numbers, late_numbers_bytes);
	if (maps->heap_peak >= 0)
		ret->heap_peak = mapped_open(maps->heap_peak, sizeof(*ret->heap_peak));
	if (!ret->all || !ret->process_live ||
	    (maps->late_numbers >= 0 && !ret->late_numbers) ||
	    (maps->heap_peak >= 0 && !ret->heap_peak)) {
		struct error *err =
			error_errno(ERROR_IO, errno,
				    "cannot map the BPF maps of --traffic and --peak");

		traffic_tables_close(ret);
		return err;
	}
	if (!elements_init(&ret->paths, maps->traffic, sizes->max_stacks,
			   sizeof(struct abi_traffic)) ||
	    !elements_init(&ret->estimates, maps->estimates, sizes->max_stacks,
			   sizeof(struct abi_flow)) ||
	    !elements_init(&ret->path_peaks, maps->path_peaks, sizes->max_stacks,
			   sizeof(struct abi_path_peak))) {
		traffic_tables_close(ret);
		return error_no_memory();
	}
	if (ret->heap_peak)
		ret->heap_peak->state = ABI_PEAK_ZERO;
	for (size_t i = 0; sample_bytes && i < ABI_SAMPLE_CLASSES; i++) {
		uint32_t threshold = sampling_threshold(sample_bytes, i);
		double weight = sampling_threshold_weight(threshold);

		ret->weights[i] = (uint64_t)round(ldexp(weight, ABI_SAMPLE_WEIGHT_SHIFT));
	}
	return NULL;
}

void traffic_tables_close(struct traffic_tables *t)
{
	elements_deinit(&t->paths);
	elements_deinit(&t->estimates);
	elements_deinit(&t->path_peaks);
	mapped_close(t->heap_peak, sizeof(*t->heap_peak));
	mapped_close(t->all, sizeof(*t->all));
	mapped_close(t->late_numbers, late_numbers_bytes);
	if (t->sizes)
		mapped_close(t->process_live, process_live_bytes(t->sizes));
	*t = (struct traffic_tables){0};
}

/* --- call paths ------------------------------------------------------------------- */

static void count_in(struct abi_flow *f, const struct abi_late *e, uint64_t blocks,
		     uint64_t bytes, uint64_t old_blocks, uint64_t old_bytes, int shift)
{
	switch (e->kind) {
	case ABI_LATE_ALLOCATED:
		abi_flow_allocated(f, blocks, bytes, e->ticks, shift);
		break;
	case ABI_LATE_FREED:
	case ABI_LATE_GONE:
		abi_flow_freed(f, blocks, bytes, e->is_temporary);
		break;
	case ABI_LATE_RESIZED:
		abi_flow_resized(f, blocks - old_blocks, old_bytes, bytes, e->ticks,
				 shift);
		break;
	default:
		break;
	}
}

static uint64_t weight_of(const struct traffic_tables *t, uint64_t size_bytes)
{
	return t->weights[abi_sample_class(size_bytes)];
}

static void count_at(struct traffic_tables *t, const struct abi_late *e, uint32_t stack)
{
	struct abi_traffic *path = element(&t->paths, stack);

	if (!path) {
		t->lost++;
		return;
	}
	count_in(&path->flow, e, 1, e->bytes, 1, e->old_bytes, 0);
	if (e->kind == ABI_LATE_ALLOCATED)
		__atomic_add_fetch(&path->size[abi_path_size(abi_bucket(e->bytes))], 1,
				   __ATOMIC_SEQ_CST);
	if (e->kind == ABI_LATE_FREED)
		__atomic_add_fetch(&path->lifetime[e->lifetime % ABI_LIFETIME_BUCKETS], 1,
				   __ATOMIC_SEQ_CST);
}

static void estimate_at(struct traffic_tables *t, const struct abi_late *e,
			uint32_t stack)
{
	struct abi_flow *estimate = element(&t->estimates, stack);
	uint64_t weight = weight_of(t, e->bytes), old_weight = weight_of(t, e->old_bytes);

	if (estimate)
		count_in(estimate, e, weight,
			 e->bytes * weight >> ABI_SAMPLE_WEIGHT_SHIFT, old_weight,
			 e->old_bytes * old_weight >> ABI_SAMPLE_WEIGHT_SHIFT,
			 ABI_SAMPLE_WEIGHT_SHIFT);
	else
		t->lost++;
}

/* How often a record is tried that a probe is changing. Each time but the first few the
 * processor is given to the probe's thread, which may have been preempted. */
#define RECORD_TRIES 100000

/* Change the record of a call path at the peak, once the probe that is changing it has
 * done so. */
static void change_peak(struct traffic_tables *t, uint32_t stack, uint64_t label,
			uint64_t bytes, uint64_t blocks)
{
	struct abi_path_peak *path = element(&t->path_peaks, stack);

	for (int i = 0; path && i < RECORD_TRIES; i++) {
		if (abi_path_peak_add(path, label, bytes, blocks))
			return;
		sched_yield();
	}
	t->lost++;
}

static void count_peak(struct traffic_tables *t, const struct abi_late *e, uint32_t stack)
{
	uint64_t bytes, blocks, old_bytes, old_blocks;

	traffic_tables_weigh(t, e->bytes, &bytes, &blocks);
	traffic_tables_weigh(t, e->old_bytes, &old_bytes, &old_blocks);
	switch (e->kind) {
	case ABI_LATE_ALLOCATED:
		change_peak(t, stack, e->label, bytes, blocks);
		break;
	case ABI_LATE_FREED:
	case ABI_LATE_GONE:
		change_peak(t, stack, e->label, -bytes, -blocks);
		break;
	case ABI_LATE_RESIZED:
		change_peak(t, stack, e->label, bytes - old_bytes, blocks - old_blocks);
		break;
	case ABI_LATE_AT_PEAK:
		change_peak(t, stack, e->label, e->bytes, e->old_bytes);
		break;
	default:
		break;
	}
}

void traffic_tables_count(struct traffic_tables *t, const struct abi_late *e,
			  uint32_t stack)
{
	if (stack < t->sizes->max_stacks) {
		if (e->kind != ABI_LATE_AT_PEAK)
			count_at(t, e, stack);
		if (e->kind != ABI_LATE_AT_PEAK && t->maps.estimates >= 0)
			estimate_at(t, e, stack);
		if (t->heap_peak && e->label)
			count_peak(t, e, stack);
	}
	/* Only after the allocation was counted. */
	if (e->kind == ABI_LATE_ALLOCATED && t->late_numbers)
		__atomic_store_n(&t->late_numbers[e->stack % ABI_LATE_NUMBERS],
				 ABI_LATE_NUMBER(e->stack, stack), __ATOMIC_SEQ_CST);
}

/* --- the peak --------------------------------------------------------------------- */

void traffic_tables_weigh(const struct traffic_tables *t, uint64_t size_bytes,
			  uint64_t *bytes, uint64_t *blocks)
{
	*bytes = size_bytes;
	*blocks = 1;
	if (t->maps.estimates < 0)
		return;
	*blocks = weight_of(t, size_bytes);
	*bytes = size_bytes * *blocks >> ABI_SAMPLE_WEIGHT_SHIFT;
}

void traffic_tables_freeze_peak(struct traffic_tables *t)
{
	__atomic_store_n(&t->heap_peak->frozen, 1, __ATOMIC_SEQ_CST);
}

void traffic_tables_thaw_peak(struct traffic_tables *t, uint64_t ticks)
{
	int is_peak = 0;

	__atomic_store_n(&t->heap_peak->frozen, 0, __ATOMIC_SEQ_CST);
	(void)abi_heap_peak_add(t->heap_peak, 0, &is_peak);
	if (is_peak)
		t->heap_peak->ticks = ticks;
}

/* --- processes -------------------------------------------------------------------- */

static uint64_t take_all(struct abi_outstanding *all, uint64_t *own)
{
	uint64_t bytes = __atomic_exchange_n(own, 0, __ATOMIC_SEQ_CST);

	__atomic_sub_fetch(&all->live_bytes, bytes, __ATOMIC_SEQ_CST);
	return bytes;
}

void traffic_tables_end_process(struct traffic_tables *t, uint32_t slot)
{
	struct abi_process_live *own = &t->process_live[slot];
	uint64_t bytes = take_all(&t->all->traced, &own->bytes);
	uint64_t estimated = take_all(&t->all->estimated, &own->estimated_bytes);

	if (t->maps.estimates >= 0)
		bytes = estimated;
	/* Blocks of size 0 need a label, too. */
	if (t->heap_peak && (bytes || !own->end_label))
		own->end_label = abi_heap_peak_add(t->heap_peak, -bytes, &(int){0});
}

void traffic_tables_count_gone(struct traffic_tables *t, uint32_t slot,
			       uint64_t size_bytes, uint32_t stack)
{
	const struct abi_late event = {.kind = ABI_LATE_GONE,
				       .bytes = size_bytes,
				       .label = t->process_live[slot].end_label};

	traffic_tables_count(t, &event, stack);
}

struct remove_threads {
	const struct source_sizes *sizes;
	const bool *gone;
};

static bool remove_threads(const void *elements, uint32_t first, uint32_t count,
			   void *arg)
{
	const struct remove_threads *f = arg;

	(void)first;
	for (uint32_t i = 0; i < count; i++) {
		/* Writable: see mapped_walk_writable(). */
		struct abi_thread *thread =
			(void *)((char *)(uintptr_t)elements +
				 (size_t)i * f->sizes->thread_record_bytes);
		uint32_t slot = ABI_THREAD_SLOT(thread->key);

		if (!thread->key || slot >= f->sizes->process_slots || !f->gone[slot])
			continue;
		memset(&thread->next_recent, 0,
		       f->sizes->thread_record_bytes - sizeof(thread->key));
		__atomic_store_n(&thread->key, 0, __ATOMIC_SEQ_CST);
	}
	return true;
}

struct error *traffic_tables_remove(struct traffic_tables *t, const bool gone[])
{
	struct remove_threads f = {t->sizes, gone};

	for (uint32_t i = 0; i < t->sizes->process_slots; i++) {
		if (!gone[i])
			continue;
		traffic_tables_end_process(t, i);
		t->process_live[i].end_label = 0;
	}
	return mapped_walk_writable(t->maps.threads, t->sizes->thread_slots,
				    t->sizes->thread_record_bytes, remove_threads, &f);
}
