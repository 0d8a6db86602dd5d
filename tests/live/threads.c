/* SPDX-License-Identifier: Apache-2.0 */
#include "live/threads.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "live/files.h"
#include "live/live.h"

/* Reads voluntary_ctxt_switches (proc_pid_status(5)). */
static unsigned long read_wakeups(pid_t pid, const char *tid)
{
	char path[64], line[256];
	unsigned long count = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%.20s/status", (int)pid, tid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file) &&
	       sscanf(line, "voluntary_ctxt_switches: %lu", &count) != 1)
		;
	if (file)
		fclose(file);
	return count;
}

/* What /proc/PID/task/TID/stat says of a thread. */
struct stat_of {
	char name[32];
	unsigned long ticks; /* of processor time */
	unsigned long faults;
	long nice_value;
};

/* Reads fields of proc_pid_stat(5): the name is field 2, minflt 10, utime 14, stime 15,
 * nice 19. The name is in parentheses, and may contain any characters. */
static bool read_stat(pid_t pid, const char *tid, struct stat_of *ret)
{
	char *text = files_read_if_any("/proc/%d/task/%.20s/stat", (int)pid, tid);
	char *name = text ? strchr(text, '(') : NULL,
	     *end = name ? strrchr(name, ')') : NULL;
	unsigned long utime, stime;
	bool is_read = end && sscanf(end + 1,
				     " %*c %*d %*d %*d %*d %*d %*u %lu %*u %*u %*u %lu "
				     "%lu %*d %*d %*d %ld",
				     &ret->faults, &utime, &stime, &ret->nice_value) == 4;

	if (is_read) {
		*end = '\0';
		snprintf(ret->name, sizeof(ret->name), "%s", name + 1);
		ret->ticks = utime + stime;
	}
	free(text);
	return is_read;
}

static void add(struct thread_sums *sums, pid_t pid, const char *tid)
{
	struct stat_of thread;
	double cpu_s;

	if (!read_stat(pid, tid, &thread))
		return;
	cpu_s = (double)thread.ticks / (double)sysconf(_SC_CLK_TCK);
	sums->count++;
	sums->renice += thread.nice_value != 0;
	sums->wakeups += read_wakeups(pid, tid);
	sums->faults += thread.faults;
	if (atoi(tid) == pid)
		sums->main_cpu_s += cpu_s;
	else
		sums->others_cpu_s += cpu_s;
}

/* Calls see() for each thread of the process. */
static void each_thread(pid_t pid, void (*see)(pid_t pid, const char *tid, void *arg),
			void *arg)
{
	char path[32];
	const struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			see(pid, entry->d_name, arg);
	if (dir)
		closedir(dir);
}

static void see_sums(pid_t pid, const char *tid, void *arg)
{
	add(arg, pid, tid);
}

struct thread_sums threads_sum(pid_t pid)
{
	struct thread_sums sums = {0};

	each_thread(pid, see_sums, &sums);
	return sums;
}

struct raised_among {
	const char *const *names; /* NULL: all */
	unsigned count;
};

static void see_raised(pid_t pid, const char *tid, void *arg)
{
	struct raised_among *among = arg;
	bool is_one = !among->names;
	struct stat_of thread;

	if (!read_stat(pid, tid, &thread) || thread.nice_value >= 0)
		return;
	for (size_t i = 0; among->names && among->names[i]; i++)
		is_one |= !strcmp(among->names[i], thread.name);
	among->count += is_one;
}

unsigned threads_raised(pid_t pid, const char *const names[])
{
	struct raised_among among = {names, 0};

	each_thread(pid, see_raised, &among);
	return among.count;
}

/* The first thread of the process with this name; 0: it has none. */
static pid_t find_thread(pid_t pid, const char *name)
{
	char path[32], wanted[32];
	const struct dirent *entry;
	pid_t found = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	snprintf(wanted, sizeof(wanted), "%s\n", name);
	dir = opendir(path);
	while (dir && !found && (entry = readdir(dir))) {
		char *comm;

		if (entry->d_name[0] == '.')
			continue;
		comm = files_read_if_any("/proc/%d/task/%d/comm", (int)pid,
					 atoi(entry->d_name));
		if (comm && !strcmp(comm, wanted))
			found = atoi(entry->d_name);
		free(comm);
	}
	if (dir)
		closedir(dir);
	return found;
}

pid_t thread_stop(pid_t pid, const char *name)
{
	pid_t tid = find_thread(pid, name);
	int status;

	if (!tid)
		live_fail("process %d has no thread %s", (int)pid, name);
	REQUIRE(!ptrace(PTRACE_SEIZE, tid, NULL, NULL));
	REQUIRE(!ptrace(PTRACE_INTERRUPT, tid, NULL, NULL));
	REQUIRE(waitpid(tid, &status, __WALL) == tid && WIFSTOPPED(status));
	return tid;
}

void thread_continue(pid_t tid)
{
	REQUIRE(!ptrace(PTRACE_DETACH, tid, NULL, NULL));
}
