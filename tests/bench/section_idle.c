// SPDX-License-Identifier: Apache-2.0
/* What memtrace costs while its target sleeps: on a machine that is otherwise idle, and
 * while another process starts programs all the time. */
#include "bench.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "neighbour.h"
#include "table.h"
#include "tool.h"

/* memtrace looks around often for the first 2 s. */
#define SETTLE_MS 4000
#define IDLE_MS   10000

/* Sums over the threads of a process. */
struct work {
	double wakeups; /* voluntary context switches */
	double cpu_ns;
};

/* Adds a number of /proc/PID/task/TID/FILE: the one that the format finds in a line. */
static void add_number(const struct child *child, const char *tid, const char *file,
		       const char *format, double *sum)
{
	char path[128], line[256];
	double value;
	FILE *opened;

	snprintf(path, sizeof(path), "/proc/%d/task/%.20s/%s", (int)child->pid, tid,
		 file);
	opened = fopen(path, "re");
	while (opened && fgets(line, sizeof(line), opened)) {
		value = 0;
		if (!strncmp(line, format, strcspn(format, "%")) &&
		    sscanf(line + strcspn(format, "%"), "%lf", &value) == 1) {
			*sum += value;
			break;
		}
	}
	if (opened)
		fclose(opened);
}

static struct work work_of(const struct child *child)
{
	struct work work = {0};
	char path[64];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)child->pid);
	dir = opendir(path);
	if (!dir)
		die("cannot read %s: %s", path, strerror(errno));
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		add_number(child, entry->d_name, "status", "voluntary_ctxt_switches:%",
			   &work.wakeups);
		add_number(child, entry->d_name, "schedstat", "%", &work.cpu_ns);
	}
	closedir(dir);
	return work;
}

/* Work in a second. */
static struct work measure(const char *const options[], bool is_busy)
{
	struct target target = target_start();
	struct tracing tracing = tool_start(TOOL_MEMTRACE, &target, options);
	pid_t neighbour = is_busy ? neighbour_start() : 0;
	struct work before, after;

	if (neighbour < 0)
		die("fork: %s", strerror(errno));
	target_fill(&target, 1000, 100);
	sleep_ms(SETTLE_MS);
	before = work_of(&tracing.child);
	sleep_ms(IDLE_MS);
	after = work_of(&tracing.child);
	if (neighbour) {
		kill(neighbour, SIGKILL);
		waitpid(neighbour, NULL, 0);
	}
	child_discard(&tracing.child);
	tool_stop(&tracing, NULL);
	target_stop(&target);
	return (struct work){
		.wakeups = (after.wakeups - before.wakeups) / (IDLE_MS / 1000),
		.cpu_ns = (after.cpu_ns - before.cpu_ns) / (IDLE_MS / 1000),
	};
}

void section_idle(void)
{
	static const char *const hourly[] = {"--interval", "3600", NULL};
	static const char *const every_second[] = {"--interval", "1", "-o", "/dev/null",
						   NULL};
	static const struct {
		const char *name;
		const char *const *options;
		bool is_busy;
	} cases[] = {
		{"no report", hourly, false},
		{"a report each second", every_second, false},
		{"no report, programs start", hourly, true},
		{"a report each second, the same", every_second, true},
	};

	printf("\nWhile the target sleeps, in a second\n%-34s %12s %16s\n", "", "wakeups",
	       "of a core, %");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct work w = measure(cases[i].options, cases[i].is_busy);

		printf("%-34s %12.1f %16.3f\n", cases[i].name, w.wakeups, w.cpu_ns / 1e7);
	}
}
