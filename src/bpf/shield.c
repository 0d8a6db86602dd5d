// SPDX-License-Identifier: Apache-2.0
#include "bpf/shield.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/priority.h"

#define STACK_BYTES (64 << 10)

/* "killall memtrace" must not hit these tasks. */
#define TASK_NAME "probe-links"

struct task {
	void (*run)(void *arg, size_t i);
	void *arg;
	size_t i;
	pid_t pid; /* 0: not created, the caller does the work */
};

static int run_task(void *arg)
{
	const struct task *task = arg;

	/* Leave the process group, out of reach of signals to it. */
	syscall(SYS_setsid);
	syscall(SYS_prctl, PR_SET_NAME, TASK_NAME, 0, 0, 0);
	task->run(task->arg, task->i);
	return 0;
}

/* `stack` may be MAP_FAILED. */
static void start_task(struct task *task, char *stack)
{
	int pid = -1;

	if ((void *)stack != MAP_FAILED)
		pid = priority_clone(run_task, stack + (task->i + 1) * STACK_BYTES,
				     CLONE_VM | CLONE_FILES, task);
	task->pid = pid > 0 ? pid : 0;
}

static void wait_for(const struct task *task)
{
	/* __WALL: the task sends no signal when it ends. */
	if (!task->pid)
		task->run(task->arg, task->i);
	else
		while (waitpid(task->pid, NULL, __WALL) < 0 && errno == EINTR)
			;
}

struct shield {
	struct task tasks[SHIELD_MAX];
	size_t count;
	void *stacks; /* or MAP_FAILED */
};

static void start(struct shield *shield, size_t count, void (*run)(void *arg, size_t i),
		  void *arg)
{
	shield->count = count;
	shield->stacks = mmap(NULL, SHIELD_MAX * STACK_BYTES, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	/* Make the dynamic linker resolve syscall() here, not in several tasks at
	 * once. */
	(void)syscall(SYS_gettid);
	for (size_t i = 0; i < count; i++) {
		shield->tasks[i] = (struct task){.run = run, .arg = arg, .i = i};
		start_task(&shield->tasks[i], shield->stacks);
	}
}

static void finish(const struct shield *shield)
{
	for (size_t i = 0; i < shield->count; i++)
		wait_for(&shield->tasks[i]);
	if (shield->stacks != MAP_FAILED)
		munmap(shield->stacks, SHIELD_MAX * STACK_BYTES);
}

void shield_run(size_t count, void (*run)(void *arg, size_t i), void *arg)
{
	struct shield shield;

	start(&shield, count, run, arg);
	finish(&shield);
}

struct shield *shield_start(size_t count, void (*run)(void *arg, size_t i), void *arg)
{
	struct shield *shield = malloc(sizeof(*shield));

	if (shield)
		start(shield, count, run, arg);
	return shield;
}

void shield_wait(struct shield *shield)
{
	finish(shield);
	free(shield);
}
