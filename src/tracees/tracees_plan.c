// SPDX-License-Identifier: Apache-2.0
/* Plans for files that a process maps during the run. */
#include <stdlib.h>

#include "process/live_thread.h"
#include "tracees/tracees_private.h"
#include "util/cleanup.h"
#include "util/escape.h"

DEFINE_CLEANUP(struct plan *, plan_destroy);

struct error *tracees_trace_if_room(struct tracees *ts, struct tracee *t)
{
	struct error *err = tracees_trace(ts, t);

	if (!err || err->code == ERROR_NO_MEMORY)
		return err;
	if (!ts->said_no_room)
		tracees_note(ts, t,
			     "is not traced for now: too many processes are traced at "
			     "once; --max-processes makes room for more");
	ts->said_no_room = true;
	error_destroy(err);
	return NULL;
}

/* The number of USDT probes of the file that are not traced. */
static size_t count_untraced_usdt(const struct plan_object *object)
{
	size_t n = object->allocator.places_left_out;

	vec_foreach (skipped, &object->skipped)
		n += skipped->function->effect >= EFFECT_ALLOC_USDT &&
		     skipped->why == PLAN_SKIP_REFUSED;
	return n;
}

void tracees_plan_anew(struct tracees *ts, struct tracee *t)
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
	const char *what = trace_mode_can(&ts->options->trace, MODE_HITS)
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
		if (count_untraced_usdt(object))
			tracees_note(ts, t,
				     "has %zu static probes in %s that cannot be traced "
				     "(--dry-run says why)",
				     count_untraced_usdt(object), path ? path : "?");
	}
	/* Reports count these functions too, so it is enough to print some. */
	if (!ts->options->quiet &&
	    (ts->options->verbose || ts->warned_untraced < LISTED_MAX)) {
		plan_warn_untraced(plan);
		ts->warned_untraced += plan_untraced(plan, NULL, NULL);
	}
}

struct error *tracees_plan_more(struct tracees *ts, struct tracee *t, const char *what)
{
	_cleanup_(plan_destroyp) struct plan *plan = NULL;
	bool has_unread = ts->untraced.why_unread;
	size_t refused = 0;
	enum tracer_probes probes;
	struct error *err = hold_probes(ts, t, &probes);

	if (!err && probes == TRACER_PROBES_ENDED) {
		tracees_plan_anew(ts, t);
		what = TRACEES_PROBED_ANEW;
	}
	ts->may_release = true;
	t->maps_failed = false;
	if (!err)
		err = tracee_plan(t, &ts->plan_options, &plan);
	if (err)
		goto out;
	t->has_loaded = true;
	err = tracer_attach(ts->tracer, plan, t->pid, &refused);
	/* The next look sees the exit. */
	if (!err && tracees_lost_pid(ts, t))
		return NULL;
	if (!err)
		err = tracees_note_files(ts, t, plan);
	if (!err)
		err = tracees_trace_if_room(ts, t);
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
