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

/* Adds the fields of proc_pid_stat(5): utime is field 14, stime 15, nice 19. The scan
 * starts behind the name, which may contain any characters. */
static void add(struct thread_sums *sums, pid_t pid, const char *tid)
{
	char path[64], text[1024];
	unsigned long utime, stime;
	long nice_value;
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/task/%.20s/stat", (int)pid, tid);
	file = fopen(path, "re");
	if (!file)
		return;
	n = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[n] = '\0';

	const char *rest = strrchr(text, ')');

	if (!rest || sscanf(rest + 1,
			    " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %*d "
			    "%*d %*d %ld",
			    &utime, &stime, &nice_value) != 3)
		return;

	double cpu_s = (double)(utime + stime) / (double)sysconf(_SC_CLK_TCK);

	sums->count++;
	sums->renice += nice_value != 0;
	sums->wakeups += read_wakeups(pid, tid);
	if (atoi(tid) == pid)
		sums->main_cpu_s += cpu_s;
	else
		sums->others_cpu_s += cpu_s;
}

struct thread_sums threads_sum(pid_t pid)
{
	struct thread_sums sums = {0};
	char path[32];
	const struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			add(&sums, pid, entry->d_name);
	if (dir)
		closedir(dir);
	return sums;
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
