// SPDX-License-Identifier: Apache-2.0
/*
 * Return probes in processes that they could kill. If the kernel's trampoline does not
 * pass, or cannot be tested, memtrace puts no return probe into such a process.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "attach/trampoline.h"
#include "check.h"
#include "live/trace.h"
#include "live/trampoline.h"

#define TIMEOUT_S 60
#define CALLS     500
#define EVENT     "--event uretprobe:half_confined:work "
#define UNTESTED  "could not test"

static struct probes *probes_before;
static enum trampoline_verdict verdict;

static struct live_process *start_target(bool is_confined)
{
	struct live_process *target = target_start(HALF_CONFINED_BINARY);

	if (is_confined)
		oracle_do(target, "confine");
	return target;
}

/* Starts memtrace with these options where it cannot test the kernel. "A" and "B" stand
 * for the pids. */
static struct live_process *start_untested(const char *words, pid_t a, pid_t b)
{
	char text[512], pids[40], *save = NULL;
	const char *argv[24] = {WITHOUT_SECCOMP_BINARY, memtrace_path};
	size_t n = 2;

	snprintf(pids, sizeof(pids), b ? "%d,%d" : "%d", (int)a, (int)b);
	snprintf(text, sizeof(text), "%s", words);
	for (char *word = strtok_r(text, " ", &save); word && n < 23;
	     word = strtok_r(NULL, " ", &save))
		argv[n++] = strcmp(word, "PIDS") ? word : pids;
	argv[n] = NULL;
	return live_start(argv);
}

#define REPORT "--format json --top 0 -i 3600 "

/* Ends memtrace. Returns its final report. */
static json_t *stop(struct live_process *memtrace)
{
	json_t *report;

	live_signal(memtrace, SIGINT);
	report = live_read_json(memtrace, TIMEOUT_S);
	if (!report)
		live_fail("no report: %s", live_stderr(memtrace));
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	live_destroy(memtrace);
	return report;
}

static void await_start(struct live_process *memtrace)
{
	if (!live_wait_stderr(memtrace, "Ctrl-C ends", TIMEOUT_S))
		live_fail("memtrace did not start: %s", live_stderr(memtrace));
}

/* Checks that both threads of the target still execute commands. */
static void check_alive(struct live_process *target)
{
	oracle_do(target, "calls %d", CALLS);
	oracle_do(target, "thread %d", CALLS);
	CHECK(live_is_running(target));
}

static void check_one_line(struct live_process *memtrace, const char *one,
			   const char *other)
{
	const char *text;

	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 1);
	text = live_skip_unfiltered(live_stderr(memtrace));
	CHECK_CONTAINS(text, one);
	CHECK_CONTAINS(text, other);
	CHECK(strchr(text, '\n') && !strchr(text, '\n')[1]);
	live_destroy(memtrace);
}

/* If the kernel's trampoline passes, memtrace uses return probes despite the filter. */
static void a_filter_of_the_second_thread(void)
{
	struct live_process *target = start_target(true);
	struct live_process *memtrace =
		memtrace_start_plain(live_pid(target), REPORT EVENT);

	if (verdict == TRAMPOLINE_PASSES) {
		json_t *report;

		await_start(memtrace);
		CHECK(trampoline_links(live_pid(memtrace)) > 0);
		CHECK(!strstr(live_stderr(memtrace), "warning"));
		check_alive(target);
		report = stop(memtrace);
		CHECK_INT(live_int(report, "events.count"), 2 * CALLS);
		json_decref(report);
	} else {
		check_one_line(memtrace, "is not traced", "seccomp filter");
	}
	check_alive(target);
	live_destroy(target);
	CHECK(probes_gone(probes_before));
}

/* SIGSYS would kill the process when the second thread first returns. */
static void syscall_user_dispatch(void)
{
	enum trampoline_verdict found = trampoline_test_dispatch();
	struct live_process *target = start_target(false), *memtrace;

	CHECK(found != TRAMPOLINE_UNTESTED);
	printf("     return probes %s syscall user dispatch here\n",
	       found == TRAMPOLINE_PASSES ? "pass" : "do not pass");
	oracle_do(target, "dispatch");
	check_alive(target);
	memtrace = memtrace_start_plain(live_pid(target), REPORT EVENT);
	if (found == TRAMPOLINE_PASSES) {
		json_t *report;

		await_start(memtrace);
		check_alive(target);
		report = stop(memtrace);
		CHECK_INT(live_int(report, "events.count"), 2 * CALLS);
		json_decref(report);
	} else {
		check_one_line(memtrace, "is not traced", "syscall user dispatch");
	}
	check_alive(target);
	live_destroy(target);
	CHECK(probes_gone(probes_before));
}

/* The second thread begins to use syscall user dispatch after the attach. */
static void syscall_user_dispatch_after_the_attach(void)
{
	struct live_process *target = start_target(false);
	struct live_process *memtrace =
		memtrace_start_plain(live_pid(target), REPORT EVENT);

	await_start(memtrace);
	check_alive(target);
	oracle_do(target, "dispatch");
	if (trampoline_test_dispatch() != TRAMPOLINE_PASSES)
		CHECK(live_wait_stderr(memtrace, "has lost its probes", TIMEOUT_S));
	json_decref(stop(memtrace));
	check_alive(target);
	live_destroy(target);
	CHECK(probes_gone(probes_before));
}

/* A process that is not the target uses it. The return probes would be in all
 * processes. */
static void syscall_user_dispatch_elsewhere(void)
{
	const char *const argv[] = {memtrace_path, "--all", "--event",
				    "uretprobe:" HALF_CONFINED_BINARY ":work", NULL};
	struct live_process *other = start_target(false), *target = start_target(false);
	bool passes = trampoline_test_dispatch() == TRAMPOLINE_PASSES;
	const char *refusal =
		verdict != TRAMPOLINE_PASSES ? "seccomp filter" : "syscall user dispatch";

	oracle_do(other, "dispatch");
	if (passes && verdict == TRAMPOLINE_PASSES) {
		printf("     nothing to refuse on this kernel\n");
	} else {
		check_one_line(
			memtrace_start_plain(live_pid(target), "--follow-forks " EVENT),
			"all processes that map the file", refusal);
		check_one_line(live_start(argv), "all processes that map the file",
			       refusal);
	}
	check_alive(other);
	live_destroy(other);
	live_destroy(target);
	CHECK(probes_gone(probes_before));
}

static void refused_without_a_test(void)
{
	static const char *const runs[] = {
		("-p PIDS " EVENT),
		/* These options need return probes for all functions. */
		"-p PIDS --attach perf",
		"-p PIDS --tables hashes",
	};
	struct live_process *target = start_target(true);
	char name[64];

	snprintf(name, sizeof(name), "pid %d (half_confined) is not traced",
		 (int)live_pid(target));
	for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++) {
		struct live_process *memtrace =
			start_untested(runs[i], live_pid(target), 0);

		check_one_line(memtrace, name, UNTESTED);
		check_alive(target);
	}
	live_destroy(target);
	CHECK(probes_gone(probes_before));
}

/* Without a target the probes are in all processes, and one of them may have a filter. */
static void refused_for_all(void)
{
	struct live_process *target = start_target(false);

	check_one_line(
		start_untested("-p PIDS --follow-forks " EVENT, live_pid(target), 0),
		"all processes that map the file", UNTESTED);
	check_one_line(start_untested("--all --event uretprobe:" HALF_CONFINED_BINARY
				      ":work",
				      1, 0),
		       "all processes that map the file", UNTESTED);
	check_alive(target);
	live_destroy(target);
	CHECK(probes_gone(probes_before));
}

static void others_go_on(void)
{
	struct live_process *confined = start_target(true), *free = start_target(false);
	struct live_process *memtrace = start_untested(
		REPORT "-p PIDS " EVENT, live_pid(confined), live_pid(free));
	char name[64];
	json_t *report;

	await_start(memtrace);
	snprintf(name, sizeof(name), "pid %d (half_confined) is not traced",
		 (int)live_pid(confined));
	CHECK_CONTAINS(live_stderr(memtrace), name);
	snprintf(name, sizeof(name), "tracing pid %d", (int)live_pid(free));
	CHECK_CONTAINS(live_stderr(memtrace), name);
	check_alive(confined);
	check_alive(free);
	report = stop(memtrace);
	CHECK_INT(live_int(report, "events.count"), 2 * CALLS);
	CHECK_INT(json_array_size(live_get(report, "targets")), 1);
	json_decref(report);
	live_destroy(confined);
	live_destroy(free);
	CHECK(probes_gone(probes_before));
}

/* memtrace does not test the kernel for a process without a filter. */
static void used_without_a_filter(void)
{
	struct live_process *target = start_target(false);
	struct live_process *memtrace =
		start_untested(REPORT "-p PIDS " EVENT, live_pid(target), 0);
	json_t *report;

	await_start(memtrace);
	CHECK(trampoline_links(live_pid(memtrace)) > 0);
	check_alive(target);
	report = stop(memtrace);
	CHECK_INT(live_int(report, "events.count"), 2 * CALLS);
	json_decref(report);
	live_destroy(target);
	CHECK(probes_gone(probes_before));
}

#ifdef THROWER_BINARY
/* An exception could not pass the return probe. */
static void a_program_with_exceptions_is_warned_of(void)
{
	static const char warning[] = "a return probe changes its stack";
	const char *const argv[] = {THROWER_BINARY, "own", NULL};
	const char *const kinds[] = {"uretprobe", "uprobe"};

	for (size_t i = 0; i < 2; i++) {
		struct live_process *target = live_start(argv), *memtrace;
		char options[128];

		json_decref(live_read_json(target, TIMEOUT_S));
		snprintf(options, sizeof(options), REPORT "--event %s:libc.so.6:getppid",
			 kinds[i]);
		memtrace = memtrace_start_plain(live_pid(target), options);
		await_start(memtrace);
		if (i == 0)
			CHECK(live_wait_stderr(memtrace, warning, TIMEOUT_S));
		live_signal(memtrace, SIGINT);
		json_decref(live_read_json(memtrace, TIMEOUT_S));
		CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
		CHECK(!strstr(live_stderr(memtrace), warning) == (i == 1));
		live_destroy(memtrace);
		live_destroy(target);
	}
}
#endif

/* Waits for the end of the messages of -v about the start. */
static void await_verbose(struct live_process *memtrace)
{
	if (!live_wait_stderr(memtrace, "attached by", TIMEOUT_S))
		live_fail("memtrace did not start: %s", live_stderr(memtrace));
}

/* Counts the main thread's returns through the trampoline from now on. */
static int count_returns(struct live_process *target)
{
	return trampoline_open(live_pid(target));
}

static void check_returns(int counter, uint64_t want)
{
	if (counter < 0)
		return;
	CHECK_INT(trampoline_returns(counter), want);
	close(counter);
}

/* With --mappings glibc's free gets a return probe if the process allows it. If memtrace
 * traces two processes and one does not allow it, neither gets one: the probe would be in
 * both. */
static void allocators(void)
{
	struct live_process *confined = start_target(true), *free = start_target(false);
	struct live_process *memtrace = start_untested(
		REPORT "-v -p PIDS --mappings", live_pid(confined), live_pid(free));
	json_t *report;

	int returns = count_returns(free);

	await_verbose(memtrace);
	CHECK_CONTAINS(live_stderr(memtrace), "no return probes are used: a thread has");
	CHECK_CONTAINS(live_stderr(memtrace),
		       "no return probes are used: they are not safe in another");
	CHECK_CONTAINS(live_stderr(memtrace), UNTESTED);
	check_alive(confined);
	check_alive(free);
	check_returns(returns, 0);
	report = stop(memtrace);
	CHECK_INT(live_int(report, "heap.totals.allocations"), 4 * CALLS);
	CHECK_INT(live_int(report, "heap.totals.frees"), 4 * CALLS);
	json_decref(report);
	live_destroy(confined);
	live_destroy(free);
	CHECK(probes_gone(probes_before));
}

/* A single process without a filter: the return probe is cheaper there. */
static void allocator_without_a_filter(void)
{
	struct live_process *target = start_target(false);
	struct live_process *memtrace =
		start_untested(REPORT "-v -p PIDS --mappings", live_pid(target), 0);
	json_t *report;

	int returns = count_returns(target);

	await_verbose(memtrace);
	CHECK_CONTAINS(live_stderr(memtrace), "free has a return probe");
	check_alive(target);
	oracle_do(target, "confine");
	CHECK(live_wait_stderr(memtrace, "is probed anew", TIMEOUT_S));
	CHECK_CONTAINS(live_stderr(memtrace), "has lost its probes");
	check_alive(target);
	check_returns(returns, CALLS);
	report = stop(memtrace);
	CHECK_INT(live_int(report, "heap.totals.allocations"), 4 * CALLS);
	CHECK_INT(live_int(report, "heap.totals.frees"), 4 * CALLS);
	json_decref(report);
	live_destroy(target);
	CHECK(probes_gone(probes_before));
}

static void check_dry_run(const char *words, pid_t pid, const char *text)
{
	struct live_process *memtrace = start_untested(words, pid, 0);
	bool found = false;
	char *line;

	while ((line = live_read_line(memtrace, TIMEOUT_S))) {
		found |= strstr(line, text) && strstr(line, UNTESTED);
		free(line);
	}
	CHECK(found);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	live_destroy(memtrace);
}

static void dry_runs_say_why(void)
{
	struct live_process *target = start_target(true);
	pid_t pid = live_pid(target);

	check_dry_run("--dry-run -p PIDS " EVENT, pid, "not traced: a return probe");
	check_dry_run("--dry-run -p PIDS --attach perf", pid,
		      "not traced: a return probe");
	check_dry_run("--dry-run -p PIDS --mappings", pid, "no return probes");
	check_alive(target);
	live_destroy(target);
}

/* A thread gets a filter after the attach: memtrace removes the return probes. */
static void a_filter_after_the_attach(void)
{
	struct live_process *target = start_target(false);
	struct live_process *memtrace =
		start_untested(REPORT "-p PIDS " EVENT, live_pid(target), 0);
	json_t *report;

	await_start(memtrace);
	check_alive(target);
	oracle_do(target, "confine");
	CHECK(live_wait_stderr(memtrace, "has lost its probes", TIMEOUT_S));
	CHECK_CONTAINS(live_stderr(memtrace), UNTESTED);
	CHECK_INT(trampoline_links(live_pid(memtrace)), 0);
	check_alive(target);
	report = stop(memtrace);
	CHECK_INT(live_int(report, "events.count"), 2 * CALLS);
	json_decref(report);
	live_destroy(target);
	CHECK(probes_gone(probes_before));
}

int main(void)
{
	live_require_root();
	probes_before = probes_find();
	/* Processes that a killed process leaves behind become children of this one. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	live_allow_return_probes();
	verdict = trampoline_test_seccomp();
	printf("     return probes %s a seccomp filter here\n",
	       verdict == TRAMPOLINE_PASSES  ? "pass"
	       : verdict == TRAMPOLINE_KILLS ? "do not pass"
					     : "cannot be tested under");
	RUN(a_filter_of_the_second_thread);
	RUN(syscall_user_dispatch);
	RUN(syscall_user_dispatch_after_the_attach);
	RUN(syscall_user_dispatch_elsewhere);
	RUN(refused_without_a_test);
	RUN(refused_for_all);
	RUN(others_go_on);
	RUN(used_without_a_filter);
#ifdef THROWER_BINARY
	RUN(a_program_with_exceptions_is_warned_of);
#endif
	RUN(allocators);
	RUN(allocator_without_a_filter);
	RUN(dry_runs_say_why);
	RUN(a_filter_after_the_attach);
	probes_destroy(probes_before);
	return check_done();
}
