// SPDX-License-Identifier: Apache-2.0
#include "cli/session.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <malloc.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bpf/cache.h"
#include "bpf/compiler_process.h"
#include "bpf/features.h"
#include "bpf/kernel_events.h"
#include "bpf/tracer.h"
#include "cli/fetch_cache.h"
#include "cli/forked.h"
#include "cli/kernel.h"
#include "cli/output.h"
#include "cli/outputs.h"
#include "cli/progress.h"
#include "cli/report_setup.h"
#include "cli/return_probes.h"
#include "cli/runtimes.h"
#include "cli/tracees.h"
#include "cli/wait.h"
#include "plan/plan.h"
#include "render/renderer.h"
#include "report/recorded.h"
#include "report/view.h"
#include "snapshot/course.h"
#include "snapshot/join.h"
#include "snapshot/merge.h"
#include "confined/shed.h"
#include "target/named.h"
#include "target/proc.h"
#include "target/spawn.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/file_limit.h"
#include "util/open_helper.h"
#include "util/path.h"
#include "util/phases.h"
#include "util/escape.h"
#include "util/strbuf.h"

DEFINE_CLEANUP(struct snapshot *, snapshot_destroy);
DEFINE_CLEANUP(struct report *, report_destroy);

struct session {
	const struct options *options;
	struct report_setup setup;
	const struct renderer *renderer;
	struct waiter waiter;
	struct progress progress;
	bool prints_final_only; /* of the reports, the last one */
	struct phases phases;   /* of the start */
	struct compiler_pool compilers;
	struct event_spec event;    /* of --event; text is NULL without the option */
	struct kernel_trace kernel; /* of --kernel */
	struct spawn spawn;         /* the command; unused without one */
	struct elf_reader *elf_reader;
	int fetch_cache; /* of fetch_cache_open(); -1: none */
	struct tracees tracees;
	VEC(struct plan *) plans; /* of the processes traced from the start */
	struct children children; /* existing children of these processes, which are not
				     traced */
	struct report_history *history;
	struct course *course;
	struct snapshot_merge *merge; /* unused with --group-by process */
	/* With --save and merged stacks: for the unmerged snapshots that are saved. */
	struct report_history *saved_history;
	struct course *saved_course;
	struct tracer *tracer;
	struct tracer *kernel_tracer; /* with --with-kernel: the second tracer */
	struct snapshot_join join;
	struct output output;
	struct outputs outputs;
	uint64_t intervals; /* number of report intervals that have passed */
};

static void session_deinit(struct session *s)
{
	/* First, because this removes the probes from the targets. */
	tracer_destroy(s->tracer);
	tracer_destroy(s->kernel_tracer);
	snapshot_join_deinit(&s->join);
	tracees_deinit(&s->tracees);
	report_history_destroy(s->history);
	course_destroy(s->course);
	report_history_destroy(s->saved_history);
	course_destroy(s->saved_course);
	snapshot_merge_destroy(s->merge);
	vec_foreach (plan, &s->plans)
		plan_destroy(*plan);
	vec_deinit(&s->plans);
	children_deinit(&s->children);
	compiler_pool_deinit(&s->compilers);
	spawn_deinit(&s->spawn);
	elf_reader_destroy(s->elf_reader);
	closep(&s->fetch_cache);
	event_spec_deinit(&s->event);
	kernel_trace_deinit(&s->kernel);
	report_setup_deinit(&s->setup);
	waiter_deinit(&s->waiter);
	open_helper_stop();
	progress_clear(&s->progress);
}

/* --- start ------------------------------------------------------------------------ */

static struct error *add_plan(struct session *s, struct plan *plan)
{
	if (vec_push(&s->plans, plan))
		return NULL;
	plan_destroy(plan);
	return error_no_memory();
}

static struct error *make_plans(struct session *s)
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

static void say_missing(const struct plan *plan)
{
	vec_foreach (object, &plan->objects) {
		_cleanup_(freep) char *path = escape_dup(object->allocator.module_path);

		vec_foreach (function, &object->missing)
			fprintf(stderr, "memtrace: %s has no %s: not traced\n",
				path ? path : "?", (*function)->name);
	}
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
static bool traces_one(const struct session *s)
{
	return s->tracees.scope == SCOPE_PROCESSES && s->plans.len == 1;
}

static struct tracer_options tracer_options(struct session *s)
{
	const struct options *o = s->options;

	return (struct tracer_options){
		.scope = o->kernel ? SCOPE_PROCESSES : s->tracees.scope,
		.one_process = traces_one(s),
		.apart = s->options->group_by_process,
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

static void dry_run(struct session *s)
{
	const struct tracer_options options = tracer_options(s);
	struct kernel_features features;
	bool bodies;

	kernel_features_detect(&features);
	bodies = tracer_takes_bodies(&options, &features);
	for (size_t i = 0; i < s->plans.len; i++) {
		bool is_for_all = s->tracees.scope == SCOPE_ALL;
		const struct tracee *t = is_for_all ? NULL : s->tracees.list.data[i];

		if (s->plans.len > 1) {
			_cleanup_(freep) char *command = escape_dup(t->command);

			printf("%sprocess    %d (%s)\n", i ? "\n" : "", t->pid,
			       command ? command : "?");
		}
		plan_print(s->plans.data[i], bodies, stdout);
		return_probes_say_unsafe(&s->tracees.returns, s->plans.data[i],
					 t ? t->pid : 0, bodies, stdout);
	}
	printf("attach by: %s\n",
	       s->options->attach == ATTACH_PERF || !features.uprobe_multi ||
			       (s->event.text && !event_is_in_file(s->event.kind))
		       ? "perf events"
		       : "uprobe_multi");
	printf("tables: %s\n", tables_text(s->options->tables, &features));
}

static struct error *start_tracing(struct session *s)
{
	const struct options *o = s->options;
	const struct tracer_options how = tracer_options(s);
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
	s->history = report_history_create();
	s->course = course_create();
	s->merge = snapshot_merge_create();
	s->saved_history = report_history_create();
	s->saved_course = course_create();
	if (!s->history || !s->course || !s->merge || !s->saved_history ||
	    !s->saved_course)
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

/* Example: "9 functions of libc.so.6, 22 of libjemalloc.so.2". */
static void describe_objects(const struct plan *plan, struct strbuf *ret)
{
	const char *functions = " functions", *before = "";

	if (plan->event) {
		strbuf_append(ret, "counting ");
		escape_text(ret, plan->event->text);
	}
	vec_foreach (object, &plan->objects) {
		if (object->sites.len &&
		    object->sites.data->function->effect >= EFFECT_ALLOC_TOLD)
			functions = *functions ? " static probes" : "";
		strbuf_appendf(ret, "%s%zu%s of ", before, object->sites.len, functions);
		escape_text(ret, path_base_name(object->allocator.module_path));
		functions = "";
		before = ", ";
	}
}

/* At most this many processes get a line of their own. */
#define SAID_MAX 16

/* Only if allocation functions are traced and nothing else. */
static void say_own_heaps(const struct session *s)
{
	const struct options *o = s->options;

	if (s->tracees.scope == SCOPE_ALL || o->growth || o->mappings || o->event ||
	    o->kernel || o->otel_memory)
		return;
	for (size_t i = 0; i < s->tracees.list.len && i < SAID_MAX; i++)
		runtime_say_heap(s->tracees.list.data[i], stderr);
}

/* Print where return probes might disturb the target. */
static void say_return_probes(const struct session *s)
{
	bool bodies = tracer_sees_results(s->tracer);

	for (size_t i = 0; i < s->tracees.list.len && i < SAID_MAX; i++)
		if (s->event.text && s->event.kind == EVENT_URETPROBE)
			return_probes_warn(s->tracees.list.data[i], stderr);
	for (size_t i = 0; i < s->plans.len && i < SAID_MAX && s->options->verbose; i++)
		return_probes_say(s->plans.data[i], bodies, stderr);
}

/* Print how long the start took. */
static void say_phases(const struct session *s)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0};

	phases_append(&s->phases, &text);
	fprintf(stderr, "memtrace: started in %s\n", strbuf_text(&text));
}

/* Print how the probes were attached, and where the compiled code comes from. */
static void say_code(const struct session *s)
{
	const struct tracer *t = s->tracer;
	const char *path = tracer_cache_path(t), *why = tracer_why_no_cache(t);
	_cleanup_(freep) char *place = path || why ? escape_dup(path ? path : why) : NULL;

	fprintf(stderr,
		"memtrace: attached by %s, compiled with %s headers%s, tables are %s\n",
		tracer_attach_name(t), tracer_headers_kind(t),
		tracer_had_code(t) ? " by an earlier run" : "", tracer_tables_name(t));
	if (place)
		fprintf(stderr, "memtrace: compiled code is %s%s\n",
			path ? "kept in " : "not kept: ", place);
}

static void say_tracing(const struct session *s)
{
	bool all = s->tracees.scope == SCOPE_ALL;
	size_t count = s->tracees.list.len, said = all ? 1 : count;

	if (s->options->kernel || s->options->with_kernel)
		kernel_say_tracing(&s->tracees,
				   s->kernel_tracer ? s->kernel_tracer : s->tracer,
				   &s->kernel);
	if (s->options->kernel)
		said = 0;
	for (size_t i = 0; i < said && i < SAID_MAX; i++) {
		_cleanup_(strbuf_deinit) struct strbuf objects = {0};
		const char *end = i + 1 == said ? "; Ctrl-C ends" : "";

		describe_objects(s->plans.data[i], &objects);
		if (all && s->options->library) {
			fprintf(stderr,
				"memtrace: tracing every process that maps it, %zu at "
				"present: %s%s\n",
				count, strbuf_text(&objects), end);
		} else if (all) {
			fprintf(stderr,
				"memtrace: tracing every process, %zu at present: "
				"%s%s\n",
				named_count(), strbuf_text(&objects), end);
		} else {
			const struct tracee *t = s->tracees.list.data[i];
			_cleanup_(freep) char *command = escape_dup(t->command);

			fprintf(stderr, "memtrace: tracing pid %d (%s): %s%s\n", t->pid,
				command ? command : "?", strbuf_text(&objects), end);
		}
	}
	say_return_probes(s);
	if (said > SAID_MAX)
		fprintf(stderr, "memtrace: and %zu more; Ctrl-C ends\n", said - SAID_MAX);
	if (s->options->verbose) {
		say_code(s);
		say_phases(s);
	}
	if (tracer_stack_depth(s->tracer) < s->options->stack_depth)
		fprintf(stderr,
			"memtrace: this kernel refuses programs for stacks of %u frames: "
			"%u frames are kept\n",
			s->options->stack_depth, tracer_stack_depth(s->tracer));
}

static void say_walks(const struct session *s)
{
	uint64_t walks, rules, table_bytes;

	tracer_unwind_counts(s->tracer, &walks, &rules, &table_bytes);
	if (walks || table_bytes)
		fprintf(stderr,
			"memtrace: %" PRIu64
			" stacks were unwound from copies, and %" PRIu64
			" call sites learned; unwind tables of whole files take %" PRIu64
			" KiB in the kernel\n",
			walks, rules, table_bytes >> 10);
}

/* --- reports ---------------------------------------------------------------------- */

static struct error *add_kernel(struct session *s, struct snapshot *snap)
{
	_cleanup_(snapshot_destroyp) struct snapshot *kernel = snapshot_create();
	struct error *err = kernel ? tracer_snapshot(s->kernel_tracer, NULL, NULL, kernel)
				   : error_no_memory();

	if (!err && !snapshot_join(&s->join, snap, kernel))
		err = error_no_memory();
	return err;
}

static struct error *take_snapshot(struct session *s, struct snapshot **ret)
{
	_cleanup_(snapshot_destroyp) struct snapshot *snap = snapshot_create();
	struct timespec now;
	struct error *err;

	if (!snap)
		return error_no_memory();
	clock_gettime(CLOCK_REALTIME, &now);
	snap->wall_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	if (s->options->library && s->tracees.scope == SCOPE_ALL) {
		snap->library = strdup(s->options->library);
		if (!snap->library)
			return error_no_memory();
	}
	snap->launched = s->options->command;
	snap->ages_unknown = s->options->combined_only && !s->options->traffic;
	err = tracees_snapshot(&s->tracees, snap);
	if (!err && s->kernel_tracer)
		err = add_kernel(s, snap);
	if (!err)
		*ret = take(snap);
	return err;
}

/* Does the saved snapshot differ from the reported one? Not with one process, because
 * then there is nothing to merge. */
static bool saves_apart(const struct session *s)
{
	return s->options->files[OUTPUT_SAVE] && !s->options->group_by_process &&
	       !traces_one(s);
}

/* Group the snapshot as --group-by says, and add the trends of its call paths. The
 * snapshot to be saved stays ungrouped, with its own trends. */
static struct error *make_snapshot(struct session *s, struct snapshot *snap,
				   struct snapshot_made *ret)
{
	struct error *err = NULL;

	if (s->options->group_by_process) {
		err = course_add(s->course, snap);
		if (!err && !snapshot_split(snap, s->options->files[OUTPUT_SAVE], ret))
			err = error_no_memory();
		return err;
	}
	if (!snapshot_merge(s->merge, snap, saves_apart(s), ret))
		return error_no_memory();
	err = course_add(s->course, ret->snap);
	return err || !saves_apart(s) ? err : course_add(s->saved_course, snap);
}

/* Record what the next saved snapshot must know about this one. */
static struct error *remember_saved(struct session *s, const struct snapshot *snap,
				    const struct report_options *options)
{
	_cleanup_(freep) struct frame_cache **none =
		calloc(snap->processes.len + 1, sizeof(*none));
	const struct report_options sums_only = {
		.top = 1,
		.older_ns = options->older_ns,
		.combined_only = options->combined_only,
		.group_by_process = true,
	};
	struct report *report = NULL;
	struct error *err;

	if (!none)
		return error_no_memory();
	err = report_build(snap, s->saved_history, none, &sums_only, REPORT_INTERVAL,
			   &report);
	report_destroy(report);
	return err;
}

/* With `is_saved`, add to the snapshot what --save and --replay need. */
static struct error *build_report(struct session *s, struct snapshot *snap,
				  struct snapshot_made *made,
				  const struct report_options *options,
				  enum report_cause cause, bool is_saved,
				  struct report **ret)
{
	size_t count = s->tracees.list.len;
	_cleanup_(freep) struct frame_cache **frames = calloc(count + 1, sizeof(*frames));
	struct error *err = NULL;

	if (!frames)
		return error_no_memory();
	for (size_t i = 0; i < count; i++)
		frames[i] = s->tracees.list.data[i]->frames;
	err = make_snapshot(s, snap, made);
	if (!err && is_saved)
		err = report_record_before(
			snap, saves_apart(s) ? s->saved_history : s->history, cause);
	if (!err && is_saved)
		err = report_record_names(snap, frames, progress_show, &s->progress);
	if (!err && saves_apart(s))
		err = remember_saved(s, snap, options);
	return err ? err
		   : report_build(made->snap, s->history, frames, options, cause, ret);
}

static struct error *write_report(struct session *s, const struct report *shown)
{
	struct error *err = s->renderer->render(shown, s->output.file);

	return err ? err : output_flush(&s->output);
}

/* Has the reader of the reports closed the pipe, and is nothing else written? */
static bool is_unread(const struct session *s, const struct error *err)
{
	return err->saved_errno == EPIPE && !s->output.path &&
	       !outputs_are_wanted(&s->outputs);
}

static struct error *make_report(struct session *s, enum report_cause cause)
{
	_cleanup_(snapshot_destroyp) struct snapshot *snap = NULL;
	_cleanup_(snapshot_made_deinit) struct snapshot_made made = {.snap = NULL};
	_cleanup_(report_destroyp) struct report *report = NULL;
	bool is_final = report_cause_is_final(cause);
	struct report_options options;
	struct report shown;
	struct error *err;

	report_setup_measure(&s->setup);
	reading_begin_report(&s->tracees.reading);
	options = outputs_report_options(&s->outputs, &s->setup.options, is_final);
	if (is_final) {
		tracer_freeze(s->tracer);
		if (s->kernel_tracer)
			tracer_freeze(s->kernel_tracer);
	}
	err = take_snapshot(s, &snap);
	if (!err)
		err = build_report(s, snap, &made, &options, cause,
				   outputs_save_is_due(&s->outputs, is_final), &report);
	if (!err)
		err = report_view(report, &s->setup.options, &shown);
	if (err)
		return err;
	progress_clear(&s->progress);
	if (cause == REPORT_STOPPED)
		progress_erase_echo(&s->progress);
	if (!s->options->quiet)
		reading_say_lost(&s->tracees.reading);
	if (s->options->verbose && is_final)
		say_walks(s);
	for (size_t i = 0; s->options->verbose && i < s->tracees.list.len; i++)
		reading_say_missing(s->tracees.list.data[i]->user);
	if (!s->options->quiet)
		runtime_say_jit(s->tracees.list.data, s->tracees.list.len, report,
				stderr);
	if (is_final || !s->prints_final_only)
		err = write_report(s, &shown);
	if (err && !is_final && is_unread(s, err))
		return err;
	/* If one output fails, the others are still written. */
	err = outputs_write(&s->outputs, report, err, is_final);
	if (!err && !is_final && s->outputs.is_failing[OUTPUT_KIND_COUNT])
		err = output_discard(&s->output);
	if (!err && !is_final)
		err = tracees_reported(&s->tracees);
	if (!err && !is_final && (s->prints_final_only || s->output.path))
		progress_report(&s->progress, report, s->options->duration_ns);
	return err;
}

static int wait_ms(const struct session *s)
{
	int tracer_ms = tracer_poll_ms(s->tracer);
	int look_ms = tracees_look_ms(&s->tracees);

	return tracer_ms >= 0 && tracer_ms < look_ms ? tracer_ms : look_ms;
}

static void say_verdicts(struct session *s)
{
	struct check_verdict verdict;

	while (tracer_next_verdict(s->tracer, &verdict)) {
		progress_clear(&s->progress);
		return_probes_say_verdict(&verdict, s->options->verbose, stderr);
	}
}

/* Make reports until the run ends. */
static struct error *report_until_end(struct session *s)
{
	const struct options *o = s->options;
	struct error *err = NULL;

	for (;;) {
		enum report_cause cause = REPORT_INTERVAL;
		bool due = waiter_next(&s->waiter, wait_ms(s), &cause);

		tracer_poll(s->tracer);
		tracer_tidy(s->tracer);
		say_verdicts(s);
		err = tracees_look(&s->tracees);
		if (err)
			return err;
		if (tracees_are_gone(&s->tracees)) {
			cause = REPORT_EXITED;
			due = true;
		}
		if (!due)
			continue;
		if (cause == REPORT_INTERVAL && ++s->intervals == o->count)
			cause = REPORT_COUNT;
		say_verdicts(s);
		err = make_report(s, cause);
		if (err || report_cause_is_final(cause))
			return err;
		/* Return free memory to the kernel: malloc keeps everything that the
		 * report and the symbols of exited processes used, which is many times
		 * what remains. */
		malloc_trim(0);
	}
}

static struct error *trace(struct session *s)
{
	const struct options *o = s->options;
	struct error *err = waiter_init(&s->waiter);

	if (!err)
		err = start_tracing(s);
	phases_end(&s->phases, clock_now_ns());
	progress_clear(&s->progress);
	if (err)
		return err;
	for (size_t i = 0; o->verbose && i < s->plans.len; i++)
		say_missing(s->plans.data[i]);
	for (size_t i = 0; !o->quiet && i < s->plans.len; i++)
		plan_warn_untraced(s->plans.data[i], stderr);
	for (size_t i = 0; o->otel_memory && !o->quiet && i < s->plans.len; i++)
		plan_warn_untold(s->plans.data[i], stderr);
	if (!o->quiet) {
		forked_say(&s->children, stderr);
		say_own_heaps(s);
		say_tracing(s);
	}
	err = waiter_start(&s->waiter, s->tracees.epoll_fd, o->interval_ns,
			   o->duration_ns);
	if (o->command)
		waiter_pass_to(&s->waiter, s->spawn.pid);
	tracees_read_events(&s->tracees);
	if (!err)
		err = spawn_release(&s->spawn);
	return err ? err : report_until_end(s);
}

/* The run is over, but the command may still run: remove the probes, forward the signal
 * that ended the run, and wait for the command. Another Ctrl-C ends only memtrace. */
static int finish_command(struct session *s)
{
	tracer_destroy(s->tracer);
	tracer_destroy(s->kernel_tracer);
	s->tracer = s->kernel_tracer = NULL;
	/* Until we wait for the command, no other process can get its pid. */
	if (s->waiter.stop_signal)
		kill(s->spawn.pid, s->waiter.stop_signal);
	waiter_unblock(&s->waiter);
	return spawn_wait(&s->spawn);
}

/* The last thing that takes a privilege which is dropped then. */
static void open_fetch_cache(struct session *s)
{
	_cleanup_(error_destroyp) struct error *err = fetch_cache_open(&s->fetch_cache);

	if (err)
		fprintf(stderr,
			"memtrace: --debuginfod: no debug file can be fetched: %s\n",
			err->message);
}

/* Drop the privileges that tracing does not need. A command has its own already. */
static struct error *shed(struct session *s)
{
	const struct options *o = s->options;
	struct error *err;

	if (o->debuginfod)
		open_fetch_cache(s);
	err = shed_for_tracing(o->command, o->debuginfod);
	if (!err || err->code != ERROR_UNSUPPORTED)
		return err;
	if (o->verbose)
		fprintf(stderr, "memtrace: some privileges were kept: %s\n",
			err->message);
	error_destroy(err);
	return NULL;
}

static void shed_for_opener(void)
{
	/* If a sandbox forbids this, the rest of memtrace keeps its privileges too. */
	error_destroy(shed_for_opening());
}

static void say_hung(const char *path)
{
	_cleanup_(freep) char *escaped = escape_dup(path);

	fprintf(stderr,
		"memtrace: %s: the file system does not answer; its files are left out "
		"until it does\n",
		escaped ? escaped : "?");
}

static void say_given_up(void)
{
	uint64_t count = open_helper_given_up();

	if (count)
		fprintf(stderr,
			"memtrace: %" PRIu64 " %s left out, as a file system did not "
			"answer\n",
			count, count == 1 ? "look at a file was" : "looks at files were");
}

/* If the command cannot be run, the status is the one that a shell returns. */
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

/* Processes that will compile load the compiler while the probes are planned. Usually an
 * earlier run has cached the code, and no process is needed: then tracer_create() starts
 * those that are. */
static void start_compilers(struct session *s)
{
	if (s->options->dry_run || (!s->options->no_cache && !cache_is_empty()))
		return;
	compiler_pool_init(&s->compilers, tracer_compiler_count());
}

/* Least number of descriptors for one process, its symbols, and BPF maps and links. */
#define LEAST_FILES 128

struct error *session_run(const struct options *options, int *status)
{
	_cleanup_(session_deinit) struct session s = {
		.options = options,
		.waiter = WAITER_NONE,
		.tracees = {.epoll_fd = -1},
		.fetch_cache = -1,
	};
	struct error *err;

	*status = SESSION_FAILED;
	phases_begin(&s.phases, "processes", clock_now_ns());
	progress_init(&s.progress, options->quiet);
	err = report_setup_init(options, !options->output && isatty(STDOUT_FILENO),
				&s.setup);
	s.renderer = renderer_find(s.setup.format);
	s.prints_final_only = options->final_only_on_terminal && !options->output &&
			      isatty(STDOUT_FILENO);
	s.progress.waiter = &s.waiter;
	s.setup.options.progress = (struct report_progress){progress_show, &s.progress};
	if (!err)
		err = output_open(options->dry_run ? NULL : options->output,
				  options->force, NULL, &s.output);
	if (err)
		return err;
	if (!options->dry_run)
		err = outputs_init(&s.outputs, options, NULL);
	s.outputs.said = s.progress.out;
	if (!err)
		err = file_limit_check(LEAST_FILES);
	/* A command inherits the original limits, so raise them only after it has
	 * started. */
	if (!options->command)
		file_limit_raise();
	/* With --kernel no ELF file of a target is read. */
	if (!err && !options->kernel)
		err = open_helper_start(
			&(const struct open_helper_options){shed_for_opener, say_hung});
	if (!err && !options->kernel)
		err = elf_reader_create(reading_warn, progress_stopping_ns, &s.progress,
					&s.elf_reader);
	if (!err && options->command) {
		err = spawn_start(options->program, options->command, s.elf_reader,
				  &s.spawn);
		if (err)
			*status = start_status(options, err);
	}
	if (options->command)
		file_limit_raise();
	if (!err)
		err = shed(&s);
	if (!err)
		start_compilers(&s);
	phases_begin(&s.phases, "planning", clock_now_ns());
	if (!err)
		err = make_plans(&s);
	/* The plan has already looked for events in files. */
	if (!err && options->dry_run && options->event && !event_is_in_file(s.event.kind))
		err = kernel_events_check(&s.event);
	if (!err && options->dry_run && options->kernel)
		err = kernel_dry_run(options);
	else if (!err && options->dry_run)
		dry_run(&s);
	if (!err && !options->dry_run)
		err = trace(&s);

	output_close(&s.output);
	say_given_up();
	tracees_say_unlisted(&s.tracees);
	if (!err)
		*status = options->command && !options->dry_run ? finish_command(&s) : 0;
	if (outputs_say_unwritten(&s.outputs, stderr) && !*status)
		*status = SESSION_FAILED;
	if (!err && tracees_say_descriptors(&s.tracees) && !*status)
		*status = SESSION_FAILED;
	return err;
}
