// SPDX-License-Identifier: Apache-2.0
/* Programs at tracepoints: they notice forks, execs and ends of threads. */
#include <string.h>

#include <linux/bpf.h>

#include "bpf/syscall.h"
#include "trace/tracer_state.h"

static struct error *attach_tracepoint(struct tracer *t, enum raw_tracepoint i,
				       const char *program, const char *tracepoint)
{
	const struct program_kind kind = {BPF_PROG_TYPE_RAW_TRACEPOINT, 0};
	struct error *err =
		compiler_load(t->compiler, program, kind, &t->raw_programs[i]);
	union bpf_attr attr;

	if (err) {
		t->raw_programs[i] = -1;
		return err;
	}
	memset(&attr, 0, sizeof(attr));
	attr.raw_tracepoint.name = (uint64_t)(uintptr_t)tracepoint;
	attr.raw_tracepoint.prog_fd = (uint32_t)t->raw_programs[i];
	t->raw_links[i] = sys_bpf(BPF_RAW_TRACEPOINT_OPEN, &attr, sizeof(attr));
	if (t->raw_links[i] < 0)
		return error_errno(ERROR_UNSUPPORTED, -t->raw_links[i],
				   "cannot attach to the tracepoint %s", tracepoint);
	return NULL;
}

struct error *tracer_attach_tracepoints(struct tracer *t)
{
	struct error *err =
		attach_tracepoint(t, RAW_EXEC, "on_exec", "sched_process_exec");
	bool hears_exec = !err;

	/* On failure an exec is noticed a little later (tracees/tracees_follow.c). */
	error_destroy(err);
	/* On failure the probes read the thread id at each event. */
	if (hears_exec && t->source->keeps_tids) {
		err = attach_tracepoint(t, RAW_THREAD_END, "on_thread_end",
					"sched_process_exit");
		t->control->keeps_tids = !err;
		error_destroy(err);
	}
	if (t->run.scope != SCOPE_FORKS)
		return NULL;
	if (!tracer_awaits(t))
		return attach_tracepoint(t, RAW_FORK, "on_fork", "sched_process_fork");
	/* memtrace could find out later, but not without gaps. */
	if (!hears_exec)
		return error_create(ERROR_UNSUPPORTED,
				    "cannot attach to the tracepoint sched_process_exec, "
				    "which --follow-exec-of needs");
	err = attach_tracepoint(t, RAW_PROCESS_END, "on_process_end",
				"sched_process_exit");
	return err ? err
		   : attach_tracepoint(t, RAW_FORK, "on_fork", "sched_process_fork");
}
