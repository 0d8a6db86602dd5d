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
	bool is_busy; /* another process starts programs */
	bool is_kernel;
	const char *options[4];
};

/* memtrace --kernel has no target. */
#define KERNEL_START_MS 3000

static struct tracing start_kernel(unsigned interval_s)
{
	char interval[16];
	const char *const argv[] = {MEMTRACE_BINARY, "--kernel", "-o", "/dev/null",
				    "--interval",    interval,   NULL};
	struct tracing tracing = {.first_probe_ms = -1, .all_probes_ms = -1};

	snprintf(interval, sizeof(interval), "%u", interval_s);
	tracing.child = child_start(argv);
	sleep_ms(KERNEL_START_MS);
	return tracing;
}

static struct tracing start(const struct idle_case *idle, const struct target *target)
{
	static const char *const none[] = {NULL};
	const char *options[8] = {"-o", "/dev/null"};

	if (idle->is_kernel)
		return start_kernel(idle->interval_s);
	for (size_t i = 0; idle->options[i]; i++)
		options[2 + i] = idle->options[i];
	return tool_start_reporting(idle->tool, target,
				    idle->tool == TOOL_MEMTRACE ? options : none,
				    idle->interval_s);
}

/* Work in a second. */
static struct tree_work measure(const struct idle_case *idle)
{
	struct target target = target_start();
	struct tracing tracing = start(idle, &target);
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
		{.tool = TOOL_MEMTRACE, .name = "no report", .interval_s = HOURLY},
		{.tool = TOOL_MEMLEAK, .name = "no report", .interval_s = HOURLY},
		{.tool = TOOL_BPFTRACE, .name = "no report", .interval_s = HOURLY},
		{.tool = TOOL_MEMTRACE, .name = "a report each second", .interval_s = 1},
		{.tool = TOOL_MEMTRACE,
		 .name = "the same with --follow-forks",
		 .interval_s = 1,
		 .options = {"--follow-forks"}},
		{.tool = TOOL_MEMTRACE,
		 .name = "the same with --growth",
		 .interval_s = 1,
		 .options = {"--growth"}},
		{.tool = TOOL_MEMTRACE,
		 .name = "the same with --event",
		 .interval_s = 1,
		 .options = {"--event", "uprobe:libc:malloc"}},
		{.tool = TOOL_MEMTRACE,
		 .name = "the same with --kernel",
		 .interval_s = 1,
		 .is_kernel = true},
		{.tool = TOOL_MEMLEAK, .name = "a report each second", .interval_s = 1},
		{.tool = TOOL_BPFTRACE, .name = "a report each second", .interval_s = 1},
		{.tool = TOOL_MEMTRACE,
		 .name = "no report, --growth",
		 .interval_s = HOURLY,
		 .options = {"--growth"}},
		{.tool = TOOL_MEMTRACE,
		 .name = "no report, --event",
		 .interval_s = HOURLY,
		 .options = {"--event", "uprobe:libc:malloc"}},
		{.tool = TOOL_MEMTRACE,
		 .name = "no report, --kernel",
		 .interval_s = HOURLY,
		 .is_kernel = true},
		{.tool = TOOL_MEMTRACE,
		 .name = "no report, programs start",
		 .interval_s = HOURLY,
		 .is_busy = true},
		{.tool = TOOL_MEMTRACE,
		 .name = "a report each second, the same",
		 .interval_s = 1,
		 .is_busy = true},
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
