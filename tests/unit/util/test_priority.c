// SPDX-License-Identifier: Apache-2.0
#include "util/priority.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "util/clock.h"

/* Busy processes for each processor. */
#define HOGS 6
/* Larger machines would need too many of them. */
#define PROCESSORS_MAX 80

#define PATIENCE_NS    UINT64_C(20000000000)

/* sched_prio_to_weight[] of kernel/sched/core.c, for nice 0, -1, ... -20. */
static const double weights[] = {1024,  1277,  1586,  1991,  2501,  3121,  3906,
				 4904,  6100,  7620,  9548,  11916, 14949, 18705,
				 23254, 29154, 36291, 46273, 56483, 71755, 88761};

static void a_thread_gets_half_of_a_processor(void)
{
	for (unsigned long each = 4; each <= 80; each++) {
		int nice = priority_nice(each * 3, 3);
		double share;

		REQUIRE(nice < 0 && nice >= -20);
		share = weights[-nice] / (weights[-nice] + 1024 * (double)each);
		CHECK(share > 0.48 && share < 0.57);
	}
	CHECK_INT(priority_nice(100000, 2), -20);
}

static void few_threads_change_nothing(void)
{
	CHECK_INT(priority_nice(0, 2), 0);
	CHECK_INT(priority_nice(7, 2), 0);
	CHECK(priority_nice(8, 2) < 0);
	/* Unknown. */
	CHECK_INT(priority_nice(3, 0), 0);
}

static int own_nice(void)
{
	return getpriority(PRIO_PROCESS, 0);
}

static void *look(void *arg)
{
	*(int *)arg = own_nice();
	return NULL;
}

static int look_in_task(void *arg)
{
	look(arg);
	return 0;
}

/* Busy processes, as many as make a crowd. */
static size_t start_hogs(pid_t hogs[])
{
	size_t count = HOGS * (size_t)sysconf(_SC_NPROCESSORS_ONLN);

	REQUIRE(count <= HOGS * PROCESSORS_MAX);
	for (size_t i = 0; i < count; i++) {
		hogs[i] = fork();
		REQUIRE(hogs[i] >= 0);
		if (hogs[i])
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			__asm__ volatile("");
	}
	return count;
}

static void end_hogs(const pid_t hogs[], size_t count)
{
	for (size_t i = 0; i < count; i++)
		kill(hogs[i], SIGKILL);
	for (size_t i = 0; i < count; i++)
		waitpid(hogs[i], NULL, 0);
}

/* What is started meanwhile has no higher priority, but for what priority_clone() starts.
 */
static void check_raised(const struct priority *priority)
{
	static char stack[64 << 10];
	int nice = own_nice(), of_thread = 1, of_task = 1, status;
	pthread_t thread;
	pid_t task;

	CHECK_INT(priority->before, 0);
	CHECK(nice < 0);
	REQUIRE(!pthread_create(&thread, NULL, look, &of_thread) &&
		!pthread_join(thread, NULL));
	CHECK_INT(of_thread, 0);
	task = priority_clone(look_in_task, stack + sizeof(stack), CLONE_VM | SIGCHLD,
			      &of_task);
	REQUIRE(task > 0 && waitpid(task, &status, 0) == task);
	CHECK_INT(of_task, nice);
	/* Not after it, either. */
	REQUIRE(!pthread_create(&thread, NULL, look, &of_thread) &&
		!pthread_join(thread, NULL));
	CHECK_INT(of_thread, 0);
}

/* In between it is as before, and so is what is started. */
static void check_lowered(void)
{
	int raised = own_nice(), of_thread = 1;
	struct priority lowered, again;
	pthread_t thread;

	priority_lower(&lowered);
	CHECK_INT(own_nice(), 0);
	priority_lower(&again);
	CHECK(!again.is_changed);
	priority_restore(&again);
	REQUIRE(!pthread_create(&thread, NULL, look, &of_thread) &&
		!pthread_join(thread, NULL));
	CHECK_INT(of_thread, 0);
	priority_restore(&lowered);
	CHECK_INT(own_nice(), raised);
}

static void a_crowd_raises_the_priority(void)
{
	uint64_t end_ns = clock_now_ns() + PATIENCE_NS;
	struct priority priority, again;
	pid_t hogs[HOGS * PROCESSORS_MAX];
	size_t count = start_hogs(hogs);

	do
		priority_raise(&priority);
	while (!priority.is_changed && clock_now_ns() < end_ns);
	REQUIRE(priority.is_changed);
	check_raised(&priority);
	priority_raise(&again);
	CHECK(!again.is_changed);
	priority_restore(&again);
	CHECK(own_nice() < 0);
	check_lowered();
	priority_restore(&priority);
	CHECK_INT(own_nice(), 0);
	CHECK_INT(sched_getscheduler(0), SCHED_OTHER);

	/* Nothing was raised. */
	priority_lower(&again);
	CHECK(!again.is_changed);
	/* The user's choice stays. */
	REQUIRE(!setpriority(PRIO_PROCESS, 0, -5));
	priority_raise(&priority);
	priority_lower(&again);
	CHECK(!priority.is_changed && !again.is_changed);
	CHECK_INT(own_nice(), -5);
	REQUIRE(!setpriority(PRIO_PROCESS, 0, 5));
	priority_raise(&priority);
	CHECK(!priority.is_changed);
	CHECK_INT(own_nice(), 5);
	end_hogs(hogs, count);
}

/* May this process have a higher priority? */
static bool is_permitted(void)
{
	return !setpriority(PRIO_PROCESS, 0, -1) && !setpriority(PRIO_PROCESS, 0, 0);
}

int main(void)
{
	RUN(a_thread_gets_half_of_a_processor);
	RUN(few_threads_change_nothing);
	if (sysconf(_SC_NPROCESSORS_ONLN) > PROCESSORS_MAX)
		printf("not run: more than %d processors\n", PROCESSORS_MAX);
	else if (own_nice() == 0 && sched_getscheduler(0) == SCHED_OTHER &&
		 is_permitted())
		RUN(a_crowd_raises_the_priority);
	else
		puts("not run: the priority cannot be raised");
	return check_done();
}
