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

DEFINE_CLEANUP(struct plan *, plan_destroy);

/* Interval of tracees_look() while an exec or the exit of a main thread is pending, ms.
 * The first EARLY_LOOKS looks come every LOOK_OFTEN_MS, later ones every LOOK_MS. */
#define LOOK_SOON_MS 1
#define EARLY_LOOKS  40

/* Unwanted data is removed from the tables at most this often, because removal reads the
 * whole tables. */
#define FORGET_MS 20

/* Wait at most this long for the probes to see an exec that the kernel reported. */
#define EXEC_WAIT_MS 100

/* Text for plan_more() when a process has lost its probes. */
static const char probed_anew[] = "is probed anew in";

/* How long to keep the reported mappings after the main thread of a process has exited:
 * the whole process exits a little later, and memtrace notices that later still. */
#define TOLD_KEPT_NS UINT64_C(2000000000)

/* After the kernel reports the exit of a main thread, it may take END_WAIT_MS until the
 * exit is done. Act after END_MIN_MS at the earliest. */
#define END_WAIT_MS 1000
#define END_MIN_MS  50

/* Trace a process that was added during the run. If all slots are in use, it has to
 * wait. */
static struct error *trace_if_room(struct tracees *ts, struct tracee *t)
{
	struct error *err = tracees_trace(ts, t);

	if (!err || err->code == ERROR_NO_MEMORY)
		return err;
	if (!ts->said_no_room)
		tracees_note(
			ts, t,
			"is not traced for now: too many processes are traced at once");
	ts->said_no_room = true;
	error_destroy(err);
	return NULL;
}

/* Copy the parent's files and ranges to a new child. Until the child executes another
 * program, its address space is a copy of the parent's, with the parent's probes. */
static struct error *inherit(struct tracee *t, const struct tracee *parent)
{
	t->wants_plan = true;
	if (!parent || parent->wants_plan || !t->image || t->image != parent->image)
		return NULL;
	error_destroy(proc_read_maps(t->proc, &t->planned));
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
	err = tracee_create(pid, ts->elf_reader, &t);
	if (err)
		return tracees_pass_over(ts, err);
	err = inherit(t, parent);
	if (!err && ts->scope == SCOPE_ALL)
		err = system_wide_ranges(ts, t);
	if (!err)
		err = tracees_add(ts, t);
	return err ? err : trace_if_room(ts, t);
}

/* The number of USDT probes of the file that are not traced. */
static size_t count_untold(const struct plan_object *object)
{
	size_t n = object->allocator.places_left_out;

	vec_foreach (skipped, &object->skipped)
		n += skipped->function->effect >= EFFECT_ALLOC_USDT &&
		     skipped->why == PLAN_SKIP_REFUSED;
	return n;
}

/* The probes ended with the main thread: let the next plan cover all files again. */
static void plan_anew(struct tracees *ts, struct tracee *t)
{
	tracees_note(ts, t,
		     "lost its main thread and with it its probes, which memtrace has "
		     "set again: some allocations and frees were missed");
	proc_maps_deinit(&t->planned);
}

/* If the main thread has exited, the kernel does not add probes to newly mapped files by
 * itself, so let the tracer do what it can. */
static struct error *hold_probes(struct tracees *ts, const struct tracee *t,
				 enum tracer_probes *ret)
{
	*ret = TRACER_PROBES_STAY;
	return live_thread_has_lost_first(t->pid)
		       ? tracer_lost_first(ts->tracer, t->pid, ret)
		       : NULL;
}

/* Print that the process has loaded a file that is not traced. Once for a process,
 * because it may load any number of files. */
static void say_untraced(struct tracees *ts, struct tracee *t, const struct error *err)
{
	_cleanup_(freep) char *why = escape_dup(err->message);
	const char *what = ts->plan_options.event
				   ? "has loaded a file whose events are not counted"
			   : err->code == ERROR_IO
				   ? "may have loaded an allocator that is not traced"
				   : "has loaded an allocator that cannot be traced";

	if (!t->said_untraced)
		tracees_note(ts, t, "%s: %s", what, why ? why : "out of memory");
	t->said_untraced = true;
}

/* Print which functions are traced from now on, and which are not. */
static void say_loaded(struct tracees *ts, struct tracee *t, const struct plan *plan,
		       const char *what)
{
	vec_foreach (object, &plan->objects) {
		_cleanup_(freep) char *path = escape_dup(object->allocator.module_path);

		if (!tracees_may_list(ts, t))
			continue;
		tracees_note(ts, t, "%s %s: %zu functions are traced from now on", what,
			     path ? path : "?", object->sites.len);
		if (count_untold(object))
			tracees_note(ts, t,
				     "has %zu static probes in %s that cannot be traced "
				     "(--dry-run says why)",
				     count_untold(object), path ? path : "?");
	}
	/* Reports count these functions too, so it is enough to print some. */
	if (!ts->options->quiet &&
	    (ts->options->verbose || ts->warned_untraced < LISTED_MAX)) {
		plan_warn_untraced(plan, stderr);
		ts->warned_untraced += plan_untraced(plan, NULL, NULL);
	}
}

/* Plan and attach probes for allocators in files that were mapped since the last plan.
 * `what` begins the message about such a file ("has loaded"). */
static struct error *plan_more(struct tracees *ts, struct tracee *t, const char *what)
{
	_cleanup_(plan_destroyp) struct plan *plan = NULL;
	bool has_unread = ts->untraced.why_unread;
	size_t refused = 0;
	enum tracer_probes probes;
	struct error *err = hold_probes(ts, t, &probes);

	if (!err && probes == TRACER_PROBES_ENDED) {
		plan_anew(ts, t);
		what = probed_anew;
	}
	ts->may_release = true;
	t->maps_failed = false;
	if (!err)
		err = tracee_plan(t, &ts->plan_options, &plan);
	if (err)
		goto out;
	t->has_loaded = true;
	err = tracer_attach(ts->tracer, plan, t->pid, &refused);
	if (!err)
		err = tracees_note_files(ts, t, plan);
	if (!err)
		err = trace_if_room(ts, t);
	if (err)
		goto out;
	say_loaded(ts, t, plan, what);
	if (refused)
		tracees_note(
			ts, t,
			"%zu of %zu functions cannot be traced: start memtrace again",
			refused, plan_site_count(plan));
out:
	if (!err || err->code == ERROR_NO_MEMORY)
		return err;
	tracees_note_descriptors(ts, err);
	if (plan)
		ts->untraced.count += plan->objects.len;
	/* Nothing to report if the files contain no allocator or are gone again.
	 * tracees_say_unread() reports the first file that cannot be read. */
	if (t->maps_failed)
		tracees_note_unread_maps(ts, t, err);
	else if (err->code != ERROR_NOT_FOUND && err->code != ERROR_GONE &&
		 has_unread == !!ts->untraced.why_unread)
		say_untraced(ts, t, err);
	error_destroy(err);
	return NULL;
}

/* Note that the process executed another program at `when_ns` or later. */
static void executes(struct tracee *t, uint64_t when_ns)
{
	t->executed_ns = when_ns;
	t->noticed_ns = clock_now_ns();
}

/* Is this process traced, or will it be once its parent is on the list? */
static bool is_followed(const struct tracees *ts, int pid)
{
	vec_foreach (fresh, &ts->news)
		if (fresh->pid == pid)
			return true;
	return tracees_find(ts, pid);
}

static bool on_event(void *arg, const struct watch_event *event)
{
	struct tracees *ts = arg;
	struct tracee *t = tracees_find(ts, event->pid);
	bool concerns = t;

	if (ts->told)
		watched_codes_hear(ts->told, event);
	switch (event->kind) {
	case WATCH_FORK:
		/* If memory is out, find_new() finds the process after its first traced
		 * call. */
		concerns = ts->scope == SCOPE_FORKS && is_followed(ts, event->parent);
		if (concerns)
			(void)!vec_push(&ts->news,
					((struct fresh){event->pid, event->parent}));
		break;
	case WATCH_EXEC:
		if (t)
			executes(t, event->time_ns);
		break;
	case WATCH_MAP:
		if (!event->inode)
			break;
		if (t)
			t->maps_changed = t->wants_plan = true;
		concerns |= system_wide_uses(ts, event);
		if (!t && concerns && !proc_is_our_child(event->pid))
			(void)!vec_push(&ts->news, ((struct fresh){event->pid, 0}));
		break;
	case WATCH_EXIT:
		/* Only the main thread has exited; the pidfd reports the exit of the last
		 * thread. */
		if (t && ts->scope == SCOPE_PROCESSES && !t->is_refused)
			t->first_ended_ns = clock_now_ns();
		break;
	case WATCH_LOST:
		ts->has_lost_events = true;
		vec_foreach (each, &ts->list) {
			(*each)->maps_changed = (*each)->wants_plan = true;
			(*each)->check_image = true;
			if (ts->scope == SCOPE_PROCESSES && !(*each)->exited &&
			    !(*each)->is_refused && !(*each)->first_ended_ns &&
			    live_thread_has_lost_first((*each)->pid))
				(*each)->first_ended_ns = clock_now_ns();
		}
		break;
	}
	return concerns;
}

/* Print once that code of processes that have exited may have no names. */
static void say_lost_events(struct tracees *ts)
{
	if (!ts->has_lost_events || ts->said_lost_events || ts->options->quiet)
		return;
	ts->said_lost_events = true;
	fputs("memtrace: processes start faster than memtrace can follow, and reports of "
	      "the "
	      "kernel about them were lost: code of processes that have exited since may "
	      "have no names\n",
	      stderr);
}

void tracees_read_events(struct tracees *ts)
{
	if (ts->watch)
		watch_read(ts->watch, on_event, ts);
	ts->has_lost_events = false;
}

/* The process has exited: keep what the kernel reported about its code. */
static void note_told(struct tracees *ts, struct tracee *t)
{
	struct watched_code *code;

	if (!ts->told)
		return;
	/* The process may have started and exited since the last read. */
	watch_read(ts->watch, on_event, ts);
	code = watched_codes_get(ts->told, t->pid);
	if (!code)
		say_lost_events(ts);

	/* Or the pid belongs to another process by now. */
	if (code && t->is_traced &&
	    code->since_ns > tracer_slot_since_ns(ts->tracer, t->slot)) {
		watched_code_release(code);
		return;
	}
	watched_code_release(t->told);
	t->told = code;
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
	note_told(ts, t);
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
	err = tracee_create(old->pid, ts->elf_reader, &t);
	if (err) {
		/* It has exited meanwhile; its data can still be reported. */
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
		err = trace_if_room(ts, t);
	/* The probes ended with the old main thread, because another thread executed the
	 * program. */
	if (!err && tracer_probes_ended(ts->tracer, t->pid))
		tracees_note(ts, t,
			     "did so in a thread: the new program's first allocations "
			     "were missed");
	/* It has inherited the seccomp filters, and the probes of files that both
	 * programs map. */
	if (!err)
		tracees_drop_unsafe(ts, t);
	return err ? err : plan_more(ts, t, "has loaded");
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
	if (err && err->code != ERROR_NO_MEMORY) {
		error_destroy(err);
		err = NULL;
	}
	if (err || probes != TRACER_PROBES_ENDED)
		return err;
	plan_anew(ts, t);
	return plan_more(ts, t, probed_anew);
}

/* Without kernel events, assume that anything may have happened. */
static void suspect_everything(struct tracees *ts)
{
	on_event(ts, &(const struct watch_event){.kind = WATCH_LOST});
}

static void look_at_image(struct tracee *t)
{
	uint64_t now_ns = clock_now_ns(), image = proc_image(t->proc);

	if (image == t->image)
		t->image_ns = now_ns;
	else if (image)
		executes(t, t->image_ns);
}

/*
 * Has the process executed another program that must be followed now? The kernel reports
 * an exec slightly before the probes see it. The probes then retire the slot and take a
 * new one at once. If memtrace did that instead, a short program might exit before
 * memtrace is done. So wait for the probes, and act only if they do not see the exec. If
 * memtrace opened the process after the reported exec, the slot already belongs to the
 * new program.
 */
static bool has_executed(struct tracees *ts, struct tracee *t)
{
	if (t->is_traced && tracer_is_retired(ts->tracer, t->slot))
		return true;
	if (t->check_image && t->proc && !t->executed_ns)
		look_at_image(t);
	t->check_image = false;
	/* Everything that was read about the process may come from that program
	 * already. */
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
				note_told(ts, t);
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
		err = trace_if_room(ts, t);
	if (!err)
		err = tracees_note_family(ts, t);
	if (!err && t->first_ended_ns)
		err = follow_first(ts, t);
	if (err)
		return err;
	if (is_time && tracees_drop_unsafe(ts, t))
		return ts->plan_options.event ? NULL : plan_more(ts, t, probed_anew);
	if (!t->wants_plan || ts->scope == SCOPE_ALL)
		return NULL;
	t->wants_plan = false;
	return plan_more(ts, t, "has loaded");
}

/* With --kernel only the exit and the memory use of the process matter. */
static struct error *look_for_kernel(struct tracees *ts, bool is_time)
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

	if (ts->options->kernel) {
		err = look_for_kernel(ts, is_time);
		goto out;
	}
	if (ts->watch)
		watch_read(ts->watch, on_event, ts);
	else if (is_time)
		suspect_everything(ts);
	may_have_exited = tracees_may_have_exited(ts);
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
	if (ts->told)
		watched_codes_sweep(ts->told, now_ns - TOLD_KEPT_NS);
	if (!err)
		err = tracees_release_files(ts);
	if (!err && now_ns >= ts->next_remove_ns) {
		err = tracees_remove_orphans(ts);
		if (!err)
			err = tracees_drop_exited(ts);
		ts->next_remove_ns = clock_now_ns() + FORGET_MS * UINT64_C(1000000);
	}
	for (size_t i = 0; i < ts->list.len && !err; i++) {
		if ((is_time && has_turn(ts, i)) || ts->list.data[i]->maps_changed)
			err = tracees_refresh(ts, ts->list.data[i]);
	}
out:
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
	return true;
}
