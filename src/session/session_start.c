// SPDX-License-Identifier: Apache-2.0
#include "session/session_private.h"

#include "tracees/forked.h"
#include "tracees/return_probes.h"
#include "bpf/mm_locks.h"
#include "process/proc.h"
#include "util/cleanup.h"

static struct error *add_plan(struct session *s, struct plan *plan)
{
	if (vec_push(&s->plans, plan))
		return NULL;
	plan_destroy(plan);
	return error_no_memory();
}

/* --follow-exec-of */
static struct error *plan_supervisor(struct session *s)
{
	struct plans plans = {0};
	struct error *err = supervisor_open(&s->tracees, s->options->pids[0], &plans);

	vec_foreach (plan, &plans.list)
		err = error_first(err, add_plan(s, *plan));
	vec_deinit(&plans.list);
	return err;
}

struct error *session_plan(struct session *s)
{
	const struct options *o = s->options;
	const struct trace_mode *mode = trace_mode_of(&o->trace);
	size_t count = o->command ? 1 : o->pid_count;
	struct plan *plan;
	struct error *err = tracees_init(&s->tracees, o, s->elf_reader, s->fetch_cache,
					 &s->progress),
		     *unsafe = NULL;

	if (!err && trace_mode_can(&o->trace, MODE_HITS)) {
		err = event_spec_parse(mode->event ? mode->event : o->event, &s->event);
		s->tracees.plan_options.event = &s->event;
	}
	if (!err && !trace_mode_can(&o->trace, MODE_PROCESSES))
		return kernel_open(&s->tracees,
				   o->command ? (int)s->spawn.pid : o->pids[0],
				   &s->kernel);
	/* Before its memory is read, which waits for this lock, too. */
	if (!err)
		err = mm_locks_check(MM_LOCKS_SET_NS);
	if (o->follow_exec_of)
		return err ? err : plan_supervisor(s);
	for (size_t i = 0; i < count && !err; i++) {
		err = tracees_open(&s->tracees,
				   o->command ? (int)s->spawn.pid : o->pids[i], &plan);
		if (!err) {
			err = add_plan(s, plan);
		} else if (err->code == ERROR_UNSAFE) {
			/* Print it later, when it is clear whether any process
			 * remains. */
			tracees_say_left_out(unsafe);
			unsafe = take(err);
		}
	}
	if (!err && count && !s->plans.len)
		return unsafe;
	tracees_say_left_out(unsafe);
	if (!err && !count) {
		err = tracees_open_all(&s->tracees, &plan);
		if (!err)
			err = add_plan(s, plan);
	}
	return err;
}

/* Create the second tracer, for the kernel. */
static struct error *create_kernel(struct session *s)
{
	const struct tracer_setup setup = {
		.config = &s->options->trace,
		.mode = &trace_mode_kernel,
		.scope = SCOPE_PROCESSES,
		.kernel = &s->kernel,
		.progress = progress_show,
		.progress_arg = &s->progress,
	};
	struct error *err;

	s->kernel.pid = s->tracees.list.data[0]->pid;
	err = kernel_find_places(s->tracees.kernel, &s->kernel);
	if (!err)
		err = tracer_create(&setup, NULL, 0, &s->kernel_tracer);
	return err;
}

/* Is it certain that the run never has a second process? */
bool session_traces_one(const struct session *s)
{
	return s->tracees.scope == SCOPE_PROCESSES && s->plans.len == 1;
}

struct tracer_setup session_tracer_setup(struct session *s)
{
	const struct options *o = s->options;

	return (struct tracer_setup){
		.config = &o->trace,
		.mode = trace_mode_of(&o->trace),
		.scope = s->tracees.scope,
		.execs = !o->follow_exec_of ? EXECS_OF_TRACED
			 : o->follow_forks  ? EXECS_OF_AWAITED
					    : EXECS_ONLY,
		.one_process = session_traces_one(s),
		.are_held = o->command,
		.event = &s->event,
		.kernel = &s->kernel,
		.refuse_returns = return_probes_refuse,
		.refuse_arg = &s->tracees.returns,
		.others = s->tracees.others,
		.progress = progress_show,
		.progress_arg = &s->progress,
		.phases = &s->phases,
		.compilers = &s->compilers,
		.offsets = &s->offsets,
	};
}

struct error *session_start(struct session *s)
{
	const struct options *o = s->options;
	const struct tracer_setup setup = session_tracer_setup(s);
	struct error *err = proc_check_privileges();

	if (err)
		return err;
	if (o->no_return_probes) {
		struct kernel_features features;

		kernel_features_detect(&features);
		if (!tracer_takes_bodies(&o->trace, &features))
			return error_create(ERROR_UNSUPPORTED,
					    "--no-return-probes needs Linux 6.10 and "
					    "neither --attach perf nor --tables hashes: "
					    "else calls are seen by return probes alone");
	}
	if (o->flame_of == REPORT_FLAME_PEAK) {
		struct kernel_features features;

		kernel_features_detect(&features);
		if (!features.atomics || o->trace.tables == TABLES_HASHES)
			return error_create(
				ERROR_UNSUPPORTED,
				"--flame-of peak needs Linux 5.12 and no "
				"--tables hashes; --flame-of live and traffic "
				"work everywhere");
	}
	s->history = report_history_create();
	s->timeline = timeline_create();
	s->merge = snapshot_merge_create();
	s->saved_history = report_history_create();
	s->saved_timeline = timeline_create();
	if (!s->history || !s->timeline || !s->merge || !s->saved_history ||
	    !s->saved_timeline)
		return error_no_memory();
	err = tracer_create(&setup, (const struct plan *const *)s->plans.data,
			    s->plans.len, &s->tracer);
	compiler_pool_deinit(&s->compilers);
	if (!err && o->with_kernel)
		err = create_kernel(s);
	if (!err)
		err = forked_find(o, &s->children);
	if (!err)
		err = tracees_start(&s->tracees, s->tracer, s->plans.data, &s->plans.len);
	if (!err)
		err = supervisor_begin(&s->tracees);
	if (!err)
		err = tracer_start(s->tracer);
	return err || !s->kernel_tracer ? err : tracer_start(s->kernel_tracer);
}
