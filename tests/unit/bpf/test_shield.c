// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/shield.h"

#define TASKS 3

/* A task may use only syscall(2). */
struct work {
	int pipe[2]; /* each task waits for a byte */
	long pids[TASKS];
};

static void work(void *arg, size_t i)
{
	struct work *w = arg;
	char byte;

	if (syscall(SYS_read, w->pipe[0], &byte, 1) == 1)
		w->pids[i] = syscall(SYS_getpid);
}

static void check_pids(const struct work *w)
{
	for (size_t i = 0; i < TASKS; i++) {
		CHECK(w->pids[i] != 0);
		CHECK(w->pids[i] != getpid());
		for (size_t j = 0; j < i; j++)
			CHECK(w->pids[i] != w->pids[j]);
	}
}

static void runs_in_other_tasks(void)
{
	struct work w = {.pids = {0}};

	REQUIRE(!pipe(w.pipe) && write(w.pipe[1], "abc", TASKS) == TASKS);
	shield_run(TASKS, work, &w);
	check_pids(&w);
	close(w.pipe[0]);
	close(w.pipe[1]);
}

/* The tasks can go on only after shield_start() has returned. */
static void waits_later(void)
{
	struct work w = {.pids = {0}};
	struct shield *shield;

	REQUIRE(!pipe(w.pipe));
	shield = shield_start(TASKS, work, &w);
	REQUIRE(shield);
	for (size_t i = 0; i < TASKS; i++)
		CHECK(!__atomic_load_n(&w.pids[i], __ATOMIC_RELAXED));
	REQUIRE(write(w.pipe[1], "abc", TASKS) == TASKS);
	shield_wait(shield);
	check_pids(&w);
	close(w.pipe[0]);
	close(w.pipe[1]);
}

int main(void)
{
	RUN(runs_in_other_tasks);
	RUN(waits_later);
	return check_done();
}
