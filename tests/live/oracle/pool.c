/* SPDX-License-Identifier: Apache-2.0 */
/* A pool of threads that start before the attach, so that their start is not traced. */
#include <pthread.h>

#include "oracle.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t begin = PTHREAD_COND_INITIALIZER;
static pthread_cond_t finished = PTHREAD_COND_INITIALIZER;
static struct {
	void (*work)(unsigned thread, size_t blocks);
	size_t blocks;
	unsigned long generation;
	unsigned threads, running, ready;
} job;

static void *worker(void *argument)
{
	unsigned self = (unsigned)(uintptr_t)argument;
	unsigned long seen = 0;

	pthread_mutex_lock(&lock);
	job.ready++;
	pthread_cond_signal(&finished);
	for (;;) {
		while (job.generation == seen)
			pthread_cond_wait(&begin, &lock);
		seen = job.generation;
		if (self >= job.threads)
			continue;
		pthread_mutex_unlock(&lock);
		job.work(self, job.blocks);
		pthread_mutex_lock(&lock);
		if (!--job.running)
			pthread_cond_signal(&finished);
	}
	return NULL;
}

static void *leave(void *argument)
{
	pthread_exit(argument);
}

void pool_start(void)
{
	pthread_t thread;

	/* The first pthread_exit loads libgcc_s: do that before the attach. */
	if (pthread_create(&thread, NULL, leave, NULL) || pthread_join(thread, NULL))
		die("cannot start a thread");
	for (uintptr_t i = 0; i < POOL_SIZE; i++)
		if (pthread_create(&thread, NULL, worker, (void *)i))
			die("cannot start a thread");
	pthread_mutex_lock(&lock);
	while (job.ready < POOL_SIZE)
		pthread_cond_wait(&finished, &lock);
	pthread_mutex_unlock(&lock);
}

void pool_run(void (*work)(unsigned thread, size_t blocks), unsigned threads,
	      size_t blocks)
{
	if (threads == 1) {
		work(0, blocks);
		return;
	}
	pthread_mutex_lock(&lock);
	job.work = work;
	job.blocks = blocks;
	job.threads = job.running = threads;
	job.generation++;
	pthread_cond_broadcast(&begin);
	while (job.running)
		pthread_cond_wait(&finished, &lock);
	pthread_mutex_unlock(&lock);
}
