// SPDX-License-Identifier: Apache-2.0
#include "util/priority.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "util/cleanup.h"

/* A machine with fewer threads for each processor is not crowded. */
#define CROWD 4

/* Each step has 1.25 times the weight (sched_prio_to_weight[], kernel/sched/core.c). */
#define STEP  1.25
#define STEPS 20

int priority_nice(unsigned long runnable, unsigned long processors)
{
	double each = (double)runnable / (double)(processors ? processors : 1);
	double weight = 1;
	int steps = 0;

	for (; each >= CROWD && weight < each && steps < STEPS; weight *= STEP)
		steps++;
	return -steps;
}

/* The threads that run or wait for a processor (proc_loadavg(5)). */
static unsigned long count_runnable(void)
{
	_cleanup_(fclosep) FILE *file = fopen("/proc/loadavg", "re");
	unsigned long runnable;

	return file && fscanf(file, "%*s %*s %*s %lu", &runnable) == 1 ? runnable : 0;
}

static bool set_policy(int flags)
{
	const struct sched_param none = {.sched_priority = 0};

	return !sched_setscheduler(0, SCHED_OTHER | flags, &none);
}

int priority_wanted(void)
{
	unsigned long runnable = count_runnable();
	long processors = runnable < CROWD ? 1 : sysconf(_SC_NPROCESSORS_ONLN);

	return priority_nice(runnable, processors > 0 ? (unsigned long)processors : 1);
}

void priority_raise(struct priority *ret)
{
	int wanted, before;

	*ret = (struct priority){.is_raised = false};
	if (sched_getscheduler(0) != SCHED_OTHER)
		return;
	wanted = priority_wanted();
	errno = 0;
	/* Linux: 0 is the calling thread (setpriority(2)). */
	before = getpriority(PRIO_PROCESS, 0);
	if (errno || before > 0 || wanted >= before || !set_policy(SCHED_RESET_ON_FORK))
		return;
	ret->before = before;
	ret->is_raised = !setpriority(PRIO_PROCESS, 0, wanted);
	if (!ret->is_raised)
		set_policy(0);
}

int priority_clone(int (*run)(void *arg), void *stack, int flags, void *arg)
{
	bool resets = sched_getscheduler(0) == (SCHED_OTHER | SCHED_RESET_ON_FORK);
	int pid;

	if (resets)
		set_policy(0);
	pid = clone(run, stack, flags, arg);
	if (resets)
		set_policy(SCHED_RESET_ON_FORK);
	return pid;
}

void priority_restore(const struct priority *priority)
{
	if (!priority->is_raised)
		return;
	setpriority(PRIO_PROCESS, 0, priority->before);
	set_policy(0);
}
