// SPDX-License-Identifier: Apache-2.0
#include "tracees/tracees.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "tracees/system_wide.h"
#include "tracees/tracees_private.h"
#include "allocator/scan_cache.h"
#include "plan/plan_cache.h"
#include "code/other_code.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/escape.h"
#include "util/say_note.h"

/* --- the list --------------------------------------------------------------------- */

void tracees_wait_for(struct tracees *ts, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	/* EEXIST: a descriptor inherited across an exec is watched already. */
	if (fd < 0 || !epoll_ctl(ts->epoll_fd, EPOLL_CTL_ADD, fd, &event) ||
	    errno == EEXIST || ts->cannot_wait)
		return;
	ts->cannot_wait = true;
	say_note("the kernel cannot report when processes exit (epoll_ctl: %s): memtrace "
		 "checks every %d ms instead",
		 strerror(errno), LOOK_OFTEN_MS);
}

bool tracees_say_descriptors(const struct tracees *ts)
{
	if (!ts->lacks_descriptors && !ts->untraced.lacks_descriptors)
		return false;
	say_note("file descriptors ran out, and not everything was traced: raise the "
		 "hard limit (ulimit -Hn)");
	return true;
}

bool tracees_may_have_exited(const struct tracees *ts)
{
	/* Four, because one event may belong to the watch and two to the tracer. */
	struct epoll_event events[4];
	int count;

	if (ts->cannot_wait)
		return true;
	count = epoll_wait(ts->epoll_fd, events, 4, 0);

	for (int i = 0; i < count; i++)
		if ((!ts->watch || events[i].data.fd != watch_fd(ts->watch)) &&
		    events[i].data.fd != tracer_news_fd(ts->tracer) &&
		    events[i].data.fd != tracer_rings_fd(ts->tracer))
			return true;
	return count < 0;
}

static enum trace_scope scope_of(const struct options *o)
{
	if (!o->pid_count && !o->command)
		return SCOPE_ALL;
	return o->follow_forks || o->follow_exec_of ? SCOPE_FORKS : SCOPE_PROCESSES;
}

static struct error *read_kernel_names(struct tracees *ts)
{
	_cleanup_(fclosep) FILE *file = fopen("/proc/kallsyms", "re");

	if (!file)
		return error_errno(ERROR_IO, errno, "cannot read /proc/kallsyms");
	ts->kernel = kernel_names_read(file);
	if (!ts->kernel)
		return error_no_memory();
	/* With --kernel and --with-kernel a more specific message is printed
	 * (tracees/kernel.c). */
	if (kernel_names_are_hidden(ts->kernel) && !ts->options->quiet &&
	    !ts->options->with_kernel &&
	    trace_mode_can(&ts->options->trace, MODE_PROCESSES))
		say_note("the kernel hides its addresses (sysctl kernel.kptr_restrict): "
			 "its functions have no names");
	return NULL;
}

/* The process with this pid, exited or not. NULL: it is not traced. */
static const struct tracee *find_any(const struct tracees *ts, int pid)
{
	const struct tracee *ret = NULL;

	vec_foreach (t, &ts->list)
		if ((*t)->pid == pid)
			ret = *t;
	return ret;
}

static bool is_code_wanted(void *arg, int pid)
{
	const struct tracees *ts = arg;

	/* What a supervisor starts is on the list a little later. */
	return ts->scope == SCOPE_ALL || ts->supervisor.process || find_any(ts, pid);
}

bool tracees_have_our_root(void *arg, int pid)
{
	const struct tracee *t = find_any(arg, pid);

	return t && t->has_our_root;
}

static bool code_has_our_root(void *arg, int pid)
{
	const struct tracee *t = find_any(arg, pid);

	return t && t->proc ? t->has_our_root : proc_has_our_root(pid);
}

struct error *tracees_init(struct tracees *ts, const struct options *options,
			   struct elf_reader *elf_reader, int fetch_cache,
			   struct progress *progress)
{
	bool follows = trace_mode_can(&options->trace, MODE_PROCESSES);
	struct error *err;

	*ts = (struct tracees){
		.plan_options =
			{
				.library = options->library,
				.symbols_prefix = options->symbols_prefix,
				.function = options->function,
				.mappings = options->trace.mappings,
				.no_return_probes = options->no_return_probes,
				.otel = !trace_mode_can(&options->trace, MODE_FUNCTIONS),
				.cache = plan_cache_create(),
				.scans = scan_cache_create(),
				.is_shared = scope_of(options) != SCOPE_PROCESSES,
				.has_others = options->pid_count > 1,
			},
		.elf_reader = elf_reader,
		.opened = opened_files_create(),
		.scope = scope_of(options),
		.options = options,
	};
	ts->returns.is_wide = ts->scope != SCOPE_PROCESSES;
	ts->returns.pids = options->pids;
	ts->returns.pid_count = options->pid_count;
	ts->plan_options.refuse_returns = return_probes_refuse_together;
	ts->plan_options.refuse_arg = &ts->returns;
	ts->plan_options.untraced = &ts->untraced;
	ts->others = other_code_create();
	if (!ts->others)
		return error_no_memory();
	if (ts->scope != SCOPE_PROCESSES)
		ts->plan_options.others = ts->others;
	ts->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (ts->epoll_fd < 0)
		return error_errno(ERROR_IO, errno,
				   "cannot wait for processes to exit (epoll_create1)");
	if (options->trace.kernel_stacks || options->with_kernel || !follows) {
		err = read_kernel_names(ts);
		if (err)
			return err;
	}
	/* Else it does not matter what the process maps or executes. */
	if (!follows)
		return NULL;
	err = reading_init(&ts->reading, options, fetch_cache, progress);
	if (err)
		return err;
	/* Without events the processes are polled. */
	err = watch_create(&ts->watch);
	error_destroy(err);
	if (!ts->watch)
		return NULL;
	tracees_wait_for(ts, watch_fd(ts->watch));
	ts->reported_code = watched_codes_create(&(const struct watched_codes_options){
		.is_wanted = is_code_wanted,
		.has_our_root = code_has_our_root,
		.arg = ts,
	});
	return ts->reported_code ? NULL : error_no_memory();
}

void tracees_deinit(struct tracees *ts)
{
	vec_foreach (t, &ts->list)
		tracee_destroy(*t);
	vec_deinit(&ts->list);
	tracee_destroy(ts->supervisor.process);
	vec_deinit(&ts->news);
	vec_deinit(&ts->probed);
	free(ts->untraced.why_unread);
	reading_deinit(&ts->reading);
	return_probes_deinit(&ts->returns);
	plan_cache_destroy(ts->plan_options.cache);
	scan_cache_destroy(ts->plan_options.scans);
	other_code_destroy(ts->others);
	kernel_names_destroy(ts->kernel);
	watched_codes_destroy(ts->reported_code);
	watch_destroy(ts->watch);
	opened_files_destroy(ts->opened);
	if (ts->epoll_fd >= 0)
		close(ts->epoll_fd);
	*ts = (struct tracees){.epoll_fd = -1};
}

struct tracee *tracees_find(const struct tracees *ts, int pid)
{
	vec_foreach (t, &ts->list)
		if ((*t)->pid == pid && !(*t)->exited)
			return *t;
	return NULL;
}

/* Was it just forked by a process that can also name its frames? */
static bool is_named(const struct tracees *ts, const struct tracee *t)
{
	struct tracer_process process;

	return ts->tracer && tracer_find_process(ts->tracer, t->pid, &process) &&
	       tracees_name_family(ts, tracer_family(ts->tracer, process.slot));
}

/* Record the code of a process that started before memtrace listened, or before events
 * were lost. Its future children have the same code. */
static void remember_code(const struct tracees *ts, const struct tracee *t)
{
	if (ts->reported_code && ts->scope == SCOPE_FORKS && t->proc && !t->exited &&
	    !t->check_image)
		watched_codes_begin_with(ts->reported_code, t->pid, &t->modules.maps,
					 t->proc->executable, clock_now_ns());
}

struct error *tracees_add(struct tracees *ts, struct tracee *t)
{
	struct error *err = NULL;

	t->kernel = ts->kernel;
	if ((ts->list.len < TRACEES_MANY || ts->scope == SCOPE_PROCESSES) &&
	    !is_named(ts, t))
		/* A process that is added later, or with SCOPE_ALL, may have exited just
		 * now. Trace it without names rather than end the run. */
		err = ts->tracer || ts->scope == SCOPE_ALL
			      ? tracee_try_symbols(t, ts->options, ts->reading.reader)
			      : tracee_open_symbols(t, ts->options, ts->reading.reader);
	if (!err && t->proc)
		tracees_wait_for(ts, t->proc->pidfd);
	if (!err && !vec_push(&ts->list, t))
		err = error_no_memory();
	if (err)
		tracee_destroy(t);
	else
		remember_code(ts, t);
	return err;
}

void tracees_note_unread_maps(struct tracees *ts, struct tracee *t,
			      const struct error *err)
{
	_cleanup_(freep) char *why = escape_dup(err->message);

	if (t->has_unread_maps)
		return;
	t->has_unread_maps = true;
	ts->unread_maps++;
	tracees_note(
		ts, t,
		"still runs, but its mappings cannot be read: %s; code that it has "
		"mapped "
		"since has no names, and allocators there are not traced; reports count "
		"such processes as mappings_unread",
		why ? why : "out of memory");
}

struct error *tracees_refresh(struct tracees *ts, struct tracee *t)
{
	bool was_late = t->maps_late;
	_cleanup_(error_destroyp) struct error *err = tracee_refresh(t);

	if (!err && was_late && ts->scope == SCOPE_ALL)
		err = system_wide_ranges(ts, t);
	if (!err)
		remember_code(ts, t);
	tracees_note_stopped(ts, t);
	if (!err || err->code == ERROR_NO_MEMORY)
		return take(err);
	tracees_note_unread_maps(ts, t, err);
	return NULL;
}

void tracees_say_wide(struct tracees *ts)
{
	if (ts->said_wide || !tracer_is_wide(ts->tracer))
		return;
	ts->said_wide = true;
	if (!ts->options->quiet)
		say_note("the main thread of a process has exited: the kernel now probes "
			 "all processes that map the same files, which slows these down");
}

void tracees_say_unchecked(struct tracees *ts)
{
	uint64_t count = ts->others ? other_code_unread(ts->others) : 0;

	if (ts->said_unchecked || !count)
		return;
	ts->said_unchecked = true;
	if (!ts->options->quiet)
		say_note("probes are in all processes, and up to %" PRIu64
			 " of these could not be searched for code that they have "
			 "changed: code that they may have changed gets no more probes; "
			 "reports count them as processes_unchecked",
			 count);
}

void tracees_say_unread(struct tracees *ts)
{
	_cleanup_(freep) char *why = NULL;

	if (ts->said_unread || !ts->untraced.why_unread)
		return;
	ts->said_unread = true;
	why = escape_dup(ts->untraced.why_unread);
	if (!ts->options->quiet)
		say_note("a mapped file cannot be read, and an allocator in it is not "
			 "traced: %s; reports count such files as files_untraced",
			 why ? why : "out of memory");
}

/* --- start ------------------------------------------------------------------------ */

struct error *tracees_open(struct tracees *ts, int pid, struct plan **ret)
{
	size_t untraced = ts->untraced.count;
	struct tracee *t;
	struct error *err = tracee_create(pid, ts->elf_reader, ts->opened, &t);

	if (err)
		return err;
	t->asked_for = true;
	err = tracee_plan_first(t, &ts->plan_options, ret);
	if (err && err->code == ERROR_UNSAFE) {
		err = tracees_name_unsafe(err, t);
		/* The process is not traced, so its files do not count. */
		ts->untraced.count = untraced;
	}
	if (err) {
		tracee_destroy(t);
		return err;
	}
	err = tracees_add(ts, t);
	if (err)
		plan_destroy(*ret);
	return err;
}

struct error *tracees_trace(struct tracees *ts, struct tracee *t)
{
	struct error *err =
		tracer_trace(ts->tracer, t->proc, t->ranges.len ? t->ranges.data : NULL,
			     t->ranges.len, &t->slot);

	proc_rest(t->proc);
	t->is_traced = !err;
	/* The next look sees the exit, and retires the slot with its blocks. */
	if (!err)
		tracees_lost_pid(ts, t);
	return err ? err : tracees_note_family(ts, t);
}

bool tracees_lost_pid(struct tracees *ts, const struct tracee *t)
{
	if (!t->proc || !proc_has_exited(t->proc))
		return false;
	if (ts->scope == SCOPE_PROCESSES)
		tracer_detach_process(ts->tracer, t->pid);
	return true;
}

/* Did the process exit before its probes were set? `err`: why they could not be set. */
static struct error *check_exit(struct tracees *ts, const struct tracee *t,
				struct error *err)
{
	/* Probes in all processes see the children of a process that has exited. */
	if (!t || (!err && ts->scope != SCOPE_PROCESSES) || !tracees_lost_pid(ts, t))
		return err;
	error_destroy(err);
	return error_create(ERROR_GONE, "pid %d exited while memtrace attached", t->pid);
}

/* Attach the probes of one plan, for the process `t` or, if NULL, for all. */
static struct error *attach_plan(struct tracees *ts, const struct plan *plan,
				 struct tracee *t)
{
	size_t refused;
	struct error *err = tracer_attach(ts->tracer, plan, t ? t->pid : 0, &refused);

	err = check_exit(ts, t, err);
	if (!err && t)
		err = tracees_note_files(ts, t, plan);
	if (!err && refused && t)
		tracees_note(ts, t, "has too many probes: %zu are not traced", refused);
	return err;
}

/* Remove the process and its plan from their lists. Returns `err`, which names the
 * process. */
static struct error *leave_out(struct tracees *ts, struct plan *plans[], size_t *count,
			       size_t i, struct error *err)
{
	size_t after = --*count - i;

	if (err->code == ERROR_UNSAFE)
		err = tracees_name_unsafe(err, ts->list.data[i]);
	tracee_destroy(ts->list.data[i]);
	plan_destroy(plans[i]);
	memmove(&ts->list.data[i], &ts->list.data[i + 1],
		(--ts->list.len - i) * sizeof(*ts->list.data));
	memmove(&plans[i], &plans[i + 1], after * sizeof(*plans));
	return err;
}

void tracees_end_round(struct tracees *ts)
{
	scan_cache_clear(ts->plan_options.scans);
	opened_files_end(ts->opened);
}

struct error *tracees_start(struct tracees *ts, struct tracer *tracer,
			    struct plan *plans[], size_t *count)
{
	struct error *err = NULL, *unsafe = NULL;

	ts->tracer = tracer;
	tracees_wait_for(ts, tracer_news_fd(tracer));
	tracees_wait_for(ts, tracer_rings_fd(tracer));
	/* The news include loaded libraries, so other code may wait for the next look.
	 * The rest is longer than the time between looks, so that each of them extends
	 * it. */
	if (ts->watch && tracer_has_linker_news(tracer))
		watch_rest_at_most(ts->watch, LOOK_MS + LOOK_MS / 4);
	ts->plan_options.find_breakpoints = tracer_breakpoints;
	ts->plan_options.breakpoints_arg = tracer;
	ts->plan_options.is_probed = tracer_is_probed;
	for (size_t i = 0; i < *count && !err;) {
		struct tracee *t = ts->scope == SCOPE_ALL || i >= ts->list.len
					   ? NULL
					   : ts->list.data[i];

		err = attach_plan(ts, plans[i], t);
		if (!err || !t ||
		    (err->code != ERROR_UNSAFE && err->code != ERROR_GONE)) {
			i++;
			continue;
		}
		/* Print it later, when it is clear whether any process remains. */
		tracees_say_left_out(unsafe);
		unsafe = leave_out(ts, plans, count, i, take(err));
	}
	if (!err && unsafe && !*count)
		return unsafe;
	tracees_say_left_out(unsafe);
	vec_foreach (t, &ts->list)
		if (!err && trace_mode_can(&ts->options->trace, MODE_PROCESSES))
			err = tracees_trace(ts, *t);
	tracees_end_round(ts);
	tracees_say_wide(ts);
	tracees_say_unread(ts);
	tracees_say_unchecked(ts);
	return err;
}
