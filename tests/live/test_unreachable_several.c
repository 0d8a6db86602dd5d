// SPDX-License-Identifier: Apache-2.0
/*
 * The search for unreachable blocks in several processes, in children, in namespaces of
 * their own, and in processes that execute another program meanwhile.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "live/trace.h"
#include "process_state.h"
#include "util/cleanup.h"

#define MOMENTS 12

/* `option` besides --unreachable, or NULL. */
static struct live_process *trace(const char *pids, const char *option)
{
	const char *const argv[] = {memtrace_path, "--pid",   pids, "--format",
				    "json",        "--top",   "0",  "-i",
				    "3600",        "--older", "0",  "--unreachable",
				    option,        NULL};
	struct live_process *memtrace = live_start(argv);

	if (!live_wait_stderr(memtrace, "Ctrl-C ends", 60))
		live_fail("no tracing: %s", live_stderr(memtrace));
	return memtrace;
}

static bool is_stopped(pid_t pid)
{
	char state = process_state(pid);

	return state == 't' || state == 'T';
}

static void check_search(const json_t *report, int64_t processes, int64_t lost)
{
	CHECK_INT(live_int(report, "heap.search.unsearched"), 0);
	CHECK_INT(live_int(report, "heap.search.processes"), processes);
	CHECK_INT(live_int(report, "heap.search.lost_blocks"), lost);
	CHECK_INT(live_int(report, "heap.search.lost_but_freed_blocks"), 0);
}

static void two_processes(void)
{
	struct live_process *one = target_start(HOLDER_BINARY);
	struct live_process *other = target_start(HOLDER_BINARY), *memtrace;
	char pids[32];
	json_t *report;

	snprintf(pids, sizeof(pids), "%d,%d", (int)live_pid(one), (int)live_pid(other));
	memtrace = trace(pids, NULL);
	oracle_do(one, "make");
	report = memtrace_report(memtrace);
	check_search(report, 2, 7);
	json_decref(report);
	oracle_do(other, "make");
	report = memtrace_stop(memtrace);
	check_search(report, 2, 14);
	CHECK_INT(live_int(report, "heap.search.held_blocks"), 20);
	json_decref(report);
	oracle_do(one, "work");
	oracle_do(other, "work");
	live_destroy(one);
	live_destroy(other);
}

/* The pid of the only child; 0: it has none yet. */
static pid_t child_of(pid_t pid)
{
	char path[64];
	int child = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);

	_cleanup_(fclosep) FILE *file = fopen(path, "re");

	if (!file || fscanf(file, "%d", &child) != 1)
		return 0;
	return child;
}

/* A program in namespaces of processes and of users. */
static void in_a_container(void)
{
	const char *const argv[] = {
		"/usr/bin/unshare", "--user",       "--map-root-user", "--pid", "--fork",
		"--kill-child",     "--mount-proc", HOLDER_BINARY,     NULL};
	struct live_process *container = live_start(argv);
	_cleanup_(freep) char *ready = live_read_line(container, 60);
	struct live_process *memtrace;
	char pid[16];
	json_t *report;

	REQUIRE(ready);
	snprintf(pid, sizeof(pid), "%d", (int)child_of(live_pid(container)));
	memtrace = trace(pid, NULL);
	oracle_do(container, "make");
	report = memtrace_stop(memtrace);
	check_search(report, 1, 7);
	CHECK_INT(live_int(report, "heap.search.held_blocks"), 10);
	json_decref(report);
	oracle_do(container, "work");
	live_destroy(container);
}

/* A child that is followed, with the program that it executes. */
static void in_a_child(void)
{
	const char *const argv[] = {
		"/bin/sh", "-c",
		"echo '{\"ready\": true}'; read line; " HOLDER_BINARY "; true", NULL};
	struct live_process *shell = live_start(argv), *memtrace;
	_cleanup_(freep) char *ready = live_read_line(shell, 60);
	char pid[16];
	json_t *report;

	REQUIRE(ready);
	snprintf(pid, sizeof(pid), "%d", (int)live_pid(shell));
	memtrace = trace(pid, "--follow-forks");
	json_decref(oracle_ask(shell, "go"));
	oracle_do(shell, "make");
	report = memtrace_stop(memtrace);
	CHECK_INT(live_int(report, "heap.search.unsearched"), 0);
	CHECK_INT(live_int(report, "heap.search.lost_blocks"), 7);
	json_decref(report);
	oracle_do(shell, "work");
	live_destroy(shell);
}

/* At some moments of a search the process executes another program. */
static void an_exec_meanwhile(void)
{
	int missed = 0, before = 0;

	for (int i = 0; i < MOMENTS; i++) {
		const char *const argv[] = {EXECER_BINARY, HOLDER_BINARY, NULL};
		struct live_process *target = live_start(argv), *memtrace;
		_cleanup_(freep) char *ready = live_read_line(target, 60), *again = NULL;
		json_t *report;
		int64_t lost;
		char pid[16];

		REQUIRE(ready);
		snprintf(pid, sizeof(pid), "%d", (int)live_pid(target));
		memtrace = trace(pid, NULL);
		oracle_do(target, "allocate");
		if (i < MOMENTS / 2)
			live_send(target, "exec");
		live_sleep(0.0004 * (i % (MOMENTS / 2)));
		live_signal(memtrace, SIGUSR1);
		if (i >= MOMENTS / 2) {
			live_sleep(0.02 * (i % (MOMENTS / 2)));
			live_send(target, "exec");
		}
		again = live_read_line(target, 60);
		CHECK(again && strstr(again, "ready"));
		report = live_read_json(memtrace, 60);
		REQUIRE(report);
		/* The program has dropped every second pointer. With it the blocks go. */
		lost = live_int(report, "heap.search.lost_blocks");
		CHECK(lost == 50 || !lost);
		CHECK(!lost || !live_int(report, "heap.search.unsearched"));
		missed += live_int(report, "heap.search.unsearched") > 0;
		before += lost > 0;
		json_decref(report);
		/* It goes on, and is searched again. */
		CHECK(!is_stopped(live_pid(target)));
		oracle_do(target, "work");
		report = memtrace_stop(memtrace);
		CHECK_INT(live_int(report, "heap.search.unsearched"), 0);
		/* The exec has ended these blocks: the search made no mistake. */
		CHECK_INT(live_int(report, "heap.search.lost_but_freed_blocks"), 0);
		json_decref(report);
		live_destroy(target);
	}
	printf("of %d searches %d were before the exec, and %d were given up\n", MOMENTS,
	       before, missed);
	CHECK(before > 0);
}

int main(void)
{
	live_require_root();
	RUN(two_processes);
	RUN(in_a_container);
	RUN(in_a_child);
	RUN(an_exec_meanwhile);
	return check_done();
}
