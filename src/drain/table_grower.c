// SPDX-License-Identifier: Apache-2.0
#include "drain/table_grower.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "bpf/ring.h"
#include "util/cleanup.h"
#include "util/memory_limit.h"
#include "util/priority.h"
#include "util/quiet_thread.h"

#define THREAD_NAME "memtrace-grow"

/* After the kernel had no memory for a part of a table. */
#define RETRY_MS 1000

/* Threads that put parts into tables. Each one waits some 10 ms (part_table_put()), and
 * in this time the probes may need more parts. */
#define PUTTERS 8

struct putter {
	pthread_t thread;
	bool is_running;
	struct new_parts parts;
};

struct table_grower {
	struct live_table *live; /* NULL: none */
	struct stack_tables *stacks;
	const struct journal_table *journal; /* NULL: none */
	struct ring *ring;
	int stop_fd, wake_fd; /* -1: none */
	pthread_t thread;
	bool is_running;
	struct putter putters[PUTTERS]; /* used in turn */
	size_t next;
	sem_t has_begun;      /* the first parts are there */
	struct error *failed; /* before that */
};

DEFINE_CLEANUP(struct table_grower *, table_grower_destroy);

static int on_news(void *arg, void *data, size_t size)
{
	(void)arg;
	(void)data;
	(void)size;
	return 0;
}

static void *run_putter(void *arg)
{
	const struct putter *p = arg;
	_cleanup_(priority_restore) struct priority priority;

	priority_raise(&priority);
	pthread_setname_np(pthread_self(), THREAD_NAME);
	part_table_put(&p->parts);
	return NULL;
}

static void end_putter(struct putter *p)
{
	if (p->is_running)
		pthread_join(p->thread, NULL);
	p->is_running = false;
}

static void put(struct table_grower *g, const struct new_parts *parts)
{
	struct putter *p = &g->putters[g->next];

	if (!parts->count)
		return;
	g->next = (g->next + 1) % PUTTERS;
	end_putter(p);
	p->parts = *parts;
	p->is_running = !quiet_thread_start(&p->thread, NULL, run_putter, p);
	if (!p->is_running)
		part_table_put(parts);
}

/* Put all parts again if one was refused. */
static bool put_refused(struct table_grower *g, struct part_table *t)
{
	if (!__atomic_exchange_n(&t->is_unput, false, __ATOMIC_SEQ_CST))
		return false;
	put(g, &(struct new_parts){t, 0, t->known});
	return true;
}

/* Returns how long to wait until the next attempt, in ms; -1: until there are news. */
static int grow(struct table_grower *g)
{
	struct new_parts parts[STACK_TABLES];
	struct error *err = stack_tables_create(g->stacks, parts), *blocks = NULL;
	bool was_refused = false;

	for (int i = 0; i < STACK_TABLES; i++) {
		was_refused |= put_refused(g, parts[i].table);
		put(g, &parts[i]);
	}
	while (!blocks && g->live && live_table_wants_more(g->live))
		blocks = live_table_grow(g->live);
	err = error_first(err, blocks);
	if (!err)
		return was_refused ? RETRY_MS : -1;
	/* Blocks and stacks without room are counted meanwhile. */
	error_destroy(err);
	return RETRY_MS;
}

/* Let the probes use the first parts. */
static void begin(struct table_grower *g)
{
	struct part_table *const tables[STACK_TABLES] = {
		&g->stacks->heads, &g->stacks->pcs, &g->stacks->index};
	_cleanup_(priority_restore) struct priority priority;
	bool is_refused = false;

	priority_raise(&priority);
	for (int i = 0; i < STACK_TABLES; i++)
		put(g, &(struct new_parts){tables[i], 0, tables[i]->known});
	for (uint32_t half = 0; g->journal && !g->failed && half < 2; half++)
		g->failed = journal_table_put(g->journal, half);
	for (size_t i = 0; i < PUTTERS; i++)
		end_putter(&g->putters[i]);
	for (int i = 0; i < STACK_TABLES; i++)
		is_refused |= tables[i]->is_unput;
	if (is_refused)
		g->failed = error_first(
			g->failed,
			error_create(ERROR_IO, "cannot enlarge the tables of stacks%s",
				     memory_limit_hint()));
	sem_post(&g->has_begun);
}

static void *run(void *arg)
{
	struct table_grower *g = arg;
	struct pollfd fds[] = {{.fd = g->stop_fd, .events = POLLIN},
			       {.fd = ring_fd(g->ring), .events = POLLIN},
			       {.fd = g->wake_fd, .events = POLLIN}};
	uint64_t count;
	int timeout_ms = -1;

	pthread_setname_np(pthread_self(), THREAD_NAME);
	begin(g);
	for (;;) {
		/* After a failure no news help: each would be a futile attempt. */
		if (poll(fds, timeout_ms < 0 ? 3 : 1, timeout_ms) < 0 && errno != EINTR)
			return NULL;
		if (fds[0].revents)
			return NULL;
		(void)ring_consume(g->ring);
		(void)!read(g->wake_fd, &count, sizeof(count));
		timeout_ms = grow(g);
	}
}

struct error *table_grower_create(struct live_table *live, struct stack_tables *stacks,
				  const struct journal_table *journal, int ring,
				  struct table_grower **ret)
{
	_cleanup_(table_grower_destroyp) struct table_grower *g = calloc(1, sizeof(*g));
	int err;

	if (!g)
		return error_no_memory();
	sem_init(&g->has_begun, 0, 0);
	g->live = live;
	g->stacks = stacks;
	g->journal = journal;
	g->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	g->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	g->ring = ring < 0 ? NULL : ring_open(ring, on_news, NULL);
	if (g->stop_fd < 0 || g->wake_fd < 0 || !g->ring)
		return error_create(
			ERROR_IO,
			"cannot watch how full the tables of blocks and stacks are: %s%s",
			strerror(errno), memory_limit_hint());
	err = quiet_thread_start(&g->thread, NULL, run, g);
	if (err)
		return error_create(ERROR_IO,
				    "cannot start the thread that enlarges the tables of "
				    "blocks and stacks: %s%s",
				    strerror(err), memory_limit_hint());
	g->is_running = true;
	stacks->grower_fd = g->wake_fd;
	*ret = take(g);
	return NULL;
}

struct error *table_grower_wait(struct table_grower *g)
{
	struct error *err;

	while (sem_wait(&g->has_begun))
		;
	sem_post(&g->has_begun);
	err = g->failed;
	g->failed = NULL;
	return err;
}

void table_grower_destroy(struct table_grower *g)
{
	const uint64_t one = 1;

	if (!g)
		return;
	if (g->is_running && write(g->stop_fd, &one, sizeof(one)) == sizeof(one))
		pthread_join(g->thread, NULL);
	for (size_t i = 0; i < PUTTERS; i++)
		end_putter(&g->putters[i]);
	g->stacks->grower_fd = -1;
	if (g->stop_fd >= 0)
		close(g->stop_fd);
	if (g->wake_fd >= 0)
		close(g->wake_fd);
	ring_close(g->ring);
	error_destroy(g->failed);
	free(g);
}
