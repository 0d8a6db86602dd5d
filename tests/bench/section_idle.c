// SPDX-License-Identifier: Apache-2.0
/* What tracers cost while its target sleeps: on a machine that is otherwise idle, and
 * while another process starts programs all the time. */
#include "bench.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "neighbour.h"
#include "tool.h"
#include "tree.h"

/* memtrace looks around often for the first 2 s. */
#define SETTLE_MS 4000
#define IDLE_MS   10000

#define HOURLY    3600

struct idle_case {
	enum tool tool;
	const char *name;
	unsigned interval_s;
	bool is_busy;      /* another process starts programs */
	bool has_children; /* --follow-forks */
};

/* Work in a second. */
static struct tree_work measure(const struct idle_case *idle)
{
	const char *const to_nothing[] = {
		"-o", "/dev/null", idle->has_children ? "--follow-forks" : NULL, NULL};
	static const char *const none[] = {NULL};
	struct target target = target_start();
	struct tracing tracing = tool_start_reporting(
		idle->tool, &target, idle->tool == TOOL_MEMTRACE ? to_nothing : none,
		idle->interval_s);
	pid_t neighbour = idle->is_busy ? neighbour_start() : 0;
	struct tree_work before, after;

	if (neighbour < 0)
		die("fork: %s", strerror(errno));
	target_fill(&target, 1000, 100);
	sleep_ms(SETTLE_MS);
	before = tree_work(tracing.child.pid);
	sleep_ms(IDLE_MS);
	after = tree_work(tracing.child.pid);
	if (neighbour) {
		kill(neighbour, SIGKILL);
		waitpid(neighbour, NULL, 0);
	}
	child_discard(&tracing.child);
	tool_stop(&tracing);
	target_stop(&target);
	return (struct tree_work){
		.wakeups = (after.wakeups - before.wakeups) / (IDLE_MS / 1000),
		.cpu_ns = (after.cpu_ns - before.cpu_ns) / (IDLE_MS / 1000),
	};
}

void section_idle(const struct peers *peers)
{
	static const struct idle_case cases[] = {
		{TOOL_MEMTRACE, "no report", HOURLY, false, false},
		{TOOL_MEMLEAK, "no report", HOURLY, false, false},
		{TOOL_BPFTRACE, "no report", HOURLY, false, false},
		{TOOL_MEMTRACE, "a report each second", 1, false, false},
		{TOOL_MEMTRACE, "the same with --follow-forks", 1, false, true},
		{TOOL_MEMLEAK, "a report each second", 1, false, false},
		{TOOL_BPFTRACE, "a report each second", 1, false, false},
		{TOOL_MEMTRACE, "no report, programs start", HOURLY, true, false},
		{TOOL_MEMTRACE, "a report each second, the same", 1, true, false},
	};

	printf("\nWhile the target sleeps, in a second\n%-34s %-14s %12s %16s\n", "", "",
	       "wakeups", "of a core, %");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		printf("%-34s %-14s ", cases[i].name, tool_name(cases[i].tool));
		if (cases[i].tool != TOOL_MEMTRACE && !peers->has[cases[i].tool]) {
			printf("%12s\n", "not available");
			continue;
		}
		fflush(stdout);

		struct tree_work w = measure(&cases[i]);

		printf("%12.1f %16.3f\n", w.wakeups, w.cpu_ns / 1e7);
		fflush(stdout);
	}
}
