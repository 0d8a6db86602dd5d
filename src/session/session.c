// SPDX-License-Identifier: Apache-2.0
#include "session/session.h"
#include "session/session_private.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/cache.h"
#include "bpf/link.h"
#include "process/timed_read.h"
#include "session/fetch_cache.h"
#include "tracees/forked.h"
#include "confined/shed.h"
#include "render/table/renderers.h"
#include "report/name_book.h"
#include "util/cleanup.h"
#include "util/say_error.h"
#include "util/clock.h"
#include "util/cpu_queue.h"
#include "util/file_limit.h"
#include "util/open_helper.h"
#include "util/say_note.h"

static void session_deinit(struct session *s)
{
	/* Before all messages that follow. */
	session_screen_stop(s);
	/* First, because this begins to remove the probes from the targets. */
	tracer_destroy(s->tracer);
	tracer_destroy(s->kernel_tracer);
	snapshot_join_deinit(&s->join);
	tracees_deinit(&s->tracees);
	if (!s->serve_is_lent)
		serve_stop(s->serve);
	name_book_destroy(s->names);
	report_history_destroy(s->history);
	timeline_destroy(s->timeline);
	report_history_destroy(s->saved_history);
	timeline_destroy(s->saved_timeline);
	snapshot_merge_destroy(s->merge);
	vec_foreach (plan, &s->plans)
		plan_destroy(*plan);
	vec_deinit(&s->plans);
	children_deinit(&s->children);
	compiler_pool_deinit(&s->compilers);
	offsets_reader_deinit(&s->offsets);
	spawn_deinit(&s->spawn);
	reach_search_destroy(s->search);
	elf_reader_destroy(s->elf_reader);
	closep(&s->fetch_cache);
	event_spec_deinit(&s->event);
	kernel_trace_deinit(&s->kernel);
	report_setup_deinit(&s->setup);
	link_close_wait();
	waiter_deinit(&s->waiter);
	open_helper_stop();
	progress_clear(&s->progress);
}

static int wait_ms(const struct session *s)
{
	int tracer_ms = tracer_poll_ms(s->tracer);
	int look_ms = tracees_look_ms(&s->tracees);

	return tracer_ms >= 0 && tracer_ms < look_ms ? tracer_ms : look_ms;
}

/* Make reports until the run ends. */
static struct error *report_until_end(struct session *s)
{
	const struct options *o = s->options;
	struct error *err = NULL;

	for (;;) {
		enum report_cause cause = REPORT_INTERVAL;
		bool due;

		s->waiter.ask_fd = serve_fd(s->serve);
		due = waiter_next(&s->waiter, wait_ms(s), &cause);
		tracer_poll(s->tracer);
		tracer_tidy(s->tracer);
		session_say_verdicts(s);
		err = tracees_look(&s->tracees);
		if (err)
			return err;
		if (session_screen_look(s)) {
			cause = REPORT_STOPPED;
			due = true;
		}
		if (tracees_are_gone(&s->tracees)) {
			cause = REPORT_EXITED;
			due = true;
		}
		session_observe(s);
		if (!due)
			continue;
		if (cause == REPORT_INTERVAL && ++s->intervals == o->count)
			cause = REPORT_COUNT;
		session_say_verdicts(s);
		err = session_report(s, cause);
		if (!err && cause == REPORT_DURATION && !o->quiet)
			session_say_late_end(s);
		if (err || report_cause_is_final(cause))
			return err;
		/* A screen soon needs it again. */
		if (!s->screen)
			session_trim(s);
	}
}

/* --duration begins now, if it was given. */
static void begin_duration(struct session *s)
{
	uint64_t duration_ns = s->options->duration_ns;

	if (duration_ns)
		s->end = (struct on_time){clock_now_ns() + duration_ns, cpu_queue_ns()};
}

/* What is left of --duration, at least 1; 0: it was not given. */
static uint64_t duration_left_ns(const struct session *s)
{
	uint64_t now_ns = clock_now_ns();

	if (!s->end.due_ns)
		return 0;
	return s->end.due_ns > now_ns ? s->end.due_ns - now_ns : 1;
}

static struct error *trace(struct session *s)
{
	const struct options *o = s->options;
	struct error *err = waiter_init(&s->waiter);

	if (!err)
		err = session_start(s);
	phases_end(&s->phases, clock_now_ns());
	progress_clear(&s->progress);
	if (err)
		return err;
	begin_duration(s);
	/* From now on a process may hold its lock without anyone having looked. */
	timed_read_enable();
	for (size_t i = 0; o->verbose && i < s->plans.len; i++)
		session_say_missing(s->plans.data[i]);
	for (size_t i = 0; !o->quiet && i < s->plans.len; i++)
		plan_warn_untraced(s->plans.data[i]);
	for (size_t i = 0; !o->quiet && i < s->plans.len; i++)
		plan_warn_untraced_usdt(s->plans.data[i]);
	if (!o->quiet) {
		forked_say(&s->children);
		session_say_own_heaps(s);
		session_say_slow_start(s->begun_ns);
		session_say_tracing(s);
		tracees_say_stopped(&s->tracees);
		serve_say(s->serve);
	}
	if (o->command)
		begin_duration(s);
	err = waiter_start(&s->waiter, s->tracees.epoll_fd, s->interval_ns,
			   duration_left_ns(s));
	if (s->screen)
		s->waiter.screen_fd = screen_fd(s->screen);
	if (o->command)
		waiter_pass_to(&s->waiter, s->spawn.pid);
	tracees_read_events(&s->tracees);
	waiter_permit_last(&s->waiter, session_last_report, s);
	if (!err)
		err = spawn_release(&s->spawn);
	return err ? err : report_until_end(s);
}

/* Otherwise memtrace seems to hang after its last report. */
static void say_awaited(const struct session *s)
{
	siginfo_t ended = {0};

	if (s->options->quiet || s->waiter.stop_signal ||
	    waitid(P_PID, (id_t)s->spawn.pid, &ended, WEXITED | WNOHANG | WNOWAIT) ||
	    ended.si_pid)
		return;
	say_note("the run has ended, and pid %d goes on without probes; memtrace waits "
		 "for its exit status",
		 s->spawn.pid);
}

/* The run is over, but the command may still run: remove the probes, forward the signal
 * that ended the run, and wait for the command. Another Ctrl-C ends only memtrace. */
static int finish_command(struct session *s)
{
	tracer_destroy(s->tracer);
	tracer_destroy(s->kernel_tracer);
	s->tracer = s->kernel_tracer = NULL;
	link_close_wait();
	/* Until we wait for the command, no other process can get its pid. */
	if (s->waiter.stop_signal)
		kill(s->spawn.pid, s->waiter.stop_signal);
	waiter_unblock(&s->waiter);
	say_awaited(s);
	return spawn_wait(&s->spawn);
}

/* The last thing that takes a privilege which is dropped then. */
static void open_fetch_cache(struct session *s)
{
	_cleanup_(error_destroyp) struct error *err = fetch_cache_open(&s->fetch_cache);

	if (err)
		say_error("--debuginfod: no debug file can be fetched: ", err, "");
}

/* Drop the privileges that tracing does not need. A command has its own already. */
static struct error *shed(struct session *s)
{
	const struct options *o = s->options;
	struct error *err;

	if (o->debuginfod)
		open_fetch_cache(s);
	err = shed_for_tracing(o->command, o->debuginfod, o->listen);
	if (!err || err->code != ERROR_UNSUPPORTED)
		return err;
	if (o->verbose)
		say_error("some privileges were kept: ", err, "");
	error_destroy(err);
	return NULL;
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

/* While the probes are planned, processes that will compile load the compiler, and a
 * thread reads the kernel's types. Usually an earlier run has cached what both find: then
 * tracer_create() does what is left. */
static void start_compilers(struct session *s)
{
	if (s->options->dry_run || (!s->options->trace.no_cache && !cache_is_empty()))
		return;
	compiler_pool_init(&s->compilers, tracer_compiler_count());
	offsets_reader_init(&s->offsets);
}

/* Least number of descriptors for one process, its symbols, and BPF maps and links. */
#define LEAST_FILES 128

/* How and where to report. */
static struct error *open_outputs(struct session *s)
{
	const struct options *options = s->options;
	bool to_terminal = !options->output && isatty(STDOUT_FILENO);
	struct error *err;

	progress_init(&s->progress, options->quiet);
	err = report_setup_init(options, to_terminal, &s->setup);
	s->renderer = renderer_find(s->setup.format);
	s->prints_final_only = options->final_only_on_terminal && to_terminal;
	s->progress.waiter = &s->waiter;
	s->setup.options.progress = (struct report_progress){progress_show, &s->progress};
	if (!err)
		err = session_screen_start(s, to_terminal);
	if (!err)
		err = output_open(options->dry_run ? NULL : options->output,
				  options->force, NULL, &s->output);
	return err;
}

/* Start the helpers that open files and read ELF files, and the command, unless `err` is
 * set. Returns `err` or an error of its own. */
static struct error *start_processes(struct session *s, struct error *err, int *status)
{
	const struct options *options = s->options;
	bool follows = trace_mode_can(&options->trace, MODE_PROCESSES);

	/* A command inherits the original limits, so raise them only after it has
	 * started. */
	if (!options->command)
		file_limit_raise();
	link_warn_late(session_say_late);
	/* If no process is followed, no ELF file of a target is read. */
	if (!err && follows)
		err = session_start_opener();
	if (!err && follows)
		err = elf_reader_create(reading_warn, progress_stopping_ns, &s->progress,
					&s->elf_reader);
	if (!err && options->unreachable && !options->dry_run)
		err = reach_search_create(
			&(const struct reach_search_options){
				.words = {.unaligned = options->unreachable_unaligned,
					  .low_tag_max =
						  options->unreachable_tagged ? 7 : 0},
				.max_pause_ns = options->max_pause_ns,
				.progress = progress_show,
				.warn = reading_warn,
				.stopping_ns = progress_stopping_ns,
				.arg = &s->progress,
			},
			&s->search);
	if (!err && options->command) {
		err = spawn_start(options->program, options->command, s->elf_reader,
				  &s->spawn);
		if (err)
			*status = start_status(options, err);
	}
	if (!err && options->unreachable_strict && s->search)
		reach_search_be_strict(s->search, (int)s->spawn.pid);
	if (options->command)
		file_limit_raise();
	return err;
}

struct error *session_run(const struct options *options, struct serve *serve, int *status)
{
	_cleanup_(session_deinit) struct session s = {
		.options = options,
		.waiter = WAITER_NONE,
		.tracees = {.epoll_fd = -1},
		.fetch_cache = -1,
		.serve = serve,
		.serve_is_lent = serve != NULL,
	};
	struct error *err;

	*status = SESSION_FAILED;
	s.begun_ns = clock_now_ns();
	phases_begin(&s.phases, "processes", s.begun_ns);
	err = reading_check_dirs(&options->debug_dirs);
	if (!err)
		err = open_outputs(&s);
	if (err)
		return err;
	if (!options->dry_run)
		err = outputs_init(&s.outputs, options, NULL);
	s.outputs.said = s.progress.out;
	if (!err && !options->dry_run && !serve)
		err = serve_start(options, &s.setup, &s.serve);
	if (!err)
		err = file_limit_check(LEAST_FILES);
	err = start_processes(&s, err, status);
	if (!err)
		err = shed(&s);
	if (!err)
		start_compilers(&s);
	phases_begin(&s.phases, "planning", clock_now_ns());
	if (!err)
		err = session_plan(&s);
	if (!err && options->dry_run)
		err = session_dry_run(&s);
	if (!err && !options->dry_run)
		err = trace(&s);

	output_close(&s.output);
	session_say_given_up();
	tracees_say_unlisted(&s.tracees);
	if (!err)
		*status = options->command && !options->dry_run ? finish_command(&s) : 0;
	if (outputs_say_unwritten(&s.outputs) && !*status)
		*status = SESSION_FAILED;
	if (!err && tracees_say_descriptors(&s.tracees) && !*status)
		*status = SESSION_FAILED;
	return err;
}
