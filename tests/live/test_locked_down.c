// SPDX-License-Identifier: Apache-2.0
/*
 * A kernel in lockdown=confidentiality, or its imitation by targets/locked_down.c.
 * Whatever the options are, memtrace says so in one line, exits with status 1 and leaves
 * nothing behind.
 */
#include <string.h>

#include "check.h"
#include "live/trace.h"

#define TIMEOUT_S 30

static struct live_process *target;
static struct probes *probes_before;

/* Starts it with `words`. The word "PID" is replaced by the target's pid. */
static struct live_process *start_locked_down(const char *words)
{
	char text[256], pid[16], *save = NULL;
	const char *argv[16] = {LOCKED_DOWN_BINARY, memtrace_path};
	size_t n = 2;

	snprintf(pid, sizeof(pid), "%d", (int)live_pid(target));
	snprintf(text, sizeof(text), "%s", words);
	for (char *word = strtok_r(text, " ", &save); word;
	     word = strtok_r(NULL, " ", &save))
		argv[n++] = strcmp(word, "PID") ? word : pid;
	argv[n] = NULL;
	return live_start(argv);
}

static void one_line(void)
{
	static const char *const runs[] = {
		"-p PID",
		"-p PID --unwind fp",
		"-p PID --attach perf",
		"-p PID --with-kernel",
		"-p PID --growth",
		"-p PID --event uprobe:oracle:main",
		"-- /bin/true",
		"--kernel",
		"--kernel --attach perf",
		"--kernel -p PID",
		"--all --event profile:hz:99",
		"--all --event software:page-faults:1 --kernel-stacks",
		"--all --event tracepoint:syscalls:sys_enter_mmap",
		"--all --event kprobe:do_exit",
	};

	for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++) {
		struct live_process *memtrace = start_locked_down(runs[i]);
		int status = live_wait(memtrace, TIMEOUT_S);
		const char *text = live_skip_unfiltered(live_stderr(memtrace));
		const char *end = strchr(text, '\n');

		if (status != 1 || !strstr(text, "lockdown=confidentiality") || !end ||
		    end[1])
			CHECK_FAIL("%s: status %d, '%s'", runs[i], status, text);

		char *line = live_read_line(memtrace, 0.1);

		CHECK(!line);
		free(line);
		live_destroy(memtrace);
	}
	CHECK(probes_gone(probes_before));
	CHECK(live_is_running(target));
}

/* Options that load no BPF program work. */
static void dry_run(void)
{
	struct live_process *memtrace = start_locked_down("-p PID --dry-run");

	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	CHECK_STR(live_skip_unfiltered(live_stderr(memtrace)), "");
	live_destroy(memtrace);
}

int main(void)
{
	live_require_root();
	probes_before = probes_find();
	target = oracle_start();
	RUN(one_line);
	RUN(dry_run);
	live_destroy(target);
	probes_destroy(probes_before);
	return check_done();
}
