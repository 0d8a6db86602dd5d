// SPDX-License-Identifier: Apache-2.0
/* Finding the children of processes. */
#include "unit/process/child.h"

#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "process/children.h"
#include "process/live_thread.h"
#include "util/cleanup.h"

/* Forks a child and stores its pid in shared memory. */
static void fork_another(void *shared)
{
	*(volatile int *)shared = (int)child_fork(NULL, NULL).pid;
}

static void end(int pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void of_each_generation(void)
{
	_cleanup_(children_deinit) struct children found = {0};
	int *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	REQUIRE(shared != MAP_FAILED);

	int parent = (int)child_fork(fork_another, shared).pid, child = *shared;
	int other = (int)child_fork(NULL, NULL).pid;

	/* Only the children of the given processes. */
	REQUIRE(!children_find(&parent, 1, &found));
	REQUIRE(found.pids.len == 1);
	CHECK_INT(found.pids.data[0], child);
	children_deinit(&found);

	/* Not the given processes themselves. */
	REQUIRE(!children_find((int[]){parent, child}, 2, &found));
	CHECK_INT(found.pids.len, 0);
	children_deinit(&found);

	/* Grandchildren come after all children. */
	int first = parent < other ? parent : other;
	int last = parent < other ? other : parent;
	int self = getpid();
	/* Another process searches, which is not among the children. */
	int seen[2];
	char byte;

	REQUIRE(pipe(seen) == 0);
	fflush(stdout);

	int watcher = fork();

	if (!watcher) {
		bool right = !children_find(&self, 1, &found) && found.pids.len == 3 &&
			     found.pids.data[0] == first && found.pids.data[1] == last &&
			     found.pids.data[2] == child;

		_exit(write(seen[1], right ? "+" : "-", 1) != 1);
	}
	REQUIRE(read(seen[0], &byte, 1) == 1);
	CHECK_INT(byte, '+');
	waitpid(watcher, NULL, 0);
	end(other);
	end(parent);
	close(seen[0]);
	close(seen[1]);
	munmap(shared, sizeof(*shared));
}

/* A zombie has no threads and will not fork. */
static void a_zombie_is_none(void)
{
	_cleanup_(children_deinit) struct children found = {0};
	siginfo_t info;
	int parent = (int)child_fork(NULL, NULL).pid;
	int self = getpid(), watcher;

	kill(parent, SIGKILL);
	REQUIRE(!waitid(P_PID, (id_t)parent, &info, WEXITED | WNOWAIT));
	fflush(stdout);
	watcher = fork();
	if (!watcher)
		_exit(children_find(&self, 1, &found) || found.pids.len);
	int status = -1;

	REQUIRE(waitpid(watcher, &status, 0) == watcher);
	CHECK_INT(status, 0);
	waitpid(parent, NULL, 0);
}

static void *wait_for_ever(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* A process whose main thread has exited looks like a zombie, but runs. */
static void without_its_first_thread(void)
{
	_cleanup_(children_deinit) struct children found = {0};
	int self = getpid(), status = -1, watcher, parent;

	fflush(stdout);
	parent = fork();
	if (!parent) {
		pthread_t thread;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!pthread_create(&thread, NULL, wait_for_ever, NULL))
			syscall(SYS_exit, 0);
		_exit(1);
	}
	while (!live_thread_has_lost_first(parent))
		usleep(1000);
	watcher = fork();
	if (!watcher)
		_exit(children_find(&self, 1, &found) || found.pids.len != 1 ||
		      found.pids.data[0] != parent);
	REQUIRE(waitpid(watcher, &status, 0) == watcher);
	CHECK_INT(status, 0);
	kill(parent, SIGKILL);
	waitpid(parent, NULL, 0);
}

static void of_nobody(void)
{
	_cleanup_(children_deinit) struct children found = {0};
	int none = INT_MAX;

	REQUIRE(!children_find(&none, 1, &found));
	CHECK_INT(found.pids.len, 0);
	REQUIRE(!children_find(NULL, 0, &found));
	CHECK_INT(found.pids.len, 0);
}

static void only_forked(void)
{
	int child = fork(), parent = -1;

	if (!child)
		for (;;)
			pause();
	CHECK(!children_has_executed(child, &parent));
	CHECK_INT(parent, getpid());
	CHECK(children_has_executed(getpid(), NULL));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	CHECK(!children_has_executed(child, &parent));
	CHECK_INT(parent, 0);
}

int main(void)
{
	RUN(of_each_generation);
	RUN(only_forked);
	RUN(a_zombie_is_none);
	RUN(without_its_first_thread);
	RUN(of_nobody);
	return check_done();
}
