// SPDX-License-Identifier: Apache-2.0
/* The run's side of --live: the screen gets the snapshot of each report, and its keys
 * change the interval or end the run. */
#include "session/session_private.h"

#include "util/heap.h"

#define WAIT_MS 1000 /* for the user, when the run is over */

struct error *session_screen_start(struct session *s, bool to_terminal)
{
	const struct options *o = s->options;
	struct error *err = NULL;

	s->interval_ns = o->interval_ns;
	if (o->live && !o->dry_run)
		err = screen_start(o, &s->setup, &s->screen);
	if (!s->screen)
		return err;
	heap_keep_all();
	s->interval_ns = s->setup.options.interval_ns = o->live_interval_ns;
	/* The screen is there instead of reports; files get all of them. */
	s->prints_final_only |= to_terminal;
	return NULL;
}

/* The screen has died: go on with reports. */
static void lose_screen(struct session *s)
{
	session_screen_stop(s);
	s->prints_final_only = s->options->final_only_on_terminal && s->setup.is_terminal;
	s->interval_ns = s->setup.options.interval_ns = s->options->interval_ns;
	waiter_set_interval(&s->waiter, s->interval_ns);
}

bool session_screen_look(struct session *s)
{
	uint64_t interval_ns;

	if (!s->screen)
		return false;
	switch (screen_answer(s->screen, &interval_ns)) {
	case SCREEN_NOTHING:
		break;
	case SCREEN_QUIT:
		return true;
	case SCREEN_INTERVAL:
		s->interval_ns = s->setup.options.interval_ns = interval_ns;
		waiter_set_interval(&s->waiter, interval_ns);
		break;
	case SCREEN_FAILED:
		lose_screen(s);
		break;
	}
	return false;
}

bool session_screen_wants(const struct session *s)
{
	return s->screen && screen_is_ready(s->screen);
}

struct error *session_screen_give(struct session *s, const struct snapshot *snap)
{
	struct error *err = screen_give(s->screen, snap->made_of ? snap->made_of : snap);

	/* Lines of progress would be messages now. */
	if (!err && !s->said_before) {
		progress_clear(&s->progress);
		s->said_before = s->progress.out;
		s->progress.out = NULL;
	}
	return err;
}

/* The target has exited: let the user look at what it held, until a key or a signal. The
 * screen gets `last`, if that is not NULL, as soon as it has shown the one before. */
static struct error *wait_for_user(struct session *s, const struct snapshot *last)
{
	struct error *err = NULL;
	enum report_cause cause;

	screen_ended(s->screen);
	while (!err && s->screen && !session_screen_look(s)) {
		if (last && session_screen_wants(s)) {
			err = session_screen_give(s, last);
			last = NULL;
		} else if (waiter_next(&s->waiter, WAIT_MS, &cause) &&
			   cause >= REPORT_STOPPED) {
			break;
		}
	}
	return err;
}

struct error *session_screen_end(struct session *s, enum report_cause cause,
				 const struct snapshot *last)
{
	struct error *err = NULL;

	if (s->screen && cause == REPORT_EXITED)
		err = wait_for_user(s, last);
	session_screen_stop(s);
	return err;
}

void session_screen_stop(struct session *s)
{
	screen_stop(s->screen);
	s->screen = NULL;
	s->waiter.screen_fd = -1;
	if (s->said_before)
		s->progress.out = s->said_before;
	s->said_before = NULL;
}
