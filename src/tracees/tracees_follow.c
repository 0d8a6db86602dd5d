// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "tracees/system_wide.h"
#include "tracees/tracees_private.h"
#include "process/live_thread.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/escape.h"
#include "util/file_limit.h"

/* Interval of tracees_look() while an exec or the exit of a main thread is pending, ms.
 * The first EARLY_LOOKS looks come every LOOK_OFTEN_MS, later ones every LOOK_MS. */
#define LOOK_SOON_MS 1
#define EARLY_LOOKS  40

/* Unwanted data is removed from the tables at most this often, because removal reads the
 * whole tables. */
#define REMOVE_MS 20

/* Wait at most this long for the probes to see an exec that the kernel reported. */
#define EXEC_WAIT_MS 100

/* How long to keep the reported mappings after the main thread of a process has exited:
 * the whole process exits a little later, and memtrace notices that later still. */
#define REPORTED_KEPT_NS UINT64_C(2000000000)

/* After the kernel reports the exit of a main thread, it may take END_WAIT_MS until the
 * exit is done. Act after END_MIN_MS at the earliest. */
#define END_WAIT_MS 1000
#define END_MIN_MS  50

/* Copy the parent's files and ranges to a new child. Until the child executes another
 * program, its address space is a copy of the parent's, with the parent's probes. */
static struct error *inherit(struct tracee *t, const struct tracee *parent)
{
	t->wants_plan = true;
	if (!parent || parent->wants_plan || !t->image || t->image != parent->image)
		return NULL;
	/* tracee_create() has just read them. */
	error_destroy(proc_maps_copy(&t->modules.maps, &t->planned));
	/* Checked after the mappings were read: they may belong to another program by
	 * now. */
	if (proc_image(t->proc) != t->image) {
		proc_maps_deinit(&t->planned);
		return NULL;
	}
	t->wants_plan = false;
	return vec_copy(&parent->ranges, &t->ranges) &&
			       vec_copy(&parent->files, &t->files)
		       ? NULL
		       : error_no_memory();
}

/* Trace a process that appeared during the run. It may have exited already. */
static struct error *take_up(struct tracees *ts, int pid, const struct tracee *parent)
{
	struct tracee *t;
	struct error *err;

	if (tracees_find(ts, pid))
		return NULL;
	err = tracee_create(pid, ts->elf_reader, ts->opened, &t);
	if (err) {
		supervisor_refuses(ts, pid, err);
		return tracees_pass_over(ts, err);
	}
	err = inherit(t, parent);
	if (!err && ts->scope == SCOPE_ALL)
		err = system_wide_ranges(ts, t);
	if (!err)
		err = tracees_add(ts, t);
	return err ? err : tracees_trace_if_room(ts, t);
}

/* The process has exited: keep what the kernel reported about its code. */
static void note_reported_code(struct tracees *ts, struct tracee *t)
{
	struct watched_code *code;

	if (!ts->reported_code)
		return;
	/* The process may have started and exited since the last read. */
	watch_read(ts->watch, tracees_on_event, ts);
	code = watched_codes_get(ts->reported_code, t->pid);
	if (!code)
		tracees_say_lost_events(ts);

	/* Or the pid belongs to another process by now. */
	if (code && t->is_traced &&
	    code->since_ns > tracer_slot_since_ns(ts->tracer, t->slot)) {
		watched_code_release(code);
		return;
	}
	watched_code_release(t->reported_code);
	t->reported_code = code;
}

/* The process has exited. Its data must still be reported. */
static struct error *follow_exit(struct tracees *ts, struct tracee **at)
{
	struct tracee *t = *at, *gone;
	struct tracer_process process;
	struct error *err;

	t->exited = true;
	err = tracees_note_family(ts, t);
	if (err)
		return err;
	ts->may_release = true;
	/* Remove the pidfd from the epoll set: it would stay readable for ever. */
	epoll_ctl(ts->epoll_fd, EPOLL_CTL_DEL, t->proc->pidfd, NULL);
	proc_let_go(t->proc);
	/* It executed another program before it exited. Nothing more can be read about
	 * that program. */
	if ((!t->is_traced || tracer_is_retired(ts->tracer, t->slot)) &&
	    tracer_find_process(ts->tracer, t->pid, &process)) {
		err = tracee_create_gone(&process, &gone);
		if (!err)
			err = tracees_pass_names(ts, t);
		if (err)
			return err;
		tracee_destroy(t);
		*at = t = gone;
	}
	note_reported_code(ts, t);
	if (t->is_traced)
		tracer_retire(ts->tracer, t->slot);
	tracer_process_ended(ts->tracer, t->pid);
	return NULL;
}

/* Has a new slot been taken since the exec, by the probes or by memtrace? */
static bool has_new_slot(const struct tracees *ts, const struct tracee *t)
{
	return t->executed_ns && tracer_sees_execs(ts->tracer) &&
	       !tracer_is_retired(ts->tracer, t->slot) &&
	       tracer_slot_since_ns(ts->tracer, t->slot) >= t->executed_ns;
}

/* Such as a program for 32 bits. */
static void say_untraceable(struct tracees *ts, const struct tracee *t,
			    const struct error *err)
{
	_cleanup_(freep) char *why = NULL;

	if (err->code == ERROR_NO_MEMORY || err->code == ERROR_GONE ||
	    err->code == ERROR_NOT_FOUND || file_limit_is_reached(err) ||
	    proc_has_exited(t->proc))
		return;
	why = escape_dup(err->message);
	tracees_note(
		ts, t,
		"executed another program (exec) that memtrace cannot trace, and counts "
		"as exited: %s",
		why ? why : "out of memory");
}

/*
 * The process runs another program: the old heap is gone with its address space. Files
 * that the new program maps too have their probes from its first instruction on.
 */
static struct error *follow_exec(struct tracees *ts, struct tracee **at)
{
	struct tracee *old = *at, *t = NULL;
	struct error *err;

	err = has_new_slot(ts, old) ? NULL : tracees_note_family(ts, old);
	if (err)
		return err;
	if (old->is_traced && !has_new_slot(ts, old))
		tracer_retire(ts->tracer, old->slot);
	/* From here on no process holds the slot: see tracees_remove_orphans(). */
	old->is_traced = false;
	err = tracee_create(old->pid, ts->elf_reader, ts->opened, &t);
	/* tracee_create() has opened the pid. If the old process exited before, the pid
	 * may belong to another one now. */
	if (!err && old->proc && proc_has_exited(old->proc)) {
		tracee_destroy(t);
		return follow_exit(ts, at);
	}
	if (err) {
		/* It has exited meanwhile, or cannot be traced any more. Its data can
		 * still be reported. */
		say_untraceable(ts, old, err);
		supervisor_refuses(ts, old->pid, err);
		err = tracees_pass_over(ts, err);
		return err ? err : follow_exit(ts, at);
	}
	if (ts->scope == SCOPE_ALL) {
		/* If the new program maps the library, an event or find_new() will add it
		 * again. */
		tracee_destroy(t);
		old->dropped = true;
		return NULL;
	}
	if (tracees_may_list(ts, old))
		tracees_note(ts, old,
			     "executed another program (exec): memtrace now traces its "
			     "new heap");
	t->asked_for = old->asked_for;
	t->kernel = old->kernel;
	*at = t;
	err = tracees_pass_names(ts, old);
	tracee_destroy(old);
	if (err)
		return err;
	ts->looks = 0;
	tracees_wait_for(ts, t->proc->pidfd);
	err = tracee_try_symbols(t, ts->options, ts->reading.reader);
	if (!err)
		err = tracees_trace_if_room(ts, t);
	/* The probes ended with the old main thread, because another thread executed the
	 * program. */
	if (!err && tracer_probes_ended(ts->tracer, t->pid))
		tracees_note(
			ts, t,
			"executed it from a thread: the new program's first allocations "
			"were missed");
	/* It has inherited the seccomp filters, and the probes of files that both
	 * programs map. */
	if (!err)
		tracees_drop_unsafe(ts, t);
	return err ? err : tracees_plan_more(ts, t, "has loaded");
}

/*
 * The main thread may have exited. If the whole process has, its pidfd soon says so. The
 * kernel ties the probes of a process to its main thread.
 */
static struct error *follow_first(struct tracees *ts, struct tracee *t)
{
	enum tracer_probes probes = TRACER_PROBES_END;
	struct error *err = NULL;

	/* If the process exits or executes a program, its other threads end a little
	 * later. */
	if (clock_now_ns() - t->first_ended_ns < END_MIN_MS * UINT64_C(1000000)) {
		ts->look_soon = true;
		return NULL;
	}
	if (live_thread_has_lost_first(t->pid))
		err = tracer_lost_first(ts->tracer, t->pid, &probes);
	if (probes == TRACER_PROBES_END && !err &&
	    clock_now_ns() - t->first_ended_ns < END_WAIT_MS * UINT64_C(1000000)) {
		ts->look_soon = true;
		return NULL;
	}
	t->first_ended_ns = 0;
	if (err && err->code != ERROR_GONE && err->code != ERROR_NO_MEMORY) {
		_cleanup_(freep) char *why = escape_dup(err->message);

		tracees_note(ts, t, "may lose its probes: %s", why ? why : "?");
		t->is_refused = true;
	}
	err = error_only_no_memory(err);
	if (err || probes != TRACER_PROBES_ENDED)
		return err;
	tracees_plan_anew(ts, t);
	return tracees_plan_more(ts, t, TRACEES_PROBED_ANEW);
}

/* Without kernel events, assume that anything may have happened. */
static void suspect_everything(struct tracees *ts)
{
	tracees_on_event(ts, &(const struct watch_event){.kind = WATCH_LOST});
}

static void look_at_image(struct tracee *t)
{
	uint64_t now_ns = clock_now_ns(), image = proc_image(t->proc);

	if (image == t->image)
		t->image_ns = now_ns;
	else if (image)
		tracee_executes(t, t->image_ns);
}

/*
 * Has the process executed another program that must be followed now? The kernel reports
 * an exec slightly before the probes see it, retire the slot and take a new one. Wait for
 * that, and act only if they do not see the exec: a short program might exit before
 * memtrace is done. If memtrace opened the process after the exec, the slot already
 * belongs to the new program.
 */
static bool has_executed(struct tracees *ts, struct tracee *t)
{
	if (t->is_traced && tracer_is_retired(ts->tracer, t->slot))
		return true;
	if (t->check_image && t->proc && !t->executed_ns)
		look_at_image(t);
	t->check_image = false;
	/* The data may already be of the new program. */
	if (t->is_traced && t->executed_ns < t->image_ns &&
	    tracer_slot_since_ns(ts->tracer, t->slot) >= t->executed_ns)
		t->executed_ns = 0;
	if (!t->executed_ns)
		return false;
	if (!t->is_traced || !tracer_sees_execs(ts->tracer) || has_new_slot(ts, t))
		return true;
	if (clock_now_ns() - t->noticed_ns > EXEC_WAIT_MS * UINT64_C(1000000))
		return true;
	ts->look_soon = true;
	return false;
}

/* Add processes that the probes know and the list does not have. */
static struct error *find_new(struct tracees *ts)
{
	_cleanup_(freep) bool *held = NULL;
	struct tracer_process process;
	uint32_t cursor = 0;
	struct error *err = NULL;

	if (ts->scope == SCOPE_PROCESSES)
		return NULL;
	held = tracees_held_slots(ts);
	if (!held)
		return error_no_memory();
	while (!err && tracer_next_process(ts->tracer, &cursor, &process)) {
		if (held[process.slot])
			continue;
		err = take_up(ts, process.pid, NULL);
		/* Plan its probes: it has just executed a program. */
		ts->look_soon |= ts->supervisor.process != NULL;
		/* A retired slot means that the process has executed a program, which has
		 * its own slot. The old heap is gone. */
		if (!err && !tracees_find(ts, process.pid) &&
		    !tracer_is_retired(ts->tracer, process.slot)) {
			struct tracee *t;

			/* It exited before memtrace could open it, but its blocks are
			 * known. */
			tracer_retire(ts->tracer, process.slot);
			err = tracee_create_gone(&process, &t);
			if (!err) {
				note_reported_code(ts, t);
				err = tracees_add(ts, t);
			}
		}
	}
	return err;
}

static struct error *take_news(struct tracees *ts)
{
	struct error *err = NULL;

	/* In order of creation, because a child may have forked too. */
	for (size_t i = 0; i < ts->news.len && !err; i++) {
		const struct fresh *fresh = &ts->news.data[i];
		const struct tracee *parent =
			fresh->parent ? tracees_find(ts, fresh->parent) : NULL;

		if (parent || !fresh->parent)
			err = take_up(ts, fresh->pid, parent);
	}
	ts->news.len = 0;
	return err;
}

static struct error *follow(struct tracees *ts, struct tracee **at, bool is_time,
			    bool may_have_exited)
{
	struct tracee *t = *at;
	struct error *err = NULL;

	if (t->exited)
		return NULL;
	if (may_have_exited && tracee_check_exit(t))
		return follow_exit(ts, at);
	if (has_executed(ts, t))
		return follow_exec(ts, at);
	if (!t->is_traced)
		err = tracees_trace_if_room(ts, t);
	if (!err)
		err = tracees_note_family(ts, t);
	if (!err && t->first_ended_ns)
		err = follow_first(ts, t);
	if (err)
		return err;
	if (is_time && tracees_drop_unsafe(ts, t))
		return trace_mode_can(&ts->options->trace, MODE_CALLS)
			       ? tracees_plan_more(ts, t, TRACEES_PROBED_ANEW)
			       : NULL;
	if (!t->wants_plan || ts->scope == SCOPE_ALL)
		return NULL;
	t->wants_plan = false;
	return tracees_plan_more(ts, t, "has loaded");
}

/* Without MODE_PROCESSES only the exit and the memory use of the process matter. */
static struct error *look_at_exits(struct tracees *ts, bool is_time)
{
	struct error *err = NULL;

	vec_foreach (t, &ts->list)
		if (!tracee_check_exit(*t) && is_time && !err)
			err = tracees_refresh(ts, *t);
	return err;
}

/* Is it the turn of the process with this index? Of many, each look refreshes only
 * some. */
static bool has_turn(const struct tracees *ts, size_t i)
{
	size_t parts = ts->list.len / TRACEES_MANY + 1;

	return i % parts == ts->looks % parts;
}

struct error *tracees_look(struct tracees *ts)
{
	uint64_t now_ns = clock_now_ns();
	bool is_time = now_ns >= ts->next_look_ns, may_have_exited;
	struct error *err = NULL;

	if (!trace_mode_can(&ts->options->trace, MODE_PROCESSES)) {
		err = look_at_exits(ts, is_time);
		goto out;
	}
	if (ts->watch)
		watch_read(ts->watch, tracees_on_event, ts);
	else if (is_time)
		suspect_everything(ts);
	may_have_exited = tracees_may_have_exited(ts);
	supervisor_look(ts);
	err = take_news(ts);
	ts->look_soon = false;
	for (size_t i = 0; i < ts->list.len && !err; i++)
		err = follow(ts, &ts->list.data[i], is_time, may_have_exited);
	if (!err)
		err = tracees_sweep(ts);
	tracees_say_wide(ts);
	tracees_say_unread(ts);
	tracees_say_unchecked(ts);
	if (!err)
		err = find_new(ts);
	if (ts->reported_code)
		watched_codes_sweep(ts->reported_code, now_ns - REPORTED_KEPT_NS);
	if (!err)
		err = tracees_release_files(ts);
	if (!err && now_ns >= ts->next_remove_ns) {
		err = tracees_remove_orphans(ts);
		if (!err)
			err = tracees_drop_exited(ts);
		ts->next_remove_ns = clock_now_ns() + REMOVE_MS * UINT64_C(1000000);
	}
	for (size_t i = 0; i < ts->list.len && !err; i++) {
		if ((is_time && has_turn(ts, i)) || ts->list.data[i]->maps_changed)
			err = tracees_refresh(ts, ts->list.data[i]);
	}
out:
	tracees_end_round(ts);
	if (is_time) {
		ts->looks++;
		ts->next_look_ns = now_ns + (uint64_t)tracees_look_ms(ts) * 1000000;
	}
	return err;
}

int tracees_look_ms(const struct tracees *ts)
{
	if (ts->look_soon)
		return LOOK_SOON_MS;
	return ts->looks < EARLY_LOOKS || ts->cannot_wait ? LOOK_OFTEN_MS : LOOK_MS;
}

bool tracees_are_gone(const struct tracees *ts)
{
	if (ts->scope == SCOPE_ALL)
		return false;
	vec_foreach (t, &ts->list)
		if (!(*t)->exited)
			return false;
	return supervisor_is_gone(ts);
}
