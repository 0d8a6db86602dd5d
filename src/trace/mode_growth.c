// SPDX-License-Identifier: Apache-2.0
/* Counts stacks of page faults, and traces mappings by system call (probes/growth.c). */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <linux/bpf.h>

#include "bpf/mapped.h"
#include "trace/mode_event.h"
#include "process/proc.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct proc *, proc_close);

struct growth_state {
	struct event_state faults;
	uint64_t *heap_ends; /* mapped, by slot of the process */
};

/* --- attach ----------------------------------------------------------------------- */

/* The system calls whose entry or return is traced. */
static const struct {
	const char *name;
	int program; /* 0: entry, 1: return */
} calls[] = {
	/* Returns first: an entry without a return would stay pending. */
	{"sys_exit_mmap", 1}, {"sys_exit_munmap", 1},  {"sys_exit_mremap", 1},
	{"sys_exit_brk", 1},  {"sys_enter_munmap", 0}, {"sys_enter_mremap", 0},
};

static struct error *attach_tracepoint(struct tracer *t, const char *group,
				       const char *name, int program)
{
	struct growth_state *state = t->mode_state;
	const struct event_spec spec = {.kind = EVENT_TRACEPOINT,
					.text = (char *)"--growth",
					.group = (char *)group,
					.name = (char *)name,
					.number = 1};

	return kernel_events_attach(&state->faults.in_kernel, &spec, program);
}

/* For kernels without CONFIG_FTRACE_SYSCALLS: every system call of every process hits. */
static struct error *attach_raw(struct tracer *t, const int programs[2])
{
	static const char *const names[] = {"sys_enter", "sys_exit"};
	struct error *err = NULL;

	for (int i = 1; !err && i >= 0; i--)
		err = attach_tracepoint(t, "raw_syscalls", names[i], programs[i]);
	return err;
}

/* Attach to the system calls that create mappings. */
static struct error *attach_calls(struct tracer *t)
{
	const struct program_kind kind = {BPF_PROG_TYPE_TRACEPOINT, 0};
	int programs[2];
	struct error *err = tracer_load_own(t, "on_mapping_call", kind, &programs[0]);

	if (!err)
		err = tracer_load_own(t, "on_mapping_return", kind, &programs[1]);
	for (size_t i = 0; !err && i < sizeof(calls) / sizeof(*calls); i++)
		err = attach_tracepoint(t, "syscalls", calls[i].name,
					programs[calls[i].program]);
	if (!err || err->code != ERROR_NOT_FOUND)
		return err;
	error_destroy(err);
	return attach_raw(t, programs);
}

static struct error *attach(struct tracer *t, const struct plan *plan, int pid,
			    size_t *refused)
{
	const struct growth_state *state = t->mode_state;
	struct error *err;

	(void)plan;
	(void)pid;
	*refused = 0;
	/* Page faults and system calls are the kernel's: attached once for all. */
	if (state->faults.in_kernel.fds.len)
		return NULL;
	err = mode_event_attach_in_kernel(t);
	return err ? err : attach_calls(t);
}

/* --- the program break ------------------------------------------------------------ */

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

static size_t heap_ends_bytes(const struct tracer *t)
{
	return t->source->sizes.process_slots * sizeof(uint64_t);
}

static struct error *open_tables(struct tracer *t)
{
	struct growth_state *state = t->mode_state;
	int fd = compiler_map(t->compiler, "heap_ends");

	if (fd < 0)
		return compiler_lacks_map("heap_ends");
	state->heap_ends = mapped_open(fd, heap_ends_bytes(t));
	return state->heap_ends ? mode_event_open_tables(t)
				: error_errno(ERROR_IO, errno,
					      "cannot map the table of program breaks");
}

static void begin_process(struct tracer *t, int pid, uint32_t slot)
{
	const struct growth_state *state = t->mode_state;
	uint64_t unknown = 0;

	/* Without this the first change of the break would set it, but its growth would
	 * be missed. */
	__atomic_compare_exchange_n(&state->heap_ends[slot], &unknown, heap_end(pid),
				    false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static void end_process(struct tracer *t, uint32_t slot)
{
	const struct growth_state *state = t->mode_state;

	__atomic_store_n(&state->heap_ends[slot], 0, __ATOMIC_SEQ_CST);
}

static void close_state(struct tracer *t)
{
	const struct growth_state *state = t->mode_state;

	if (state->heap_ends)
		mapped_close(state->heap_ends, heap_ends_bytes(t));
	mode_event_close(t);
}

/* --- the mode --------------------------------------------------------------------- */

static struct error *drain(struct tracer *t, const struct drain_slots *slots,
			   struct snapshot *snap, bool *settled)
{
	snap->event_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	return mode_event_drain(t, slots, snap, settled);
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
			.is_exact = mode_event_is_exact,
			.add_flags = mode_event_add_flags,
		},
	.state_bytes = sizeof(struct growth_state),
	.look = mode_event_look,
	.open_tables = open_tables,
	.begin_load = mode_event_begin_load,
	.load = mode_event_load,
	.attach_once = tracer_attach_tracepoints,
	.attach = attach,
	.begin_process = begin_process,
	.end_process = end_process,
	.drain = drain,
	.drop_slots = mode_event_drop_slots,
	.close = close_state,
	.is_in_kernel = mode_event_is_in_kernel,
	.dry_run = mode_event_dry_run,
};
