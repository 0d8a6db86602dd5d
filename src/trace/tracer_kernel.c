// SPDX-License-Identifier: Apache-2.0
/* Traces the kernel's own allocations (probes/kernel.c). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/bpf.h>

#include "bpf/mapped.h"
#include "bpf/syscall.h"
#include "compile/source_kernel.h"
#include "trace/tracer_state.h"

/* --- attach ----------------------------------------------------------------------- */

struct error *tracer_try_kernel(struct tracer *t)
{
	t->program_count = t->kernel_points.list.len;
	for (size_t i = 0; i < t->kernel_points.list.len; i++) {
		const struct kernel_point *point = &t->kernel_points.list.data[i];
		const struct program_kind kind = {point->is_raw
							  ? BPF_PROG_TYPE_RAW_TRACEPOINT
							  : BPF_PROG_TYPE_TRACEPOINT,
						  0};
		char name[PROGRAM_NAME_MAX];
		const char *const names[] = {name};
		struct error *err;

		source_point_name(point, name);
		err = compiler_load(t->compiler, names, 1, kind, &t->programs[i]);
		if (err) {
			t->programs[i] = -1;
			return err;
		}
	}
	return NULL;
}

static struct error *attach_raw(struct tracer *t, const struct kernel_point *point,
				int program)
{
	union bpf_attr attr;
	int link;

	memset(&attr, 0, sizeof(attr));
	attr.raw_tracepoint.name = (uint64_t)(uintptr_t)point->name;
	attr.raw_tracepoint.prog_fd = (uint32_t)program;
	link = sys_bpf(BPF_RAW_TRACEPOINT_OPEN, &attr, sizeof(attr));
	if (link == -EPERM || link == -EACCES)
		return error_errno(ERROR_PERMISSION, -link,
				   "the kernel does not allow the tracepoint %s: "
				   "CAP_BPF and CAP_PERFMON are needed",
				   point->name);
	if (link < 0)
		return error_errno(ERROR_UNSUPPORTED, -link,
				   "cannot attach to the tracepoint %s:%s",
				   point->category, point->name);
	if (vec_push(&t->kernel_events.fds, link))
		return NULL;
	close(link);
	return error_no_memory();
}

static struct error *attach_record(struct tracer *t, const struct kernel_point *point,
				   int program)
{
	const struct event_spec spec = {.kind = EVENT_TRACEPOINT,
					.text = (char *)"--kernel",
					.group = (char *)point->category,
					.name = (char *)point->name,
					.number = 1};

	return kernel_events_attach(&t->kernel_events, &spec, program);
}

struct error *tracer_attach_kernel(struct tracer *t)
{
	struct error *err = NULL;

	for (size_t i = 0; !err && i < t->kernel_points.list.len; i++) {
		const struct kernel_point *point = &t->kernel_points.list.data[i];

		err = point->is_raw ? attach_raw(t, point, t->programs[i])
				    : attach_record(t, point, t->programs[i]);
	}
	return err;
}

struct error *tracer_number_kernel(struct tracer *t)
{
	for (size_t i = 0; i < KERNEL_CLASS_COUNT; i++) {
		struct snapshot_allocator a = {strdup(kernel_class_name(i)),
					       strdup("[kernel]")};

		if (!a.label || !a.module || !vec_push(&t->allocators, a)) {
			free(a.label);
			free(a.module);
			return error_no_memory();
		}
	}
	return NULL;
}

/* --- snapshots -------------------------------------------------------------------- */

static bool sum_counters(const void *elements, uint32_t first, uint32_t count, void *arg)
{
	const struct abi_kernel_counters *records = elements;
	struct abi_kernel_counters *sum = arg;

	(void)first;
	for (uint32_t i = 0; i < count; i++)
		for (int kind = 0; kind < ABI_KERNEL_CLASS_COUNT; kind++)
			for (int j = 0; j < ABI_KERNEL_COUNTER_COUNT; j++)
				sum->value[kind][j] +=
					*(const volatile uint64_t *)&records[i]
						 .value[kind][j];
	return true;
}

static void add_totals(struct snapshot_totals *sum, const struct snapshot_totals *more)
{
	sum->allocations += more->allocations;
	sum->allocated_bytes += more->allocated_bytes;
	sum->frees += more->frees;
	sum->freed_bytes += more->freed_bytes;
	sum->frees_unknown += more->frees_unknown;
	sum->failures += more->failures;
}

static bool is_of_tracing(const struct tracer *t, uint64_t pc)
{
	vec_foreach (range, &t->run.kernel->places[KERNEL_PLACE_TRACE])
		if (pc > range->start && pc <= range->end)
			return true;
	return false;
}

/* Most frames of memtrace's BPF program, which come before the frames that called it. */
#define PROGRAM_FRAMES_MAX 4

/* Cut off the first frames of each stack: memtrace's program and the kernel functions
 * that ran it. The next frame is the allocation's. Stop there, because another BPF
 * program may be further out. */
static void cut_tracing(const struct tracer *t, struct snapshot *snap)
{
	vec_foreach (stack, &snap->stacks) {
		uint16_t cut = 0;

		for (uint16_t i = 0; i < stack->depth; i++) {
			if (is_of_tracing(t, snap->frames.data[stack->first_frame + i]))
				cut = i + 1;
			else if (cut || i >= PROGRAM_FRAMES_MAX)
				break;
		}
		stack->first_frame += cut;
		stack->depth -= cut;
	}
}

/* Kernel addresses have their upper bits set (Documentation/arch/x86/x86_64/mm.rst); the
 * keys of blocks do not store these bits. */
static void complete_addresses(struct snapshot *snap)
{
	vec_foreach (block, &snap->blocks[BLOCK_KERNEL])
		if (block->address >> (ABI_ADDRESS_BITS - 1))
			block->address |= ~UINT64_C(0) << ABI_ADDRESS_BITS;
}

struct error *tracer_add_kernel(struct tracer *t, struct snapshot *snap)
{
	struct abi_kernel_counters sum = {{{0}}};
	int fd = compiler_map(t->compiler, "kernel_counters");
	struct error *err =
		fd < 0 ? error_create(ERROR_COMPILE,
				      "the compiled probes have no map kernel_counters")
		       : mapped_walk(fd, t->source->sizes.cpu_slots, sizeof(sum),
				     sum_counters, &sum);

	if (err)
		return err;
	snap->kernel_traced = snap->heap_untraced = true;
	snap->totals[BLOCK_HEAP] = (struct snapshot_totals){0};
	memcpy(&snap->blocks[BLOCK_KERNEL], &snap->blocks[BLOCK_HEAP],
	       sizeof(snap->blocks[BLOCK_KERNEL]));
	memset(&snap->blocks[BLOCK_HEAP], 0, sizeof(snap->blocks[BLOCK_HEAP]));
	for (size_t i = 0; i < KERNEL_CLASS_COUNT; i++) {
		const uint64_t *n = sum.value[i];
		struct snapshot_kernel_class kind = {
			.name = strdup(kernel_class_name(i))};

		if (!kind.name || !vec_push(&snap->kernel_classes, kind)) {
			free(kind.name);
			return error_no_memory();
		}

		struct snapshot_totals *totals = &snap->kernel_classes.data[i].totals;

		*totals = (struct snapshot_totals){
			.allocations = n[ABI_KERNEL_ALLOCATIONS],
			.allocated_bytes = n[ABI_KERNEL_ALLOCATED_BYTES],
			.frees = n[ABI_KERNEL_FREES],
			.freed_bytes = n[ABI_KERNEL_FREED_BYTES],
			.frees_unknown = n[ABI_KERNEL_FREES_UNKNOWN],
			.failures = n[ABI_KERNEL_FAILURES],
		};

		add_totals(&snap->totals[BLOCK_KERNEL], totals);
	}
	cut_tracing(t, snap);
	complete_addresses(snap);
	return NULL;
}
