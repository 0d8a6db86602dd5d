// SPDX-License-Identifier: Apache-2.0
#include "session/session_private.h"

#include <inttypes.h>
#include "bpf/cache.h"
#include "tracees/return_probes.h"
#include "tracees/runtimes.h"
#include "process/named.h"
#include "bpf/mm_locks.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/cpu_queue.h"
#include "util/priority.h"
#include "util/open_helper.h"
#include "util/path.h"
#include "util/escape.h"
#include "util/say_note.h"
#include "util/strbuf.h"

/* At most this many processes get a line of their own. */
#define SAID_MAX 16

void session_say_missing(const struct plan *plan)
{
	vec_foreach (object, &plan->objects) {
		_cleanup_(freep) char *path = escape_dup(object->allocator.module_path);

		vec_foreach (function, &object->missing)
			say_note("%s has no %s: not traced", path ? path : "?",
				 (*function)->name);
	}
}

static void say_plans(struct session *s, const struct tracer_setup *setup)
{
	const struct trace_mode *mode = setup->mode;
	const struct trace_config *config = &s->options->trace;
	struct kernel_features features;
	bool bodies;

	kernel_features_detect(&features);
	bodies = tracer_takes_bodies(config, &features);
	for (size_t i = 0; i < s->plans.len; i++) {
		bool is_for_all = s->tracees.scope == SCOPE_ALL;
		const struct tracee *t = is_for_all ? NULL
					 : i < s->tracees.list.len
						 ? s->tracees.list.data[i]
						 : s->tracees.supervisor.process;

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
	       config->attach == ATTACH_PERF || !features.uprobe_multi ||
			       (mode->is_in_kernel && mode->is_in_kernel(setup))
		       ? "perf events"
		       : "uprobe_multi");
	printf("tables: %s\n", tables_text(config->tables, &features));
}

struct error *session_dry_run(struct session *s)
{
	const struct trace_config *config = &s->options->trace;
	const struct tracer_setup setup = session_tracer_setup(s);
	struct error *err =
		setup.mode->dry_run ? setup.mode->dry_run(&setup, stdout) : NULL;

	if (!err && trace_mode_can(config, MODE_PROCESSES))
		say_plans(s, &setup);
	return err;
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
		    object->sites.data->function->effect >= EFFECT_ALLOC_USDT)
			functions = *functions ? " static probes" : "";
		strbuf_appendf(ret, "%s%zu%s of ", before, object->sites.len, functions);
		escape_text(ret, path_base_name(object->allocator.module_path));
		functions = "";
		before = ", ";
	}
}

/* Only if allocation functions are traced and nothing else. */
void session_say_own_heaps(const struct session *s)
{
	const struct options *o = s->options;

	if (s->tracees.scope == SCOPE_ALL || o->trace.mappings ||
	    !trace_mode_can(&o->trace, MODE_FUNCTIONS))
		return;
	for (size_t i = 0; i < s->tracees.list.len && i < SAID_MAX; i++)
		runtime_say_heap(s->tracees.list.data[i]);
}

/* Print where return probes might disturb the target. */
static void say_return_probes(const struct session *s)
{
	bool bodies = tracer_sees_results(s->tracer);
	/* All plans of a run have the same event, or none. */
	const struct plan *first = s->plans.len ? s->plans.data[0] : NULL;
	bool are_asked_for =
		first && first->event && plan_has_return_probes(first, bodies);

	for (size_t i = 0; i < s->tracees.list.len && i < SAID_MAX; i++)
		if (are_asked_for)
			return_probes_warn(s->tracees.list.data[i]);
	for (size_t i = 0; i < s->plans.len && i < SAID_MAX && s->options->verbose; i++)
		return_probes_say(s->plans.data[i], bodies);
}

/* Print how long the start took. */
static void say_phases(const struct session *s)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0};

	phases_append(&s->phases, &text);
	say_note("started in %s", strbuf_text(&text));
}

/* Print how the probes were attached, and where the compiled code comes from. */
static void say_code(const struct session *s)
{
	const struct tracer *t = s->tracer;
	const char *path = tracer_cache_path(t), *why = tracer_why_no_cache(t);
	_cleanup_(freep) char *place = path || why ? escape_dup(why ? why : path) : NULL;

	say_note("attached by %s, compiled with %s headers%s, tables are %s",
		 tracer_attach_name(t), tracer_headers_kind(t),
		 tracer_had_code(t) ? " by an earlier run" : "", tracer_tables_name(t));
	if (place)
		say_note("compiled code is %s%s", why ? "not kept: " : "kept in ", place);
}

/* Print why entries of the cache were not used. */
static void say_ignored(struct session *s, struct tracer *t)
{
	struct error *err;

	while (t && (err = tracer_take_ignored(t))) {
		_cleanup_(freep) char *text = escape_dup(err->message);

		progress_clear(&s->progress);
		if (text)
			say_note("the cache entry %s", text);
		error_destroy(err);
	}
}

/* Delays below these are not reported, ns. */
#define LATE_NS  UINT64_C(1000000000)
#define START_NS UINT64_C(2000000000)

/* Was memtrace late by `late_ns` mostly because it, or a child that it waited for, had no
 * processor? */
static bool is_crowded(uint64_t late_ns, uint64_t queue_ns)
{
	return priority_wanted() < 0 || cpu_queue_ns() - queue_ns >= late_ns / 2;
}

void session_say_slow_start(uint64_t begun_ns)
{
	uint64_t took_ns = clock_now_ns() - begun_ns;

	if (took_ns >= START_NS && is_crowded(took_ns, 0))
		say_note("the start took %.1f s, because other programs keep the "
			 "processors busy",
			 (double)took_ns / 1e9);
}

void session_say_late_end(const struct session *s)
{
	uint64_t now_ns = clock_now_ns(), due_ns = s->end.due_ns;

	if (due_ns && now_ns >= due_ns + LATE_NS &&
	    is_crowded(now_ns - due_ns, s->end.queue_ns))
		say_note("the run ends %.1f s later than --duration says, because other "
			 "programs keep the processors busy",
			 (double)(now_ns - due_ns) / 1e9);
}

/* What else the user can do: the end of the last line about the traced processes. */
static const char *hints(const struct session *s)
{
	const struct options *o = s->options;

	return !s->screen && !o->command && !o->output && !o->listen &&
			       screen_is_possible()
		       ? "; Ctrl-C ends, and --live shows a screen"
		       : "; Ctrl-C ends";
}

/* The line about process `i`, or about all of them. `end` is its end. */
static void say_traced(const struct session *s, size_t i, const char *end)
{
	_cleanup_(strbuf_deinit) struct strbuf objects = {0};
	bool all = s->tracees.scope == SCOPE_ALL;
	const struct tracee *supervisor = s->tracees.supervisor.process;
	const struct tracee *t = all          ? NULL
				 : supervisor ? supervisor
					      : s->tracees.list.data[i];
	_cleanup_(freep) char *command = t ? escape_dup(t->command) : NULL;
	size_t count = s->tracees.list.len;

	/* The supervisor's plan is the last one. */
	describe_objects(s->plans.data[supervisor ? s->plans.len - 1 : i], &objects);
	if (all && s->options->library)
		say_note("tracing every process that maps it, %zu at present: %s%s",
			 count, strbuf_text(&objects), end);
	else if (all)
		say_note("tracing every process, %zu at present: %s%s", named_count(),
			 strbuf_text(&objects), end);
	else if (supervisor)
		say_note("tracing what pid %d (%s) starts, %zu at present: %s%s", t->pid,
			 command ? command : "?", count, strbuf_text(&objects), end);
	else
		say_note("tracing pid %d (%s): %s%s", t->pid, command ? command : "?",
			 strbuf_text(&objects), end);
}

void session_say_tracing(struct session *s)
{
	const struct tracer *kernel = trace_mode_can(&s->options->trace, MODE_PROCESSES)
					      ? s->kernel_tracer
					      : s->tracer;
	bool is_one_line = s->tracees.scope == SCOPE_ALL || s->tracees.supervisor.process;
	size_t said = is_one_line ? 1 : s->tracees.list.len;

	if (kernel)
		kernel_say_tracing(&s->tracees, kernel, &s->kernel);
	if (kernel == s->tracer)
		said = 0;
	for (size_t i = 0; i < said && i < SAID_MAX; i++)
		say_traced(s, i, i + 1 == said ? hints(s) : "");
	say_return_probes(s);
	if (said > SAID_MAX)
		say_note("and %zu more%s", said - SAID_MAX, hints(s));
	if (s->options->verbose) {
		say_code(s);
		say_ignored(s, s->tracer);
		say_ignored(s, s->kernel_tracer);
		say_phases(s);
	}
	if (tracer_refused_depth(s->tracer))
		say_note("this kernel refuses programs for stacks of %u frames: %u "
			 "frames are kept",
			 tracer_refused_depth(s->tracer), tracer_stack_depth(s->tracer));
	if (tracer_small_ring_mb(s->tracer))
		say_note("the kernel has no memory for 16 MB of stacks that memtrace "
			 "must unwind itself: they have %u MB, and more of them may be "
			 "lost (walks_lost)",
			 tracer_small_ring_mb(s->tracer));
}

void session_say_walks(const struct session *s)
{
	uint64_t walks, rules, table_bytes;

	tracer_unwind_counts(s->tracer, &walks, &rules, &table_bytes);
	if (walks || table_bytes)
		say_note("%" PRIu64 " stacks were unwound from copies, and %" PRIu64
			 " call sites got unwind rules; unwind tables of whole files "
			 "take %" PRIu64 " KiB in the kernel",
			 walks, rules, table_bytes >> 10);
}

void session_say_pause(const struct session *s)
{
	struct reach_pause pause = reach_search_pause(s->search);

	if (pause.stopping_ns)
		say_note("stopping processes took %.1f ms, reading the table of live "
			 "blocks %.1f ms, and searching memory %.1f ms",
			 (double)pause.stopping_ns / 1e6, (double)pause.table_ns / 1e6,
			 (double)pause.search_ns / 1e6);
}

void session_say_verdicts(struct session *s)
{
	struct check_verdict verdict;

	while (tracer_next_verdict(s->tracer, &verdict)) {
		progress_clear(&s->progress);
		return_probes_say_verdict(&verdict, s->options->verbose);
	}
	/* Libraries that were loaded meanwhile may have needed further programs. */
	if (s->options->verbose)
		say_ignored(s, s->tracer);
	if (!s->has_said_left_out && !s->options->quiet &&
	    tracer_checks_left_out(s->tracer)) {
		progress_clear(&s->progress);
		say_note("%d functions have probes inside that are checked: further ones "
			 "are not checked until libraries are unloaded",
			 ABI_MAX_CHECKS);
		s->has_said_left_out = true;
	}
}

void session_say_hung(const char *path)
{
	_cleanup_(freep) char *escaped = escape_dup(path);

	say_note("%s: the file system does not answer; its files are left out until it "
		 "does",
		 escaped ? escaped : "?");
}

void session_say_late(int pid)
{
	_cleanup_(freep) char *holder = mm_locks_holder(pid);

	say_note("%s holds the lock of its address space, and the kernel would wait for "
		 "that to remove the probes: the process memtrace-detach removes them "
		 "once the lock is free",
		 holder ? holder : "a process");
}

void session_say_given_up(void)
{
	uint64_t count = open_helper_given_up();

	if (count)
		say_note("%" PRIu64 " %s left out, as a file system did not answer",
			 count,
			 count == 1 ? "look at a file was" : "looks at files were");
}
