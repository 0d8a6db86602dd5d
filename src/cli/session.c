// SPDX-License-Identifier: Apache-2.0
#include "cli/session.h"

#include <string.h>
#include <time.h>

#include "bpf/features.h"
#include "bpf/tracer.h"
#include "cli/modules.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/wait.h"
#include "plan/plan.h"
#include "render/renderer.h"
#include "symbol/cache.h"
#include "symbol/symbolizer.h"
#include "target/proc.h"
#include "util/cleanup.h"
#include "util/escape.h"

DEFINE_CLEANUP(struct snapshot *, snapshot_destroy);
DEFINE_CLEANUP(struct report *, report_destroy);

/* The target's memory is looked at this often, so that there is a recent figure when it
 * exits. */
#define MEMORY_POLL_MS 1000

struct session {
	const struct options *options;
	struct report_options report_options;
	const struct renderer *renderer;
	struct waiter waiter;
	struct progress progress;
	struct proc *proc;
	struct proc_memory memory; /* as last seen */
	struct modules modules;
	struct plan *plan;
	struct symbolizer *symbolizer;
	struct frame_cache *frames;
	struct report_history *history;
	struct tracer *tracer;
	FILE *out;
	uint64_t reports;
};

static void session_deinit(struct session *s)
{
	/* First of all: the target gets rid of the probes. */
	tracer_destroy(s->tracer);
	frame_cache_destroy(s->frames);
	symbolizer_destroy(s->symbolizer);
	report_history_destroy(s->history);
	plan_destroy(s->plan);
	modules_deinit(&s->modules);
	proc_close(s->proc);
	waiter_deinit(&s->waiter);
	progress_clear(&s->progress);
}

/* The last figures stay when the target is gone. */
static void refresh_memory(struct session *s)
{
	struct proc_memory memory;
	struct error *err = proc_read_memory(s->proc, &memory);

	if (!err && memory.vm_rss_bytes)
		s->memory = memory;
	error_destroy(err);
}

/* --- start ------------------------------------------------------------------------ */

static struct error *make_plan(struct session *s)
{
	const struct options *o = s->options;
	const struct plan_options plan_options = {
		.library = o->library,
		.mappings = o->mappings,
	};
	struct error *err = proc_open(o->pid, &s->proc);

	if (!err)
		err = modules_refresh(&s->modules, s->proc);
	if (!err)
		err = plan_build(s->proc, &s->modules.maps, &plan_options, &s->plan);
	return err;
}

static void dry_run(const struct session *s)
{
	struct kernel_features features;

	kernel_features_detect(&features);
	plan_print(s->plan, stdout);
	printf("attach by: %s\n",
	       s->options->attach == ATTACH_PERF || !features.uprobe_multi
		       ? "perf events"
		       : "uprobe_multi");
}

static void say_missing(const struct session *s)
{
	for (size_t i = 0; i < s->plan->missing.len; i++)
		fprintf(stderr, "memtrace: %s has no %s: not traced\n",
			s->plan->allocator.module_path, s->plan->missing.data[i]->name);
}

static struct error *start_tracing(struct session *s)
{
	const struct options *o = s->options;
	const struct tracer_options tracer_options = {
		.max_allocations = o->max_allocations,
		.max_stacks = o->max_stacks,
		.stack_depth = o->stack_depth,
		.sample_every = o->sample_every,
		.min_size_bytes = o->min_size_bytes,
		.max_size_bytes = o->max_size_bytes,
		.mappings = o->mappings,
		.with_time = !o->combined_only,
		.headers = o->headers_mode,
		.headers_dir = o->headers_dir,
		.attach = o->attach,
		.progress = progress_show,
		.progress_arg = &s->progress,
	};
	struct error *err = proc_check_privileges();

	if (!err)
		err = symbolizer_bcc_create(o->pid, &s->symbolizer);
	if (err)
		return err;
	s->frames = frame_cache_create(s->symbolizer);
	s->history = report_history_create();
	if (!s->frames || !s->history)
		return error_no_memory();
	return tracer_create(&tracer_options, s->proc, s->plan, &s->tracer);
}

static void say_tracing(const struct session *s)
{
	_cleanup_(freep) char *command = escape_dup(s->proc->command);
	_cleanup_(freep) char *module = escape_dup(s->plan->allocator.module_path);

	fprintf(stderr,
		"memtrace: tracing pid %d (%s): %zu functions of %s; Ctrl-C ends\n",
		s->proc->pid, command ? command : "?", s->plan->sites.len,
		module ? module : "?");
	if (s->options->verbose)
		fprintf(stderr, "memtrace: attached by %s, compiled with %s headers\n",
			tracer_attach_name(s->tracer), tracer_headers_kind(s->tracer));
}

/* --- reports ---------------------------------------------------------------------- */

static struct error *take_snapshot(struct session *s, struct snapshot **ret)
{
	_cleanup_(snapshot_destroyp) struct snapshot *snap = snapshot_create();
	struct timespec now;
	struct error *err;

	if (!snap)
		return error_no_memory();
	clock_gettime(CLOCK_REALTIME, &now);
	snap->wall_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	refresh_memory(s);
	snap->pid = s->proc->pid;
	snap->command = strdup(s->proc->command);
	snap->executable = s->proc->executable ? strdup(s->proc->executable) : NULL;
	snap->exited = proc_has_exited(s->proc);
	snap->memory = (struct snapshot_memory){
		.vm_size_bytes = s->memory.vm_size_bytes,
		.vm_rss_bytes = s->memory.vm_rss_bytes,
		.vm_data_bytes = s->memory.vm_data_bytes,
		.vm_hwm_bytes = s->memory.vm_hwm_bytes,
	};
	if (!snap->command || (s->proc->executable && !snap->executable))
		return error_no_memory();
	err = tracer_snapshot(s->tracer, snap);
	/* After the blocks: a library loaded meanwhile may be on their stacks. */
	if (!err)
		err = modules_refresh(&s->modules, s->proc);
	if (!err)
		err = modules_copy(&s->modules, snap);
	if (!err)
		*ret = take(snap);
	return err;
}

static struct error *make_report(struct session *s, enum report_cause cause)
{
	_cleanup_(snapshot_destroyp) struct snapshot *snap = NULL;
	_cleanup_(report_destroyp) struct report *report = NULL;
	struct error *err;

	if (report_cause_is_final(cause))
		tracer_freeze(s->tracer);
	err = take_snapshot(s, &snap);
	if (err)
		return err;
	frame_cache_mappings_changed(s->frames);
	err = report_build(snap, s->history, s->frames, &s->report_options, cause,
			   &report);
	if (!err)
		err = s->renderer->render(report, s->out);
	if (!err)
		err = output_flush(s->out, s->options->output);
	s->reports++;
	return err;
}

static struct error *trace(struct session *s)
{
	const struct options *o = s->options;
	enum report_cause cause = REPORT_INTERVAL;
	int poll_ms = tracer_poll_ms(s->tracer);
	struct error *err =
		waiter_start(&s->waiter, s->proc->pidfd, o->interval_ns, o->duration_ns);

	if (poll_ms < 0)
		poll_ms = MEMORY_POLL_MS;
	while (!err) {
		if (!waiter_next(&s->waiter, poll_ms, &cause)) {
			tracer_poll(s->tracer);
			refresh_memory(s);
			continue;
		}
		if (cause == REPORT_INTERVAL && o->count && s->reports + 1 >= o->count)
			cause = REPORT_COUNT;
		err = make_report(s, cause);
		if (report_cause_is_final(cause))
			break;
	}
	return err;
}

struct error *session_run(const struct options *options)
{
	_cleanup_(session_deinit) struct session s = {
		.options = options,
		.report_options = {.sort = options->sort,
				   .top = options->top,
				   .older_ns = options->older_ns,
				   .show_blocks = options->show_allocs,
				   .combined_only = options->combined_only},
		.renderer = renderer_find(options->format),
		.waiter = {-1, -1, -1, -1},
	};
	struct error *err;

	progress_init(&s.progress, options->quiet);
	modules_init(&s.modules);
	err = make_plan(&s);
	if (err)
		return err;
	if (options->dry_run) {
		dry_run(&s);
		return NULL;
	}
	err = output_open(options->output, options->force, &s.out);
	if (err)
		return err;
	err = waiter_init(&s.waiter);
	if (!err)
		err = start_tracing(&s);
	progress_clear(&s.progress);
	if (!err) {
		if (options->verbose)
			say_missing(&s);
		if (!options->quiet)
			say_tracing(&s);
		err = trace(&s);
	}

	struct error *close_err = output_close(s.out, options->output);

	if (err)
		error_destroy(close_err);
	return err ? err : close_err;
}
