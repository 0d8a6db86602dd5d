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
#include "kernel_heap/kernel_events.h"
#include "trace/tracer_state.h"
#include "util/cleanup.h"

struct kernel_state {
	struct kernel_points points;
	struct kernel_events events; /* what is attached to them */
};

/* --- attach ----------------------------------------------------------------------- */

/* Give each class of the kernel's allocations its number. */
static struct error *number_classes(struct tracer *t)
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

static struct error *look(struct tracer *t)
{
	struct kernel_state *state = t->mode_state;
	struct error *err =
		kernel_points_find(t->config->attach == ATTACH_PERF, &state->points);

	if (err)
		return err;
	t->run.kernel_points = &state->points;
	return number_classes(t);
}

static struct error *load_point(struct tracer *t, const struct kernel_point *point,
				int *ret)
{
	const struct program_kind kind = {point->is_raw ? BPF_PROG_TYPE_RAW_TRACEPOINT
							: BPF_PROG_TYPE_TRACEPOINT,
					  0};
	char name[PROGRAM_NAME_MAX];

	source_point_name(point, name);
	return tracer_load_own(t, name, kind, ret);
}

static struct error *load(struct tracer *t, unsigned beside)
{
	const struct kernel_state *state = t->mode_state;
	struct error *err = NULL;
	int program;

	(void)beside;
	for (size_t i = 0; !err && i < state->points.list.len; i++)
		err = load_point(t, &state->points.list.data[i], &program);
	return err;
}

static struct error *attach_raw(struct tracer *t, const struct kernel_point *point,
				int program)
{
	struct kernel_state *state = t->mode_state;
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
	if (vec_push(&state->events.fds, link))
		return NULL;
	close(link);
	return error_no_memory();
}

static struct error *attach_record(struct tracer *t, const struct kernel_point *point,
				   int program)
{
	struct kernel_state *state = t->mode_state;
	const struct event_spec spec = {.kind = EVENT_TRACEPOINT,
					.text = (char *)"--kernel",
					.group = (char *)point->category,
					.name = (char *)point->name,
					.number = 1};

	return kernel_events_attach(&state->events, &spec, program);
}

static struct error *attach_once(struct tracer *t)
{
	const struct kernel_state *state = t->mode_state;
	struct error *err = NULL;
	int program;

	for (size_t i = 0; !err && i < state->points.list.len; i++) {
		const struct kernel_point *point = &state->points.list.data[i];

		err = load_point(t, point, &program);
		if (!err)
			err = point->is_raw ? attach_raw(t, point, program)
					    : attach_record(t, point, program);
	}
	return err;
}

static void close_state(struct tracer *t)
{
	struct kernel_state *state = t->mode_state;

	kernel_events_detach(&state->events);
	kernel_points_deinit(&state->points);
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

/* Add the counted totals of each class. */
static struct error *add_classes(struct tracer *t, struct snapshot *snap)
{
	struct abi_kernel_counters sum = {{{0}}};
	int fd = compiler_map(t->compiler, "kernel_counters");
	struct error *err = fd < 0 ? compiler_lacks_map("kernel_counters")
				   : mapped_walk(fd, t->source->sizes.cpu_slots,
						 sizeof(sum), sum_counters, &sum);

	if (err)
		return err;
	snap->totals[BLOCK_KERNEL] = (struct snapshot_totals){0};
	for (size_t i = 0; i < KERNEL_CLASS_COUNT; i++) {
		const uint64_t *n = sum.value[i];
		struct snapshot_kernel_class kind = {
			.name = strdup(kernel_class_name(i)),
			.totals =
				{
					.allocations = n[ABI_KERNEL_ALLOCATIONS],
					.allocated_bytes = n[ABI_KERNEL_ALLOCATED_BYTES],
					.frees = n[ABI_KERNEL_FREES],
					.freed_bytes = n[ABI_KERNEL_FREED_BYTES],
					.frees_unknown = n[ABI_KERNEL_FREES_UNKNOWN],
					.failures = n[ABI_KERNEL_FAILURES],
				},
		};

		if (!kind.name || !vec_push(&snap->kernel_classes, kind)) {
			free(kind.name);
			return error_no_memory();
		}
		add_totals(&snap->totals[BLOCK_KERNEL], &kind.totals);
	}
	return NULL;
}

/* In keys of blocks, classes stand for slots; all belong to the snapshot's first
 * process, and so do all stacks. */
static struct error *drain(struct tracer *t, const struct drain_slots *slots,
			   struct snapshot *snap, bool *settled)
{
	uint32_t slot_count = t->source->sizes.process_slots;
	_cleanup_(freep) uint32_t *process = calloc(slot_count, sizeof(*process));
	const struct drain_slots by_class = {process, NULL};
	struct error *err;

	(void)slots;
	if (!process)
		return error_no_memory();
	for (uint32_t i = KERNEL_CLASS_COUNT; i < slot_count; i++)
		process[i] = SNAPSHOT_NO_PROCESS;
	snap->kernel_traced = snap->heap_untraced = true;
	err = tracer_drain_blocks(t, &by_class, NULL, snap, settled);
	if (!err)
		err = add_classes(t, snap);
	cut_tracing(t, snap);
	complete_addresses(snap);
	return err;
}

bool tracer_sees_class(const struct tracer *t, enum kernel_class kind)
{
	const struct kernel_state *state = t->mode_state;

	return state->points.is_seen[kind];
}

/* --- the mode --------------------------------------------------------------------- */

/* Records identify pages by number, arguments by struct page. */
static bool is_by_number(const struct kernel_points *points)
{
	vec_foreach (point, &points->list)
		if (point->kind == KERNEL_PAGES)
			return !point->is_raw;
	return false;
}

static bool add_flags(struct source_flags *flags, const struct source_run *run)
{
	return source_flags_add(flags, "-DKERNEL_BY_NUMBER=%d",
				is_by_number(run->kernel_points)) &&
	       source_flags_add(flags, "-DKERNEL_OF_ONE=%d", run->kernel->pid != 0);
}

static void set_values(struct run_values *values, const struct source_run *run)
{
	values->of[ABI_RUN_KERNEL_PID] = (uint64_t)run->kernel->pid;
}

static void append_points(struct strbuf *text, const struct source_run *run)
{
	vec_foreach (point, &run->kernel_points->list)
		source_append_point(text, point);
}

static const char *name_of(const struct kernel_points *points)
{
	return points->list.data[0].is_raw ? "raw tracepoints" : "perf events";
}

static const char *attach_name(const struct tracer *t)
{
	const struct kernel_state *state = t->mode_state;

	return name_of(&state->points);
}

static struct error *dry_run(const struct tracer_setup *setup, FILE *out)
{
	struct kernel_features features;
	struct kernel_points points;
	struct error *err =
		kernel_points_find(setup->config->attach == ATTACH_PERF, &points);

	if (err)
		return err;
	kernel_points_print(&points, out);
	fprintf(out, "attach by: %s\n", name_of(&points));
	kernel_features_detect(&features);
	fprintf(out, "tables: %s\n", tables_text(setup->config->tables, &features));
	kernel_points_deinit(&points);
	return NULL;
}

const struct trace_mode trace_mode_kernel = {
	.does = "traces what the kernel allocates and nothing else",
	.class = BLOCK_KERNEL,
	.source =
		{
			.able = MODE_BLOCKS,
			.preallocates = true,
			.fragments = {"kernel.c"},
			.add_flags = add_flags,
			.set_values = set_values,
			.append_before = source_append_ranges,
			.append_after = append_points,
		},
	.state_bytes = sizeof(struct kernel_state),
	.look = look,
	.load = load,
	.attach_once = attach_once,
	.drain = drain,
	.close = close_state,
	.attach_name = attach_name,
	.dry_run = dry_run,
};
