// SPDX-License-Identifier: Apache-2.0
#include "cli/session.h"

#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bpf/features.h"
#include "bpf/tracer.h"
#include "cli/lines.h"
#include "cli/modules.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/wait.h"
#include "plan/plan.h"
#include "render/renderer.h"
#include "symbol/cache.h"
#include "symbol/symbolizer.h"
#include "target/proc.h"
#include "target/spawn.h"
#include "util/cleanup.h"
#include "util/escape.h"
#include "util/strbuf.h"

DEFINE_CLEANUP(struct snapshot *, snapshot_destroy);
DEFINE_CLEANUP(struct report *, report_destroy);

/* The target is looked at this often, so that its memory and its libraries are known
 * when it exits: in the beginning, when libraries are loaded, and later. */
#define LOOK_EARLY_MS 50
#define LOOK_MS       1000
#define EARLY_LOOKS   40

struct session {
	const struct options *options;
	struct report_options report_options;
	const struct renderer *renderer;
	struct waiter waiter;
	struct progress progress;
	struct spawn spawn; /* the command, when there is one */
	struct proc *proc;
	uint64_t image;            /* what it runs; changes with an exec */
	struct proc_memory memory; /* as last seen */
	struct modules modules;
	struct plan *plan;
	struct symbolizer *symbolizer;
	struct frame_cache *frames;
	struct lines lines;
	struct report_history *history;
	struct tracer *tracer;
	struct output output;
	uint64_t intervals;    /* that have passed */
	unsigned looks;        /* at the target, between reports */
	uint64_t next_look_ms; /* CLOCK_MONOTONIC */
};

static uint64_t monotonic_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Let go of the program that is traced now. */
static void target_deinit(struct session *s)
{
	/* First of all: the target gets rid of the probes. */
	tracer_destroy(s->tracer);
	s->tracer = NULL;
	frame_cache_destroy(s->frames);
	s->frames = NULL;
	lines_deinit(&s->lines);
	symbolizer_destroy(s->symbolizer);
	s->symbolizer = NULL;
	report_history_destroy(s->history);
	s->history = NULL;
	plan_destroy(s->plan);
	s->plan = NULL;
	modules_deinit(&s->modules);
	proc_close(s->proc);
	s->proc = NULL;
}

static void session_deinit(struct session *s)
{
	target_deinit(s);
	spawn_deinit(&s->spawn);
	waiter_deinit(&s->waiter);
	progress_clear(&s->progress);
}

/* What was seen last stays when the target is gone. */
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
		.symbols_prefix = o->symbols_prefix,
		.function = o->function,
		.mappings = o->mappings,
	};
	struct error *err = proc_open(o->command ? (int)s->spawn.pid : o->pid, &s->proc);
	if (!err) {
		s->image = proc_image(s->proc);
		err = modules_refresh(&s->modules, s->proc);
	}
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
	vec_foreach (object, &s->plan->objects) {
		_cleanup_(freep) char *path = escape_dup(object->allocator.module_path);

		vec_foreach (function, &object->missing)
			fprintf(stderr, "memtrace: %s has no %s: not traced\n",
				path ? path : "?", (*function)->name);
	}
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
		err = symbolizer_bcc_create(s->proc->pid, &s->symbolizer);
	if (err)
		return err;
	s->frames = frame_cache_create(s->symbolizer);
	s->history = report_history_create();
	if (!s->frames || !s->history)
		return error_no_memory();
	err = lines_init(&s->lines, o, s->proc, &s->progress, s->frames);
	if (err)
		return err;
	return tracer_create(&tracer_options, s->proc, s->plan, &s->tracer);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* "9 functions of libc.so.6, 22 of libjemalloc.so.2" */
static void describe_objects(const struct plan *plan, struct strbuf *ret)
{
	const char *functions = " functions", *before = "";

	vec_foreach (object, &plan->objects) {
		strbuf_appendf(ret, "%s%zu%s of ", before, object->sites.len, functions);
		escape_text(ret, base_name(object->allocator.module_path));
		functions = "";
		before = ", ";
	}
}

static void say_tracing(const struct session *s)
{
	_cleanup_(freep) char *command = escape_dup(s->proc->command);
	_cleanup_(strbuf_deinit) struct strbuf objects = {0};

	describe_objects(s->plan, &objects);
	fprintf(stderr, "memtrace: tracing pid %d (%s): %s; Ctrl-C ends\n", s->proc->pid,
		command ? command : "?", strbuf_text(&objects));
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

	if (report_cause_is_final(cause)) {
		tracer_freeze(s->tracer);
		/* Should the reader of the last report stall, another Ctrl-C ends us. */
		waiter_unblock(&s->waiter);
	}
	err = take_snapshot(s, &snap);
	if (err)
		return err;
	frame_cache_mappings_changed(s->frames);
	err = report_build(snap, s->history, s->frames, &s->report_options, cause,
			   &report);
	progress_clear(&s->progress);
	if (s->options->verbose)
		lines_say_missing(&s->lines);
	if (!err)
		err = output_begin(&s->output);
	if (!err)
		err = s->renderer->render(report, s->output.file);
	if (!err)
		err = output_flush(&s->output);
	return err;
}

static int look_ms(const struct session *s)
{
	int tracer_ms = tracer_poll_ms(s->tracer);
	int ms = s->looks < EARLY_LOOKS ? LOOK_EARLY_MS : LOOK_MS;

	return tracer_ms >= 0 && tracer_ms < ms ? tracer_ms : ms;
}

static void look(struct session *s)
{
	uint64_t now_ms = monotonic_ms();

	tracer_poll(s->tracer);
	if (now_ms < s->next_look_ms)
		return;
	s->looks++;
	s->next_look_ms = now_ms + (s->looks < EARLY_LOOKS ? LOOK_EARLY_MS : LOOK_MS);
	refresh_memory(s);
	frame_cache_mappings_changed(s->frames);
	/* What was seen before will do; a report tries again. */
	error_destroy(modules_refresh(&s->modules, s->proc));
}

static bool has_executed(const struct session *s)
{
	uint64_t image = proc_image(s->proc);

	return image && image != s->image;
}

/* The new program's libraries are mapped by its dynamic linker, in a moment. */
#define EXEC_TRIES   50
#define EXEC_WAIT_US 20000

/*
 * The process runs another program: the old heap is gone with its address space. What
 * the new one allocates until its probes stand is not seen.
 */
static struct error *follow_exec(struct session *s)
{
	struct error *err = NULL;

	if (!s->options->quiet)
		fprintf(stderr,
			"memtrace: pid %d executed another program (exec): its heap is "
			"traced anew\n",
			s->proc->pid);
	for (int i = 0; i < EXEC_TRIES; i++) {
		error_destroy(err);
		target_deinit(s);
		err = make_plan(s);
		if (!err || err->code != ERROR_NOT_FOUND)
			break;
		usleep(EXEC_WAIT_US);
	}
	if (!err)
		err = start_tracing(s);
	progress_clear(&s->progress);
	if (err)
		return error_prefix(err, "after an exec");
	s->waiter.pidfd = s->proc->pidfd;
	s->looks = 0;
	if (!s->options->quiet)
		say_tracing(s);
	return NULL;
}

/* Reports until there is a cause to end. */
static struct error *report_until_end(struct session *s)
{
	const struct options *o = s->options;
	enum report_cause cause = REPORT_INTERVAL;
	struct error *err = NULL;

	while (!err) {
		if (!waiter_next(&s->waiter, look_ms(s), &cause)) {
			look(s);
			if (has_executed(s))
				err = follow_exec(s);
			continue;
		}
		if (cause == REPORT_INTERVAL && ++s->intervals == o->count)
			cause = REPORT_COUNT;
		err = make_report(s, cause);
		if (report_cause_is_final(cause))
			break;
	}
	return err;
}

static struct error *trace(struct session *s)
{
	const struct options *o = s->options;
	struct error *err = waiter_init(&s->waiter);

	if (!err)
		err = start_tracing(s);
	progress_clear(&s->progress);
	if (err)
		return err;
	if (o->verbose)
		say_missing(s);
	if (!o->quiet)
		say_tracing(s);
	err = waiter_start(&s->waiter, s->proc->pidfd, o->interval_ns, o->duration_ns);
	if (!err)
		err = spawn_release(&s->spawn);
	return err ? err : report_until_end(s);
}

/* The run is over and the command may not be: take the probes away, pass on the signal
 * that ended the run, and wait. Another Ctrl-C ends memtrace alone. */
static int finish_command(struct session *s)
{
	tracer_destroy(s->tracer);
	s->tracer = NULL;
	if (s->waiter.stop_signal && !proc_has_exited(s->proc))
		kill(s->spawn.pid, s->waiter.stop_signal);
	waiter_unblock(&s->waiter);
	return spawn_wait(&s->spawn);
}

/* A failed command has the status that a shell gives; else tracing has failed. */
static int start_status(const struct options *options, const struct error *err)
{
	if (!options->command || options->dry_run)
		return SESSION_FAILED;
	switch (err->code) {
	case ERROR_NOT_FOUND:
		return SPAWN_NOT_FOUND;
	case ERROR_PERMISSION:
		return SPAWN_NOT_EXECUTABLE;
	default:
		return SESSION_FAILED;
	}
}

struct error *session_run(const struct options *options, int *status)
{
	_cleanup_(session_deinit) struct session s = {
		.options = options,
		.report_options = {.sort = options->sort,
				   .top = options->top,
				   .older_ns = options->older_ns,
				   .show_blocks = options->show_allocs,
				   .combined_only = options->combined_only,
				   .short_paths = options->short_paths},
		.renderer = renderer_find(options->format),
		.waiter = {-1, -1, -1, -1, 0},
	};
	struct error *err;

	*status = SESSION_FAILED;
	progress_init(&s.progress, options->quiet);
	modules_init(&s.modules);
	err = output_open(options->dry_run ? NULL : options->output, options->force,
			  &s.output);
	if (err)
		return err;
	if (options->command) {
		err = spawn_start(options->command, &s.spawn);
		if (err)
			*status = start_status(options, err);
	}
	if (!err)
		err = make_plan(&s);
	if (!err && options->dry_run)
		dry_run(&s);
	if (!err && !options->dry_run)
		err = trace(&s);

	struct error *close_err = output_close(&s.output);

	if (err)
		error_destroy(close_err);
	else
		err = close_err;
	if (!err)
		*status = options->command && !options->dry_run ? finish_command(&s) : 0;
	return err;
}
