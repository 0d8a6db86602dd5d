// SPDX-License-Identifier: Apache-2.0
/* System-wide tracing: every process that maps a library, including processes that start
 * and end meanwhile. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "live/family.h"

#define TIMEOUT_S 30

static struct probes *probes_before;

static struct live_process *start_once(const char *count, const char *wait_ms)
{
	return family_start(
		(const char *const[]){"once", LOADED_MALLOC, count, "32", wait_ms, NULL});
}

static const char *command_of(const json_t *report, pid_t pid)
{
	const json_t *target = target_of(report, pid);

	return target ? json_string_value(live_get(target, "command")) : NULL;
}

static void check_user(const json_t *report, pid_t pid, int64_t blocks, bool exited)
{
	const json_t *process = by_pid(live_get(report, "heap.processes"), pid);

	if (!process)
		live_fail("process %d is missing from the report: %s", (int)pid,
			  json_dumps(live_get(report, "targets"), 0));
	CHECK_INT(live_int(process, "live_blocks"), blocks);
	CHECK_INT(live_int(process, "live_bytes"), blocks * 32);
	CHECK_STR(command_of(report, pid), "family");
	CHECK(json_is_true(live_get(target_of(report, pid), "exited")) == exited);
}

static void every_user_of_a_library(const char *options)
{
	struct live_process *early = family_start(NULL), *late,
			    *other = family_start(NULL), *unrelated, *brief[3];
	struct live_process *memtrace;
	json_t *report;

	oracle_do(early, "load %s 5 32", LOADED_MALLOC); /* before the attach: not
							  * traced */
	memtrace = memtrace_with("--lib %s --sample-every 1 %s", LOADED_MALLOC, options);
	memtrace_await(memtrace);
	CHECK_CONTAINS(live_stderr(memtrace), "1 at present");
	oracle_do(early, "load %s 100 32", LOADED_MALLOC);
	late = start_once("200", "60000");
	oracle_do(other, "keep 10 32"); /* uses another allocator */
	/* The dynamic linker is in use while memtrace traces. */
	unrelated = family_start(NULL);
	oracle_do(unrelated, "keep 10 32");
	for (size_t i = 0; i < 3; i++) {
		/* memtrace is stopped: only its BPF programs see the last process. */
		if (i == 2)
			live_signal(memtrace, SIGSTOP);
		brief[i] = start_once("30", "20");
		CHECK_INT(live_wait(brief[i], TIMEOUT_S), 0);
	}
	live_signal(memtrace, SIGCONT);
	report = memtrace_report(memtrace);
	check_user(report, live_pid(early), 100, false);
	check_user(report, live_pid(late), 200, false);
	for (size_t i = 0; i < 3; i++)
		check_user(report, live_pid(brief[i]), 30, true);
	CHECK_INT(json_array_size(live_get(report, "targets")), 5);
	CHECK_INT(live_int(report, "heap.totals.allocations"), 100 + 200 + 3 * 30);
	CHECK_STR(json_string_value(live_get(report, "library")), LOADED_MALLOC);
	CHECK_SITE(report, live_pid(late), "site_loaded", 200, 200 * 32);
	check_books(report);
	json_decref(report);

	/* memtrace keeps running when all these processes have ended. */
	family_finish(early);
	family_finish(late);
	json_decref(memtrace_report(memtrace));
	report = memtrace_report(memtrace);
	CHECK_INT(json_array_size(live_get(report, "targets")), 0);
	CHECK_INT(live_int(report, "heap.totals.gone"), 100 + 200 + 3 * 30);
	check_books(report);
	json_decref(report);
	json_decref(memtrace_stop(memtrace));
	live_destroy(early);
	live_destroy(unrelated);
	live_destroy(late);
	live_destroy(other);
	for (size_t i = 0; i < 3; i++)
		live_destroy(brief[i]);
}

static void users_of_one_library(void)
{
	every_user_of_a_library("");
	every_user_of_a_library("--attach perf");
	CHECK(probes_gone(probes_before));
}

/* The base name of a library is enough only if a process maps it. */
static void library_by_name(void)
{
	const char *name = strrchr(LOADED_MALLOC, '/') + 1;
	struct live_process *memtrace = memtrace_with("--lib %s --sample-every 1", name),
			    *user;
	json_t *report;

	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 1);
	CHECK_CONTAINS(live_stderr(memtrace), "name it by its path");
	live_destroy(memtrace);

	user = start_once("10", "60000");
	memtrace = memtrace_with("--lib %s --sample-every 1", name);
	memtrace_await(memtrace);
	report = memtrace_stop(memtrace);
	check_user(report, live_pid(user), 0, false);
	json_decref(report);
	live_destroy(user);

	/* No process maps it yet. */
	memtrace = memtrace_with("--lib %s --sample-every 1", LOADED_MALLOC);
	memtrace_await(memtrace);
	CHECK_CONTAINS(live_stderr(memtrace), "0 at present");
	user = start_once("11", "60000");
	report = memtrace_stop(memtrace);
	check_user(report, live_pid(user), 11, false);
	CHECK_INT(json_array_size(live_get(report, "targets")), 1);
	json_decref(report);
	live_destroy(user);
}

/* The process whose library memtrace found may end before the probes are attached. */
static void users_that_end(void)
{
	const char *const again[] = {"/bin/sh",
				     "-c",
				     "while :; do \"$0\" once \"$1\" 1 32 20; done "
				     ">/dev/null",
				     FAMILY_BINARY,
				     LOADED_MALLOC,
				     NULL};
	struct live_process *shell = live_start(again);

	for (int i = 0; i < 3; i++) {
		struct live_process *memtrace =
			memtrace_with("--lib %s --sample-every 1", LOADED_MALLOC);
		int64_t allocations = 0;

		memtrace_await(memtrace);
		for (int j = 0; j < TIMEOUT_S * 10 && allocations < 3; j++) {
			json_t *report = memtrace_report(memtrace);

			allocations = live_int(report, "heap.totals.allocations");
			CHECK_INT(compare_losses(report, NULL), 0);
			json_decref(report);
			usleep(100000);
		}
		CHECK(allocations >= 3);
		json_decref(memtrace_stop(memtrace));
	}
	live_destroy(shell);
}

/* Is it a helper process of this memtrace? Those of others are traced. */
static bool is_helper(const json_t *target, pid_t memtrace)
{
	const char *command = json_string_value(json_object_get(target, "command"));
	char line[256];
	int parent = 0;
	FILE *file;

	if (!command || strncmp(command, "memtrace-", strlen("memtrace-")))
		return false;
	snprintf(line, sizeof(line), "/proc/%d/status", (int)live_int(target, "pid"));
	file = fopen(line, "re");
	while (file && !parent && fgets(line, sizeof(line), file))
		sscanf(line, "PPid: %d", &parent);
	if (file)
		fclose(file);
	return parent == memtrace;
}

/* libc is used by all processes, including memtrace and its helper processes. These must
 * not be in the report. Stacks of whole programs, such as a compiler at work, would take
 * a minute. */
static void never_itself(void)
{
	const json_t *each;
	size_t i;

	struct live_process *target = family_start(NULL), *memtrace;
	json_t *report;

	memtrace = memtrace_with("--all --lib libc.so.6 --sample-every 1 "
				 "--unwind fp --no-lines");
	memtrace_await(memtrace);
	oracle_do(target, "keep 25 48");
	json_decref(memtrace_report(memtrace));
	oracle_do(target, "keep 25 48");
	report = memtrace_report(memtrace);
	CHECK(!target_of(report, live_pid(memtrace)));
	CHECK(target_of(report, getpid()));
	json_array_foreach (live_get(report, "targets"), i, each)
		CHECK(!is_helper(each, live_pid(memtrace)));
	/* No check of the whole report: other processes of the machine allocate
	 * meanwhile. */
	CHECK_SITE(report, live_pid(target), "site_keep", 50, 50 * 48);
	json_decref(report);
	json_decref(memtrace_stop(memtrace));
	live_destroy(target);
}

int main(void)
{
	live_require_root();
	probes_before = probes_find();
	RUN_WITH_RETURN_PROBES(users_of_one_library);
	RUN(library_by_name);
	RUN(users_that_end);
	RUN(never_itself);
	probes_destroy(probes_before);
	return check_done();
}
