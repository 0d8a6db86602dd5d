// SPDX-License-Identifier: Apache-2.0
/* The stops of a search for unreachable blocks: who refuses them, and who ends within. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "live/searched.h"
#include "live/trace.h"
#include "process_state.h"
#include "util/cleanup.h"

#define SEARCHES 100

/* Under a debugger a process cannot be searched: the report says so, and is whole. */
static void another_tracer_is_said(void)
{
	struct live_process *target, *memtrace = searched_start("--unreachable", &target);
	pid_t pid = live_pid(target), debugger = fork();
	json_t *report;

	REQUIRE(debugger >= 0);
	if (!debugger) {
		if (ptrace(PTRACE_SEIZE, pid, NULL, NULL))
			_exit(1);
		for (;;)
			pause();
	}
	live_sleep(0.5);
	report = memtrace_report(memtrace);
	CHECK_INT(live_int(report, "heap.search.unsearched"), 1);
	CHECK_INT(live_int(report, "heap.search.lost_blocks"), 0);
	CHECK(live_int(report, "heap.live_blocks") > 30);
	CHECK_CONTAINS(live_stderr(memtrace), "is being traced by process");
	json_decref(report);
	kill(debugger, SIGKILL);
	REQUIRE(waitpid(debugger, NULL, 0) == debugger);
	oracle_do(target, "work");
	report = memtrace_stop(memtrace);
	CHECK_INT(live_int(report, "heap.search.lost_blocks"), 7);
	json_decref(report);
	live_destroy(target);
}

/* A report without verdicts: one line says why. */
static void check_unsearched(const json_t *report, struct live_process *memtrace,
			     const char *why)
{
	const char *line = strstr(live_stderr(memtrace), why);

	CHECK_INT(live_int(report, "heap.search.unsearched"), 1);
	CHECK_INT(live_int(report, "heap.search.lost_blocks"), 0);
	CHECK_INT(live_int(report, "heap.search.possible_blocks"), 0);
	CHECK_INT(live_int(report, "heap.search.unverified_blocks"), 0);
	CHECK(live_int(report, "heap.live_blocks") > 30);
	if (!line)
		live_fail("not said: %s\n%s", why, live_stderr(memtrace));
	CHECK(line && !strstr(line + 1, why));
}

/* A thread that waits in the kernel, where no signal reaches it, does not stop. */
static void uninterruptible_sleep_is_said(void)
{
	struct live_process *target, *memtrace = searched_start("--unreachable", &target);
	_cleanup_(freep) char *answer = NULL;
	json_t *report;

	live_send(target, "vfork");
	for (int i = 0; i < 1000 && process_state(live_pid(target)) != 'D'; i++)
		live_sleep(0.001);
	REQUIRE(process_state(live_pid(target)) == 'D');
	report = memtrace_report(memtrace);
	check_unsearched(report, memtrace, "does not stop: it waits in the kernel");
	json_decref(report);
	/* It goes on, and stops next time. */
	answer = live_read_line(target, 60);
	REQUIRE(answer);
	oracle_do(target, "work");
	report = memtrace_stop(memtrace);
	CHECK_INT(live_int(report, "heap.search.unsearched"), 0);
	CHECK_INT(live_int(report, "heap.search.lost_blocks"), 7);
	json_decref(report);
	live_destroy(target);
}

/* The kernel may refuse ptrace(2). */
static void a_refused_stop_is_said(void)
{
	struct live_process *target = target_start(HOLDER_BINARY), *memtrace;
	char pid[16];
	json_t *report;

	snprintf(pid, sizeof(pid), "%d", (int)live_pid(target));

	const char *const argv[] = {WITHOUT_PTRACE_BINARY,
				    memtrace_path,
				    "--pid",
				    pid,
				    "--format",
				    "json",
				    "--top",
				    "0",
				    "-i",
				    "3600",
				    "--older",
				    "0",
				    "--unreachable",
				    NULL};

	memtrace = live_start(argv);
	REQUIRE(live_wait_stderr(memtrace, "Ctrl-C ends", 60));
	oracle_do(target, "make");
	report = memtrace_report(memtrace);
	check_unsearched(report, memtrace, "does not let memtrace stop process");
	json_decref(report);
	json_decref(memtrace_stop(memtrace));
	oracle_do(target, "work");
	live_destroy(target);
}

/* A program under search answers each request. */
static void a_hundred_searches(void)
{
	struct live_process *target, *memtrace = searched_start("--unreachable", &target);
	double longest_s = 0;

	for (int i = 0; i < SEARCHES; i++) {
		json_t *report;
		double before_s;

		live_signal(memtrace, SIGUSR1);
		for (int k = 0; k < 5; k++) {
			before_s = live_now_s();
			oracle_do(target, "work");
			if (live_now_s() - before_s > longest_s)
				longest_s = live_now_s() - before_s;
		}
		report = live_read_json(memtrace, 60);
		REQUIRE(report);
		CHECK_INT(live_int(report, "heap.search.lost_blocks"), 7);
		CHECK_INT(live_int(report, "heap.search.lost_but_freed_blocks"), 0);
		json_decref(report);
	}
	printf("the slowest of %d answers took %.1f ms\n", 5 * SEARCHES, longest_s * 1e3);
	json_decref(memtrace_stop(memtrace));
	live_destroy(target);
}

/* A process that is killed while it is searched, and one that executes another
 * program. */
static void the_process_ends_meanwhile(void)
{
	for (int i = 0; i < 10; i++) {
		struct live_process *target,
			*memtrace = searched_start("--unreachable", &target);

		live_signal(memtrace, SIGUSR1);
		live_sleep(0.002 * i);
		live_signal(target, SIGKILL);
		CHECK_INT(live_wait(memtrace, 60), 0);
		live_destroy(memtrace);
		live_destroy(target);
	}
}

/* The process that stops this one; 0: none does. */
static pid_t tracer_of(pid_t pid)
{
	char path[32], line[256];
	int tracer = 0;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);

	_cleanup_(fclosep) FILE *file = fopen(path, "re");

	REQUIRE(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "TracerPid: %d", &tracer) == 1)
			break;
	return tracer;
}

/* Let memtrace search until its child has stopped the target, and hold the child there.
 * Returns the child. */
static pid_t hold_within_a_stop(struct live_process *memtrace, pid_t target)
{
	double until_s = live_now_s() + 60;

	while (live_now_s() < until_s) {
		double again_s = live_now_s() + 1;
		pid_t child = 0;

		live_signal(memtrace, SIGUSR1);
		while (!child && live_now_s() < again_s)
			child = tracer_of(target);
		if (!child || kill(child, SIGSTOP))
			continue;
		live_sleep(0.01);
		if (tracer_of(target) == child && process_state(target) == 't')
			return child;
		kill(child, SIGCONT);
	}
	live_fail("process %d is never found stopped", (int)target);
}

/* The kernel lets the process go on, and no process of memtrace is left. */
static void memtrace_is_killed_within(void)
{
	struct live_process *target, *memtrace = searched_start("--unreachable", &target);
	pid_t child = hold_within_a_stop(memtrace, live_pid(target));

	CHECK_INT(process_state(live_pid(target)), 't');
	live_signal(memtrace, SIGKILL);
	for (int i = 0; i < 1000 && !kill(child, 0); i++)
		live_sleep(0.01);
	CHECK(kill(child, 0) != 0);
	CHECK_INT(tracer_of(live_pid(target)), 0);
	oracle_do(target, "work");
	live_destroy(memtrace);
	live_destroy(target);
}

int main(void)
{
	live_require_root();
	RUN(another_tracer_is_said);
	RUN(uninterruptible_sleep_is_said);
	RUN(a_refused_stop_is_said);
	RUN(a_hundred_searches);
	RUN(the_process_ends_meanwhile);
	RUN(memtrace_is_killed_within);
	return check_done();
}
