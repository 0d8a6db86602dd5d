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

/* Change the nice value of the calling thread. Threads and children that it starts have
 * nice value 0 then, if `resets`. Returns false if nothing is changed. */
static bool change(int nice, bool resets)
{
	int before = getpriority(PRIO_PROCESS, 0);

	/* Linux: 0 is the calling thread (setpriority(2)). */
	if (setpriority(PRIO_PROCESS, 0, nice))
		return false;
	/* To clear the flag takes CAP_SYS_NICE, to set it takes nothing. */
	if (set_policy(resets ? SCHED_RESET_ON_FORK : 0))
		return true;
	setpriority(PRIO_PROCESS, 0, before);
	return false;
}

/* The state of the calling thread. False: it has a policy that is not changed. */
static bool look(struct priority *ret)
{
	int policy = sched_getscheduler(0);

	*ret = (struct priority){.had_reset = policy & SCHED_RESET_ON_FORK};
	errno = 0;
	ret->before = getpriority(PRIO_PROCESS, 0);
	return !errno && (policy & ~SCHED_RESET_ON_FORK) == SCHED_OTHER;
}

void priority_raise(struct priority *ret)
{
	int wanted;

	if (!look(ret) || ret->before)
		return;
	wanted = priority_wanted();
	ret->is_changed = wanted < 0 && change(wanted, true);
}

void priority_lower(struct priority *ret)
{
	ret->is_changed =
		look(ret) && ret->before < 0 && ret->had_reset && change(0, true);
}

int priority_clone(int (*run)(void *arg), void *stack, int flags, void *arg)
{
	struct priority now;
	bool resets = look(&now) && now.had_reset && set_policy(0);
	int pid = clone(run, stack, flags, arg);

	if (resets)
		set_policy(SCHED_RESET_ON_FORK);
	return pid;
}

void priority_restore(const struct priority *priority)
{
	if (priority->is_changed)
		(void)change(priority->before, priority->had_reset);
}
