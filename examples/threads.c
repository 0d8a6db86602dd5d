// SPDX-License-Identifier: Apache-2.0
/*
 * Blocks that one thread allocates and another one frees. Four workers make results and
 * put them on a queue. The collector takes them off and frees them, except those that
 * report a failure, which it drops. The leak is the collector's, but the report names
 * the place in the workers where the dropped blocks are allocated.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE           __attribute__((noinline))

#define WORKERS            4
#define RESULTS_PER_S      100 /* of each worker */
#define RESULTS_PER_FAILED 10

struct result {
	struct result *next;
	bool failed;
	char text[1000];
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	struct result *first;
} queue = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL};

static void queue_put(struct result *result)
{
	pthread_mutex_lock(&queue.lock);
	result->next = queue.first;
	queue.first = result;
	pthread_cond_signal(&queue.filled);
	pthread_mutex_unlock(&queue.lock);
}

static struct result *queue_take(void)
{
	pthread_mutex_lock(&queue.lock);
	while (!queue.first)
		pthread_cond_wait(&queue.filled, &queue.lock);

	struct result *result = queue.first;

	queue.first = result->next;
	pthread_mutex_unlock(&queue.lock);
	return result;
}

static NOINLINE struct result *result_create(bool failed)
{
	struct result *result = calloc(1, sizeof(*result));

	if (!result)
		abort();
	result->failed = failed;
	return result;
}

static NOINLINE struct result *succeed(void)
{
	return result_create(false);
}

static NOINLINE struct result *fail(void)
{
	return result_create(true);
}

static void *run_worker(void *arg)
{
	const struct timespec pause = {.tv_nsec = 1000000000 / RESULTS_PER_S};

	(void)arg;
	for (unsigned long number = 1;; number++) {
		queue_put(number % RESULTS_PER_FAILED ? succeed() : fail());
		nanosleep(&pause, NULL);
	}
	return NULL;
}

int main(void)
{
	pthread_t thread;

	printf("threads: pid %d, %d workers with %d results a second; one in %d is "
	       "lost\n",
	       (int)getpid(), WORKERS, RESULTS_PER_S, RESULTS_PER_FAILED);
	fflush(stdout);
	for (int i = 0; i < WORKERS; i++)
		if (pthread_create(&thread, NULL, run_worker, NULL))
			return 1;
	for (;;) {
		struct result *result = queue_take();

		if (!result->failed)
			free(result);
	}
}
