// SPDX-License-Identifier: Apache-2.0
/*
 * When the rings of events are read: as soon as the first event is there, then regularly
 * until a reading finds none. A wakeup for each event would cost the traced process time.
 */
#include <sys/epoll.h>

#include "trace/tracer_state.h"
#include "util/cleanup.h"

/* How often they are read then. The ring of mapping events holds some 20,000. */
#define POLL_MS 20

/* Watch a ring, or with `events` 0 keep it in the set without watching it. */
static bool watch(int set, int operation, const struct ring *ring, uint32_t events)
{
	struct epoll_event event = {.events = events};

	return !ring || !epoll_ctl(set, operation, ring_fd(ring), &event);
}

static bool watch_both(const struct tracer *t, int operation, uint32_t events)
{
	return watch(t->rings.set, operation, t->ring, events) &&
	       watch(t->rings.set, operation, t->late_ring, events);
}

void tracer_watch_rings(struct tracer *t)
{
	if (!t->ring && !t->late_ring)
		return;
	t->rings.set = epoll_create1(EPOLL_CLOEXEC);
	t->rings.is_watched = t->rings.set >= 0 && watch_both(t, EPOLL_CTL_ADD, EPOLLIN);
}

void tracer_unwatch_rings(struct tracer *t)
{
	closep(&t->rings.set);
}

int tracer_rings_fd(const struct tracer *t)
{
	return t->rings.set;
}

/* Also if a record is still being written: it keeps the descriptor readable. */
static bool had_any(const struct ring *ring)
{
	return ring && ring_had_any(ring);
}

void tracer_settle_rings(struct tracer *t)
{
	bool has_any = had_any(t->ring) || had_any(t->late_ring);

	if (t->rings.set < 0 || has_any != t->rings.is_watched)
		return;
	/* If it fails they are read regularly. */
	t->rings.is_watched =
		watch_both(t, EPOLL_CTL_MOD, has_any ? 0 : EPOLLIN) && !has_any;
}

int tracer_poll_ms(const struct tracer *t)
{
	return (t->ring || t->late_ring) && !t->rings.is_watched ? POLL_MS : -1;
}
