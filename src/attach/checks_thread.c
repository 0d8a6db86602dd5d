// SPDX-License-Identifier: Apache-2.0
/* The thread that runs the checks. */
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "attach/checks_private.h"
#include "bpf/ring.h"
#include "util/clock.h"
#include "util/units.h"

/* How often running checks are examined. */
#define LOOK_MS 100

int checks_on_news(void *arg, void *data, size_t size)
{
	struct checks *c = arg;
	struct check *check = NULL;
	uint32_t number;

	if (size < sizeof(number))
		return 0;
	memcpy(&number, data, sizeof(number));
	pthread_mutex_lock(&c->lock);
	if (number < c->list.len)
		check = c->list.data[number];
	pthread_mutex_unlock(&c->lock);
	/* Without memory the function is not checked. */
	if (check && check_state_of(c, check) == ABI_CHECK_WANTED)
		(void)vec_push(&c->wanted, check);
	return 0;
}

static bool is_at_end(const struct checks *c, const struct check *check, uint64_t now_ns)
{
	struct check_verdict so_far = check_judge(c, check);

	return so_far.outcome != CHECK_RIGHT || so_far.agreed >= ABI_CHECK_AGREED ||
	       now_ns - check->started_ns >= CHECK_LASTS_MS * UNITS_NS_PER_MS;
}

static void *close_links(void *arg)
{
	struct closer *closer = arg;

	closer->links.ops->detach(&closer->links);
	__atomic_store_n(&closer->is_done, true, __ATOMIC_SEQ_CST);
	return NULL;
}

static void close_ended(struct checks *c)
{
	struct closer *closer = c->ended.list.len ? calloc(1, sizeof(*closer)) : NULL;

	if (closer && vec_push(&c->closers, closer)) {
		closer->links = c->ended;
		if (pthread_create(&closer->thread, NULL, close_links, closer) == 0) {
			c->ended = (struct attachment){.ops = closer->links.ops};
			return;
		}
		c->closers.len--;
	}
	free(closer);
	c->ended.ops->detach(&c->ended);
}

/* Join the closers that are done, or with `all`, wait for all. */
void checks_join_closers(struct checks *c, bool all)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->closers.len; i++) {
		struct closer *closer = c->closers.data[i];

		if (!all && !__atomic_load_n(&closer->is_done, __ATOMIC_SEQ_CST)) {
			c->closers.data[kept++] = closer;
			continue;
		}
		pthread_join(closer->thread, NULL);
		free(closer);
	}
	c->closers.len = kept;
}

static void end_some(struct checks *c)
{
	uint64_t now_ns = clock_now_ns();
	size_t kept = 0;

	for (size_t i = 0; i < c->under_way.len; i++) {
		struct check *check = c->under_way.data[i];

		if (is_at_end(c, check, now_ns))
			check_end(c, check);
		else
			c->under_way.data[kept++] = check;
	}
	c->under_way.len = kept;
	close_ended(c);
}

void *checks_run(void *arg)
{
	struct checks *c = arg;
	struct pollfd fds[] = {
		{.fd = c->stop_fd, .events = POLLIN},
		{.fd = ring_fd(c->ring), .events = POLLIN},
	};
	uint64_t stop;

	while (read(c->stop_fd, &stop, sizeof(stop)) < 0) {
		poll(fds, 2, c->under_way.len ? LOOK_MS : -1);
		ring_consume(c->ring);
		end_some(c);
		/* check_begin() takes milliseconds, and other checks may have to end
		 * meanwhile. */
		for (size_t i = 0; i < c->wanted.len; i++) {
			check_begin(c, c->wanted.data[i]);
			end_some(c);
		}
		c->wanted.len = 0;
		checks_join_closers(c, false);
	}
	return NULL;
}
