// SPDX-License-Identifier: Apache-2.0
/* Counts stacks of page faults, and traces mappings by system call (probes/growth.c). */
#include <string.h>
#include <unistd.h>

#include <linux/bpf.h>

#include "bpf/mapped.h"
#include "trace/tracer_state.h"
#include "process/proc.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct proc *, proc_close);

/* The system calls whose entry or return is traced. */
static const struct {
	const char *name;
	int program; /* 0: entry, 1: return */
} calls[] = {
	/* Returns first: an entry without a return would stay pending. */
	{"sys_exit_mmap", 1}, {"sys_exit_munmap", 1},  {"sys_exit_mremap", 1},
	{"sys_exit_brk", 1},  {"sys_enter_munmap", 0}, {"sys_enter_mremap", 0},
};

/* For kernels without CONFIG_FTRACE_SYSCALLS: every system call of every process hits. */
static struct error *attach_raw(struct tracer *t, const int programs[2])
{
	static const char *const names[] = {"sys_enter", "sys_exit"};
	struct error *err = NULL;

	for (int i = 1; !err && i >= 0; i--) {
		struct event_spec spec = {.kind = EVENT_TRACEPOINT,
					  .text = (char *)"--growth",
					  .group = (char *)"raw_syscalls",
					  .name = (char *)names[i],
					  .number = 1};

		err = kernel_events_attach(&t->kernel_events, &spec, programs[i]);
	}
	return err;
}

/* Attach to the system calls that create mappings. */
static struct error *attach_calls(struct tracer *t)
{
	static const char *const names[] = {"on_mapping_call", "on_mapping_return"};
	const struct program_kind kind = {BPF_PROG_TYPE_TRACEPOINT, 0};
	int *programs = &t->programs[PROGRAM_MAPPING_CALL];
	struct error *err = compiler_load(t->compiler, names, 2, kind, programs);

	if (err) {
		programs[0] = programs[1] = -1;
		return err;
	}
	for (size_t i = 0; !err && i < sizeof(calls) / sizeof(*calls); i++) {
		struct event_spec spec = {.kind = EVENT_TRACEPOINT,
					  .text = (char *)"--growth",
					  .group = (char *)"syscalls",
					  .name = (char *)calls[i].name,
					  .number = 1};

		err = kernel_events_attach(&t->kernel_events, &spec,
					   programs[calls[i].program]);
	}
	if (!err || err->code != ERROR_NOT_FOUND)
		return err;
	error_destroy(err);
	return attach_raw(t, programs);
}

static struct error *attach(struct tracer *t, const struct plan *plan, int pid,
			    size_t *refused)
{
	struct error *err;

	(void)plan;
	(void)pid;
	*refused = 0;
	/* Page faults and system calls are the kernel's: attached once for all. */
	if (t->kernel_events.fds.len)
		return NULL;
	err = tracer_attach_kernel_event(t);
	return err ? err : attach_calls(t);
}

/* The end of the mapping [heap]. It is the program break, rounded up to a page;
 * allocators do not leave the break inside a page. */
static uint64_t heap_end(int pid)
{
	_cleanup_(proc_closep) struct proc *proc = NULL;
	struct proc_maps maps = {0};
	struct error *err = proc_open(pid, &proc);
	uint64_t end = 0;

	if (!err)
		err = proc_read_maps(proc, &maps);
	vec_foreach (m, &maps.mappings)
		if (!strcmp(m->path, "[heap]"))
			end = m->end;
	error_destroy(err);
	proc_maps_deinit(&maps);
	return end;
}

static uint64_t *map_ends(struct tracer *t, size_t *bytes)
{
	int fd = compiler_map(t->compiler, "heap_ends");

	*bytes = t->source->sizes.process_slots * sizeof(uint64_t);
	return fd < 0 ? NULL : mapped_open(fd, *bytes);
}

static void begin_process(struct tracer *t, int pid, uint32_t slot)
{
	size_t bytes;
	uint64_t *ends = map_ends(t, &bytes), unknown = 0;

	/* Without this the first change of the break would set it, but its growth would
	 * be missed. */
	if (ends)
		__atomic_compare_exchange_n(&ends[slot], &unknown, heap_end(pid), false,
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	mapped_close(ends, bytes);
}

static void end_process(struct tracer *t, uint32_t slot)
{
	size_t bytes;
	uint64_t *ends = map_ends(t, &bytes);

	if (ends)
		__atomic_store_n(&ends[slot], 0, __ATOMIC_SEQ_CST);
	mapped_close(ends, bytes);
}

static struct error *drain(struct tracer *t, const struct drain_slots *slots,
			   struct snapshot *snap, bool *settled)
{
	snap->event_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	return tracer_drain_events(t, slots, snap, settled);
}

const struct trace_mode trace_mode_growth = {
	.does = "counts page faults, not allocations",
	.event = "software:page-faults:1",
	.class = BLOCK_EVENT,
	.source =
		{
			.able = MODE_HITS | MODE_PROCESSES | MODE_FORKS,
			.preallocates = true,
			.fragments = {"event.c", "growth.c"},
			.traces_mappings = true,
			.lacks_stack = true,
			.is_exact = tracer_event_is_exact,
			.add_flags = tracer_event_flags,
		},
	.look = tracer_look_for_event,
	.begin_load = tracer_begin_event,
	.load = tracer_load_event,
	.attach_once = tracer_attach_tracepoints,
	.attach = attach,
	.begin_process = begin_process,
	.end_process = end_process,
	.drain = drain,
	.drop_slots = tracer_remove_events,
	.dry_run = tracer_dry_run_event,
};
