// SPDX-License-Identifier: Apache-2.0
#include "drain/live_grower.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "bpf/ring.h"
#include "util/cleanup.h"
#include "util/memory_limit.h"
#include "util/quiet_thread.h"

#define THREAD_NAME "memtrace-grow"

/* After the kernel had no memory for a generation. */
#define RETRY_MS 1000

struct live_grower {
	struct live_table *table;
	struct ring *ring;
	int stop_fd; /* -1: none */
	pthread_t thread;
	bool is_running;
};

DEFINE_CLEANUP(struct live_grower *, live_grower_destroy);

static int on_news(void *arg, void *data, size_t size)
{
	(void)arg;
	(void)data;
	(void)size;
	return 0;
}

/* Returns how long to wait until the next attempt, in ms; -1: until there are news. */
static int grow(struct live_grower *g)
{
	while (live_table_wants_more(g->table)) {
		struct error *err = live_table_grow(g->table);

		/* Blocks without room are counted meanwhile. */
		if (err) {
			error_destroy(err);
			return RETRY_MS;
		}
	}
	return -1;
}

static void *run(void *arg)
{
	struct live_grower *g = arg;
	struct pollfd fds[] = {{.fd = g->stop_fd, .events = POLLIN},
			       {.fd = ring_fd(g->ring), .events = POLLIN}};
	int timeout_ms = -1;

	pthread_setname_np(pthread_self(), THREAD_NAME);
	for (;;) {
		if (poll(fds, 2, timeout_ms) < 0 && errno != EINTR)
			return NULL;
		if (fds[0].revents)
			return NULL;
		(void)ring_consume(g->ring);
		timeout_ms = grow(g);
	}
}

struct error *live_grower_create(struct live_table *table, int ring,
				 struct live_grower **ret)
{
	_cleanup_(live_grower_destroyp) struct live_grower *g = calloc(1, sizeof(*g));
	int err;

	if (!g)
		return error_no_memory();
	g->table = table;
	g->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	g->ring = ring < 0 ? NULL : ring_open(ring, on_news, NULL);
	if (g->stop_fd < 0 || !g->ring)
		return error_create(ERROR_IO, "cannot watch the table of blocks: %s%s",
				    strerror(errno), memory_limit_hint());
	err = quiet_thread_start(&g->thread, NULL, run, g);
	if (err)
		return error_create(ERROR_IO,
				    "cannot start the thread of the table of blocks: "
				    "%s%s",
				    strerror(err), memory_limit_hint());
	g->is_running = true;
	*ret = take(g);
	return NULL;
}

void live_grower_destroy(struct live_grower *g)
{
	const uint64_t one = 1;

	if (!g)
		return;
	if (g->is_running && write(g->stop_fd, &one, sizeof(one)) == sizeof(one))
		pthread_join(g->thread, NULL);
	if (g->stop_fd >= 0)
		close(g->stop_fd);
	ring_close(g->ring);
	free(g);
}
