// SPDX-License-Identifier: Apache-2.0
/* Stopping a process with many threads. */
#include "check.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "reach/threads.h"
#include "unit/process/child.h"
#include "util/clock.h"

/* $MEMTRACE_TEST_THREADS: another number. */
#define THREADS 3000

static unsigned threads_wanted;

static void *wait_for_end(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static void start_threads(void *unused)
{
	pthread_attr_t small;

	(void)unused;
	REQUIRE(!pthread_attr_init(&small));
	REQUIRE(!pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN));
	for (unsigned i = 0; i < threads_wanted; i++) {
		pthread_t thread;

		REQUIRE(!pthread_create(&thread, &small, wait_for_end, NULL));
	}
}

/* For /proc/TID/stat the kernel would visit all threads of the process. */
static char state_of(int pid, int tid)
{
	char path[64], text[512] = "";
	const char *end;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	file = fopen(path, "re");
	REQUIRE(file && fread(text, 1, sizeof(text) - 1, file));
	fclose(file);
	end = strrchr(text, ')');
	REQUIRE(end && end[1]);
	return end[2];
}

static int compare_tids(const void *a, const void *b)
{
	const struct reach_thread *x = a, *y = b;

	return (x->tid > y->tid) - (x->tid < y->tid);
}

/* Each is stopped, and is on the list once. Each goes on afterwards. */
static void many_threads(void)
{
	struct child child = child_fork(start_threads, NULL);
	struct reach_threads threads;
	uint64_t begun_ns = clock_now_ns();
	unsigned stopped = 0, twice = 0;

	REQUIRE(!reach_threads_stop(child.pid, begun_ns + UINT64_C(60000000000),
				    &threads));
	printf("stopped %zu threads in %.3f s\n", threads.list.len,
	       (double)(clock_now_ns() - begun_ns) / 1e9);
	CHECK_INT(threads.list.len, threads_wanted + 1);
	qsort(threads.list.data, threads.list.len, sizeof(*threads.list.data),
	      compare_tids);
	for (size_t i = 0; i < threads.list.len; i++) {
		stopped += state_of(child.pid, threads.list.data[i].tid) == 't';
		twice += i && threads.list.data[i].tid == threads.list.data[i - 1].tid;
	}
	CHECK_INT(stopped, threads_wanted + 1);
	CHECK_INT(twice, 0);
	reach_threads_release(&threads);
	child_await_sleep(child.pid);
	child_end(&child);
}

int main(void)
{
	const char *wanted = getenv("MEMTRACE_TEST_THREADS");

	threads_wanted = wanted ? (unsigned)atoi(wanted) : THREADS;
	RUN(many_threads);
	return check_done();
}
