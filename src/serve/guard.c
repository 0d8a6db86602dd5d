// SPDX-License-Identifier: Apache-2.0
#include "serve/guard.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#include "util/clock.h"

struct guarded {
	struct guarded *next, *before;
	int socket;
	uint64_t begun_ns; /* the wait for a request, CLOCK_MONOTONIC; 0: a response is
			      sent */
	uint64_t end_ns;   /* of the response */
	bool is_ended;
};

struct guard {
	struct guard_limits limits;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct guarded *first;
	unsigned count;
};

static uint64_t end_of(const struct guard *guard, const struct guarded *c)
{
	const struct guard_limits *limits = &guard->limits;

	if (c->is_ended)
		return UINT64_MAX;
	if (!c->begun_ns)
		return c->end_ns;
	return c->begun_ns +
	       (guard->count > limits->crowd ? limits->crowded_ns : limits->request_ns);
}

/* Shut down what is too late. Returns the next end, CLOCK_MONOTONIC ns. */
static uint64_t end_late(struct guard *guard)
{
	uint64_t now_ns = clock_now_ns(), next_ns = UINT64_MAX;

	for (struct guarded *c = guard->first; c; c = c->next) {
		if (end_of(guard, c) <= now_ns) {
			shutdown(c->socket, SHUT_RDWR);
			c->is_ended = true;
		}
		if (end_of(guard, c) < next_ns)
			next_ns = end_of(guard, c);
	}
	return next_ns;
}

static void *watch(void *arg)
{
	struct guard *guard = arg;

	pthread_mutex_lock(&guard->lock);
	for (;;) {
		uint64_t next_ns = end_late(guard);
		struct timespec until = {.tv_sec = (time_t)(next_ns / 1000000000),
					 .tv_nsec = (long)(next_ns % 1000000000)};

		if (next_ns == UINT64_MAX)
			pthread_cond_wait(&guard->changed, &guard->lock);
		else
			pthread_cond_timedwait(&guard->changed, &guard->lock, &until);
	}
	return NULL;
}

struct guard *guard_start(const struct guard_limits *limits)
{
	struct guard *guard = calloc(1, sizeof(*guard));
	pthread_condattr_t attributes;
	pthread_t thread;

	if (!guard)
		return NULL;
	guard->limits = *limits;
	pthread_mutex_init(&guard->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&guard->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	if (!pthread_create(&thread, NULL, watch, guard)) {
		pthread_detach(thread);
		return guard;
	}
	free(guard);
	return NULL;
}

struct guarded *guard_add(struct guard *guard, int socket)
{
	struct guarded *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->socket = socket;
	c->begun_ns = clock_now_ns();
	pthread_mutex_lock(&guard->lock);
	c->next = guard->first;
	if (c->next)
		c->next->before = c;
	guard->first = c;
	guard->count++;
	pthread_cond_signal(&guard->changed);
	pthread_mutex_unlock(&guard->lock);
	return c;
}

static void await(struct guard *guard, struct guarded *c, uint64_t begun_ns,
		  uint64_t end_ns)
{
	if (!c)
		return;
	pthread_mutex_lock(&guard->lock);
	c->begun_ns = begun_ns;
	c->end_ns = end_ns;
	pthread_cond_signal(&guard->changed);
	pthread_mutex_unlock(&guard->lock);
}

void guard_request(struct guard *guard, struct guarded *c)
{
	await(guard, c, clock_now_ns(), 0);
}

void guard_response(struct guard *guard, struct guarded *c, uint64_t limit_ns)
{
	await(guard, c, 0, clock_now_ns() + limit_ns);
}

void guard_remove(struct guard *guard, struct guarded *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&guard->lock);
	if (c->next)
		c->next->before = c->before;
	if (c->before)
		c->before->next = c->next;
	else
		guard->first = c->next;
	guard->count--;
	pthread_mutex_unlock(&guard->lock);
	free(c);
}
