// SPDX-License-Identifier: Apache-2.0
#include "session/session_private.h"

#include "tracees/forked.h"
#include "tracees/return_probes.h"
#include "process/proc.h"
#include "util/cleanup.h"

static struct error *add_plan(struct session *s, struct plan *plan)
{
	if (vec_push(&s->plans, plan))
		return NULL;
	plan_destroy(plan);
	return error_no_memory();
}

struct error *session_plan(struct session *s)
{
	const struct options *o = s->options;
	size_t count = o->command ? 1 : o->pid_count;
	struct plan *plan;
	struct error *err = tracees_init(&s->tracees, o, s->elf_reader, s->fetch_cache,
					 &s->progress),
		     *unsafe = NULL;

	if (!err && o->event) {
		err = event_spec_parse(o->event, &s->event);
		s->tracees.plan_options.event = &s->event;
	}

	if (!err && o->kernel)
		return kernel_open(&s->tracees,
				   o->command ? (int)s->spawn.pid : o->pids[0],
				   &s->kernel);
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

/* Create the second tracer, for the kernel. It has the same options as the process's
 * tracer, except those that do not apply to the kernel. */
static struct error *create_kernel(struct session *s)
{
	const struct options *o = s->options;
	struct tracer_options tracer_options = {
		.scope = SCOPE_PROCESSES,
		.max_allocations = o->max_allocations,
		.max_stacks = o->max_stacks,
		.stack_depth = KERNEL_STACK_DEPTH,
		.sample_every = o->sample_every,
		.min_size_bytes = o->min_size_bytes,
		.max_size_bytes = o->max_size_bytes,
		.kernel = &s->kernel,
		.with_time = !o->combined_only || o->traffic,
		.headers = o->headers_mode,
		.headers_dir = o->headers_dir,
		.no_cache = o->no_cache,
		.attach = o->attach,
		.tables = o->tables,
		.unwind = UNWIND_CHOICE_FP,
		.progress = progress_show,
		.progress_arg = &s->progress,
	};
	struct error *err;

	s->kernel.pid = s->tracees.list.data[0]->pid;
	err = kernel_find_places(s->tracees.kernel, &s->kernel);
	if (!err)
		err = tracer_create(&tracer_options, NULL, 0, &s->kernel_tracer);
	return err;
}

/* Is it certain that the run never has a second process? */
bool session_traces_one(const struct session *s)
{
	return s->tracees.scope == SCOPE_PROCESSES && s->plans.len == 1;
}

struct tracer_options session_tracer_options(struct session *s)
{
	const struct options *o = s->options;

	return (struct tracer_options){
		.scope = o->kernel ? SCOPE_PROCESSES : s->tracees.scope,
		.one_process = session_traces_one(s),
		.apart = s->options->group_by == REPORT_GROUP_PROCESS,
		.max_allocations = o->max_allocations,
		.max_stacks = o->max_stacks,
		.stack_depth = o->stack_depth,
		.sample_every = o->sample_every,
		.sample_bytes = o->sample_bytes,
		.min_size_bytes = o->min_size_bytes,
		.max_size_bytes = o->max_size_bytes,
		.mappings = o->mappings || o->growth,
		.event = o->event ? &s->event : NULL,
		.kernel_stacks = o->kernel_stacks,
		.kernel = o->kernel ? &s->kernel : NULL,
		.told = o->otel_memory,
		.with_time = !o->combined_only || o->traffic,
		.traffic = o->traffic,
		.peak = o->peak,
		.max_threads = o->max_threads,
		.max_processes = o->max_processes,
		.temporary_threshold = o->temporary_threshold,
		.headers = o->headers_mode,
		.headers_dir = o->headers_dir,
		.no_cache = o->no_cache,
		.attach = o->attach,
		.refuse_returns = return_probes_refuse,
		.refuse_arg = &s->tracees.returns,
		.others = s->tracees.others,
		.tables = o->tables,
		.unwind = o->unwind,
		.unwind_cpu_percent = o->unwind_cpu_percent,
		.unwind_memory_bytes = o->unwind_memory_bytes,
		.progress = progress_show,
		.progress_arg = &s->progress,
		.phases = &s->phases,
		.compilers = &s->compilers,
	};
}

struct error *session_start(struct session *s)
{
	const struct options *o = s->options;
	const struct tracer_options how = session_tracer_options(s);
	struct error *err = proc_check_privileges();

	if (err)
		return err;
	if (o->no_return_probes) {
		struct kernel_features features;

		kernel_features_detect(&features);
		if (!tracer_takes_bodies(&how, &features))
			return error_create(ERROR_UNSUPPORTED,
					    "--no-return-probes needs Linux 6.10 and "
					    "neither --attach perf nor --tables hashes: "
					    "else calls are seen by return probes alone");
	}
	if (o->flame_of == REPORT_FLAME_PEAK) {
		struct kernel_features features;

		kernel_features_detect(&features);
		if (!features.atomics || o->tables == TABLES_HASHES)
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
	err = tracer_create(&how, (const struct plan *const *)s->plans.data, s->plans.len,
			    &s->tracer);
	compiler_pool_deinit(&s->compilers);
	if (!err && o->with_kernel)
		err = create_kernel(s);
	if (!err)
		err = forked_find(o, &s->children);
	if (!err)
		err = tracees_start(&s->tracees, s->tracer, s->plans.data, &s->plans.len);
	if (!err)
		err = tracer_start(s->tracer);
	return err || !s->kernel_tracer ? err : tracer_start(s->kernel_tracer);
}
