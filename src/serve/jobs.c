// SPDX-License-Identifier: Apache-2.0
#include "serve/jobs.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "util/clock.h"

struct jobs {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct job *first, **end;
};

struct jobs *jobs_create(void)
{
	struct jobs *jobs = calloc(1, sizeof(*jobs));
	pthread_condattr_t attributes;

	if (!jobs)
		return NULL;
	jobs->end = &jobs->first;
	pthread_mutex_init(&jobs->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&jobs->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	return jobs;
}

void jobs_put(struct jobs *jobs, struct job *job)
{
	job->next = NULL;
	pthread_mutex_lock(&jobs->lock);
	*jobs->end = job;
	jobs->end = &job->next;
	pthread_cond_signal(&jobs->changed);
	pthread_mutex_unlock(&jobs->lock);
}

/* Take the first job that is due; NULL: none. *next_ns is lowered to the time when the
 * next one is. */
static struct job *take_due(struct jobs *jobs, uint64_t *next_ns)
{
	uint64_t now_ns = clock_now_ns();

	for (struct job **at = &jobs->first; *at; at = &(*at)->next) {
		struct job *job = *at;

		if (job->due_ns > now_ns) {
			if (job->due_ns < *next_ns)
				*next_ns = job->due_ns;
			continue;
		}
		*at = job->next;
		if (!*at)
			jobs->end = at;
		return job;
	}
	return NULL;
}

struct job *jobs_take(struct jobs *jobs, uint64_t until_ns)
{
	struct job *job;

	pthread_mutex_lock(&jobs->lock);
	for (;;) {
		uint64_t next_ns = until_ns;
		struct timespec until;

		job = take_due(jobs, &next_ns);
		if (job || clock_now_ns() >= until_ns)
			break;
		until = (struct timespec){.tv_sec = (time_t)(next_ns / 1000000000),
					  .tv_nsec = (long)(next_ns % 1000000000)};
		if (next_ns == UINT64_MAX)
			pthread_cond_wait(&jobs->changed, &jobs->lock);
		else
			pthread_cond_timedwait(&jobs->changed, &jobs->lock, &until);
	}
	pthread_mutex_unlock(&jobs->lock);
	return job;
}

unsigned jobs_begun(struct jobs *jobs)
{
	unsigned count = 0;

	pthread_mutex_lock(&jobs->lock);
	for (const struct job *job = jobs->first; job; job = job->next)
		count += job->base != NULL;
	pthread_mutex_unlock(&jobs->lock);
	return count;
}
