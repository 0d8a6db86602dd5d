// SPDX-License-Identifier: Apache-2.0
/* What the kernel reports of processes: forks, execs, mappings and exits. */

#include "process/live_thread.h"
#include "tracees/system_wide.h"
#include "tracees/tracees_private.h"
#include "util/clock.h"
#include "util/say_note.h"

void tracee_executes(struct tracee *t, uint64_t when_ns)
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

bool tracees_on_event(void *arg, const struct watch_event *event)
{
	struct tracees *ts = arg;
	struct tracee *t = tracees_find(ts, event->pid);
	bool concerns = t;

	if (ts->reported_code)
		watched_codes_hear(ts->reported_code, event);
	switch (event->kind) {
	case WATCH_FORK:
		/* If memory is out, find_new() finds the process after its first traced
		 * call. */
		concerns = ts->scope == SCOPE_FORKS &&
			   (!ts->supervisor.process || ts->options->follow_forks) &&
			   is_followed(ts, event->parent);
		if (concerns)
			(void)!vec_push(&ts->news,
					((struct fresh){event->pid, event->parent}));
		break;
	case WATCH_EXEC:
		if (t)
			tracee_executes(t, event->time_ns);
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

void tracees_say_lost_events(struct tracees *ts)
{
	if (!ts->has_lost_events || ts->said_lost_events || ts->options->quiet)
		return;
	ts->said_lost_events = true;
	say_note("processes start faster than memtrace can follow, and reports of the "
		 "kernel about them were lost: code of processes that have exited since "
		 "may have no names");
}

void tracees_read_events(struct tracees *ts)
{
	if (ts->watch)
		watch_read(ts->watch, tracees_on_event, ts);
}
