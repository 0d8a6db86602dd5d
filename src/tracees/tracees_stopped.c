// SPDX-License-Identifier: Apache-2.0
/* Notes about processes that are stopped, whose reports would show no allocations. */
#include "tracees/tracees_private.h"

#include <time.h>

/* A debugger's stop counts if it takes so long. strace(1) ends its stops sooner. */
#define PAUSE_NS 50000000

void tracees_note_stopped(const struct tracees *ts, struct tracee *t)
{
	const struct stop_state *stop = &t->memory.stop;

	if (!t->asked_for || t->said_stopped == t->is_stopped)
		return;
	t->said_stopped = t->is_stopped;
	if (!t->is_stopped)
		return;
	if (stop->kind == STOP_SIGNAL)
		tracees_note(ts, t,
			     "is stopped (SIGSTOP or Ctrl-Z) and allocates nothing "
			     "until it is continued: kill -CONT %d",
			     t->pid);
	else if (stop->debugger)
		tracees_note(ts, t,
			     "is stopped by its debugger (pid %d) and allocates nothing "
			     "until it is continued there",
			     stop->debugger);
	else
		tracees_note(ts, t,
			     "is stopped by a debugger and allocates nothing until it is "
			     "continued there");
}

/* Look at each process. Returns whether one has to be looked at again. */
static bool look(const struct tracees *ts, bool is_again)
{
	bool is_held = false;

	vec_foreach (it, &ts->list) {
		struct tracee *t = *it;

		if (!t->asked_for || t->exited || !t->proc)
			continue;
		if (is_again && t->memory.stop.kind != STOP_DEBUGGER)
			continue;
		tracee_refresh_memory(t);
		is_held |= t->memory.stop.kind == STOP_DEBUGGER && !t->is_stopped;
		tracees_note_stopped(ts, t);
	}
	return is_held;
}

void tracees_say_stopped(const struct tracees *ts)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};

	if (look(ts, false)) {
		nanosleep(&pause, NULL);
		look(ts, true);
	}
}
