// SPDX-License-Identifier: Apache-2.0
#include "live/cpu_wait.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Deeper than any process that memtrace starts. */
#define DEPTH_MAX 4

/* The second number of schedstat is the time in run queues, ns (the kernel's
 * Documentation/scheduler/sched-stats.rst). */
static bool read_task(pid_t pid, pid_t tid, unsigned long long *ret_ns)
{
	char path[64];
	FILE *file;
	int got;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", (int)pid, (int)tid);
	file = fopen(path, "re");
	if (!file)
		return false;
	got = fscanf(file, "%*u %llu", ret_ns);
	fclose(file);
	return got == 1;
}

static void look_at_task(struct cpu_wait *wait, pid_t pid, pid_t tid, bool is_new)
{
	unsigned long long ns;
	size_t i = 0;

	if (!read_task(pid, tid, &ns))
		return;
	wait->is_counted = true;
	while (i < wait->count && wait->tasks[i].tid != tid)
		i++;
	if (i == CPU_WAIT_TASKS)
		return;
	if (i == wait->count)
		wait->tasks[wait->count++] =
			(struct cpu_wait_task){.tid = tid, .first_ns = is_new ? 0 : ns};
	wait->tasks[i].last_ns = ns;
}

static void look_at(struct cpu_wait *wait, pid_t pid, bool is_new, int depth);

static void look_at_children(struct cpu_wait *wait, pid_t pid, pid_t tid, bool is_new,
			     int depth)
{
	char path[64];
	FILE *file;
	int child;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)tid);
	file = fopen(path, "re");
	while (file && fscanf(file, "%d", &child) == 1)
		look_at(wait, child, is_new, depth + 1);
	if (file)
		fclose(file);
}

/* All threads of a process, and its children. */
static void look_at(struct cpu_wait *wait, pid_t pid, bool is_new, int depth)
{
	const struct dirent *entry;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = depth < DEPTH_MAX ? opendir(path) : NULL;
	while (dir && (entry = readdir(dir))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid <= 0)
			continue;
		look_at_task(wait, pid, tid, is_new);
		look_at_children(wait, pid, tid, is_new, depth);
	}
	if (dir)
		closedir(dir);
}

void cpu_wait_begin(struct cpu_wait *wait, pid_t pid)
{
	*wait = (struct cpu_wait){.pid = pid};
	look_at(wait, pid, false, 0);
	look_at_task(wait, getpid(), getpid(), false);
}

void cpu_wait_look(struct cpu_wait *wait)
{
	look_at(wait, wait->pid, true, 0);
	look_at_task(wait, getpid(), getpid(), false);
}

double cpu_wait_s(const struct cpu_wait *wait)
{
	double sum_s = 0;

	for (size_t i = 0; i < wait->count; i++)
		sum_s +=
			(double)(wait->tasks[i].last_ns - wait->tasks[i].first_ns) * 1e-9;
	return sum_s;
}
