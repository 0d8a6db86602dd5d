// SPDX-License-Identifier: Apache-2.0
#include "tracees/supervisor.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/children.h"
#include "tracees/tracees_private.h"
#include "util/cleanup.h"
#include "util/escape.h"
#include "util/file_limit.h"
#include "util/say_note.h"

/* How often to look for descendants that come while memtrace starts, at most. */
#define LOOKS_MAX 16

static bool is_supervised(const struct tracees *ts)
{
	return ts->supervisor.process;
}

/* --- start ------------------------------------------------------------------------ */

/* With --wait-for, memtrace's parent is memtrace too. Both may be children of the
 * supervisor; children_find() leaves out this process only. */
static bool is_memtrace(const struct tracees *ts, int pid)
{
	int parent;

	if (!ts->options->wait_for)
		return false;
	children_has_executed(pid, &parent);
	return pid == getppid() || parent == getppid();
}

/* Does it run a program of its own, or is it a child that is followed? */
static bool is_wanted(const struct tracees *ts, int pid)
{
	int parent;

	if (children_has_executed(pid, &parent))
		return true;
	return ts->options->follow_forks && tracees_find(ts, parent);
}

/* Open a running descendant. *ret is NULL if that fails, or if it has no allocator. */
static struct error *open_running(struct tracees *ts, int pid, struct plan **ret)
{
	size_t count = ts->list.len, untraced = ts->untraced.count;
	struct error *err = tracees_open(ts, pid, ret);

	if (!err) {
		/* Like those that come later. */
		ts->list.data[count]->asked_for = false;
		return NULL;
	}
	*ret = NULL;
	while (ts->list.len > count)
		tracee_destroy(ts->list.data[--ts->list.len]);
	ts->untraced.count = untraced;
	return error_only_no_memory(err);
}

static struct error *add_plan(struct plans *plans, struct plan *plan)
{
	if (!plan || vec_push(&plans->list, plan))
		return NULL;
	plan_destroy(plan);
	return error_no_memory();
}

static struct error *open_descendants(struct tracees *ts, struct plans *ret)
{
	_cleanup_(children_deinit) struct children running = {0};
	struct error *err = children_find(&ts->supervisor.process->pid, 1, &running);

	vec_foreach (pid, &running.pids) {
		struct plan *plan = NULL;

		if (err || is_memtrace(ts, *pid) || !is_wanted(ts, *pid))
			continue;
		err = open_running(ts, *pid, &plan);
		if (!err)
			err = add_plan(ret, plan);
	}
	return err;
}

/* A child that only waits, and has the files of memtrace mapped. -1: errno. */
static pid_t start_image(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
}

/* A supervisor may have no allocator, such as a static program. What it starts probably
 * maps the C library that memtrace maps. A process cannot be planned by itself. */
static struct error *plan_own(struct tracees *ts, struct plan **ret)
{
	pid_t pid = start_image();
	struct tracee *image;
	struct error *err;

	if (pid < 0)
		return error_errno(ERROR_IO, errno, "cannot fork");
	err = tracee_create(pid, ts->elf_reader, ts->opened, &image);
	if (!err) {
		err = tracee_plan_first(image, &ts->plan_options, ret);
		tracee_destroy(image);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return err;
}

struct error *supervisor_open(struct tracees *ts, int pid, struct plans *ret)
{
	struct supervisor *s = &ts->supervisor;
	struct plan *plan = NULL;
	_cleanup_(error_destroyp) struct error *lacks = NULL;
	struct error *err = tracee_create(pid, ts->elf_reader, ts->opened, &s->process);

	if (err) {
		s->process = NULL;
		return err;
	}
	s->process->asked_for = true;
	tracees_wait_for(ts, s->process->proc->pidfd);
	err = tracee_plan_first(s->process, &ts->plan_options, &plan);
	if (err && err->code == ERROR_NOT_FOUND) {
		lacks = err;
		plan = NULL;
		err = plan_own(ts, &plan);
	}
	if (err && lacks && err->code != ERROR_NO_MEMORY) {
		error_destroy(err);
		plan = NULL;
		err = NULL;
	}
	if (err)
		return err->code == ERROR_UNSAFE ? tracees_name_unsafe(err, s->process)
						 : err;
	err = open_descendants(ts, ret);
	if (!err && !plan && !ret->list.len)
		return take(lacks);
	return error_first(err, add_plan(ret, plan));
}

/* --- running descendants ------------------------------------------------------------ */

/* First its probes, then the process: no free shall be missed. */
static struct error *take_running(struct tracees *ts, int pid)
{
	struct tracee *t;
	struct error *err = tracee_create(pid, ts->elf_reader, ts->opened, &t);

	if (err) {
		supervisor_refuses(ts, pid, err);
		return tracees_pass_over(ts, err);
	}
	err = tracees_add(ts, t);
	if (!err)
		err = tracees_plan_more(ts, t, "maps");
	if (!err && !t->is_traced)
		err = tracees_trace_if_room(ts, t);
	if (!err)
		tracer_remove_awaited(ts->tracer, pid);
	return err;
}

/* In this order: what it executes meanwhile is traced too. */
static struct error *take_descendant(struct tracees *ts, int pid)
{
	struct error *err = tracer_await_exec(ts->tracer, pid, true);
	int parent;

	if (!err && is_wanted(ts, pid))
		err = take_running(ts, pid);
	/* The probes remove it when it ends, but it may have ended before it was in the
	 * table. */
	children_has_executed(pid, &parent);
	if (!parent)
		tracer_remove_awaited(ts->tracer, pid);
	return err;
}

static bool is_followed(const struct tracees *ts, int pid)
{
	struct tracer_process process;

	return tracees_find(ts, pid) || tracer_awaits_exec(ts->tracer, pid) ||
	       tracer_find_process(ts->tracer, pid, &process);
}

/* Take up the descendants that are not followed yet. *count is how many there were. */
static struct error *take_descendants(struct tracees *ts, size_t *count)
{
	_cleanup_(children_deinit) struct children running = {0};
	struct error *err = children_find(&ts->supervisor.process->pid, 1, &running);

	*count = 0;
	vec_foreach (pid, &running.pids) {
		if (err || is_followed(ts, *pid) || is_memtrace(ts, *pid))
			continue;
		++*count;
		err = take_descendant(ts, *pid);
	}
	return err;
}

/* --- the run ------------------------------------------------------------------------ */

void supervisor_look(struct tracees *ts)
{
	struct supervisor *s = &ts->supervisor;

	if (!s->process || s->exited || !proc_has_exited(s->process->proc))
		return;
	s->exited = true;
	/* It would stay readable for ever. */
	epoll_ctl(ts->epoll_fd, EPOLL_CTL_DEL, s->process->proc->pidfd, NULL);
}

bool supervisor_is_gone(const struct tracees *ts)
{
	_cleanup_(freep) bool *held = NULL;
	struct tracer_process process;
	uint32_t cursor = 0;

	if (!is_supervised(ts))
		return true;
	/* In this order: the probes give a process its slot before it is not awaited any
	 * more. */
	if (!ts->supervisor.exited || tracer_awaits_any(ts->tracer))
		return false;
	held = tracees_held_slots(ts);
	while (held && tracer_next_process(ts->tracer, &cursor, &process))
		if (!held[process.slot])
			return false;
	return held;
}

void supervisor_refuses(struct tracees *ts, int pid, const struct error *err)
{
	_cleanup_(freep) char *why = escape_dup(err->message);

	if (!is_supervised(ts) || err->code == ERROR_NO_MEMORY ||
	    err->code == ERROR_GONE || err->code == ERROR_NOT_FOUND ||
	    file_limit_is_reached(err))
		return;
	/* If it fails, the descendants of this process are not traced either. */
	error_destroy(tracer_await_exec(ts->tracer, pid, true));
	if (ts->options->quiet || ts->supervisor.refused >= LISTED_MAX)
		return;
	ts->supervisor.refused++;
	say_note("%s: it is not traced, but what it executes next is",
		 why ? why : "out of memory");
}

/* --- when tracing begins ------------------------------------------------------------ */

struct error *supervisor_begin(struct tracees *ts)
{
	const struct supervisor *s = &ts->supervisor;
	size_t count = 1;
	struct error *err;

	if (!is_supervised(ts))
		return NULL;
	err = tracer_await_exec(ts->tracer, s->process->pid, false);
	/* Or the pid may be another process's by now. */
	supervisor_look(ts);
	if (!err && s->exited)
		tracer_remove_awaited(ts->tracer, s->process->pid);
	/* A process that is not followed yet may fork while the others are listed. */
	for (unsigned i = 0; i < LOOKS_MAX && count && !err; i++)
		err = take_descendants(ts, &count);
	if (!err && !ts->list.len && supervisor_is_gone(ts))
		err = error_create(ERROR_GONE,
				   "pid %d exited, and what it had started, while "
				   "memtrace attached",
				   s->process->pid);
	return err;
}
