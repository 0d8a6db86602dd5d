// SPDX-License-Identifier: Apache-2.0
/*
 * A process exits after memtrace has planned its probes and before they are set, and
 * another process gets its pid. memtrace must not probe the other one. To hold memtrace
 * there, the test stops its processes that compile the probes.
 */
#include "check.h"
#include "live/breakpoints.h"
#include "live/family.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIMEOUT_S 60
#define MOMENT_S  0.5

static const char *const sleeper[] = {"sleep", "600", NULL};

/* --- memtrace's processes that compile -------------------------------------------- */

static bool compiles(pid_t pid)
{
	char path[64], name[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	file = fopen(path, "r");
	if (!file)
		return false;
	if (!fgets(name, sizeof(name), file))
		name[0] = '\0';
	fclose(file);
	return !strcmp(name, "memtrace-compil\n");
}

/* Send a signal to them. Returns their number. */
static unsigned signal_compilers(pid_t memtrace, int signal)
{
	char path[64];
	unsigned count = 0;
	FILE *file;
	int pid;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)memtrace,
		 (int)memtrace);
	file = fopen(path, "r");
	REQUIRE(file);
	while (fscanf(file, "%d", &pid) == 1)
		count += compiles(pid) && !kill(pid, signal);
	fclose(file);
	return count;
}

/* Processor time of the main thread, ns. */
static uint64_t time_of(pid_t pid)
{
	uint64_t time_ns = 0;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)pid);
	file = fopen(path, "r");
	REQUIRE(file);
	REQUIRE(fscanf(file, "%" SCNu64, &time_ns) == 1);
	fclose(file);
	return time_ns;
}

/* Let memtrace plan, and hold it before it sets its probes. */
static void hold(struct live_process *memtrace)
{
	double end_s = live_now_s() + TIMEOUT_S;
	pid_t pid = live_pid(memtrace);
	uint64_t time_ns = 0;

	while (!signal_compilers(pid, SIGSTOP)) {
		REQUIRE(live_is_running(memtrace) && live_now_s() < end_s);
		live_sleep(0.001);
	}
	/* Until it waits for them. */
	while (time_of(pid) != time_ns) {
		REQUIRE(live_is_running(memtrace) && live_now_s() < end_s);
		time_ns = time_of(pid);
		live_sleep(MOMENT_S);
		signal_compilers(pid, SIGSTOP);
	}
}

/* --- the other process ------------------------------------------------------------ */

/* Start a process with this pid. */
static void start_other(pid_t pid)
{
	struct clone_args args = {
		.exit_signal = SIGCHLD,
		.set_tid = (uint64_t)(uintptr_t)&pid,
		.set_tid_size = 1,
	};
	char path[64], program[64] = "";
	double end_s = live_now_s() + TIMEOUT_S;
	long child;

	fflush(NULL);
	child = syscall(SYS_clone3, &args, sizeof(args));
	if (child < 0)
		live_fail("clone3 with pid %d: %s", (int)pid, strerror(errno));
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execvp(sleeper[0], (char *const *)sleeper);
		_exit(127);
	}
	REQUIRE(child == pid);
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	do {
		REQUIRE(live_now_s() < end_s);
		live_sleep(0.1);
		memset(program, 0, sizeof(program));
		REQUIRE(readlink(path, program, sizeof(program) - 1) > 0);
	} while (!strstr(program, "sleep") && !strstr(program, "coreutils"));
	/* Its C library is mapped. */
	live_sleep(MOMENT_S);
}

static void end_other(pid_t pid)
{
	kill(pid, SIGKILL);
	REQUIRE(waitpid(pid, NULL, 0) == pid);
}

/* The process of memtrace's -p exits, and another one gets its pid. */
static pid_t replace(struct live_process *memtrace, struct live_process *target)
{
	pid_t pid = live_pid(target);

	hold(memtrace);
	live_signal(target, SIGKILL);
	CHECK_INT(live_wait(target, TIMEOUT_S), 128 + SIGKILL);
	start_other(pid);
	signal_compilers(live_pid(memtrace), SIGCONT);
	return pid;
}

/* --- tests ------------------------------------------------------------------------ */

static struct live_process *sleeper_ready(void)
{
	struct live_process *target = live_start(sleeper);

	live_sleep(MOMENT_S);
	return target;
}

static void is_not_traced_instead(void)
{
	struct live_process *target = sleeper_ready(), *memtrace;
	char line[96];
	pid_t pid;

	memtrace = memtrace_by_path("--no-cache -p %d", (int)live_pid(target));
	pid = replace(memtrace, target);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 1);
	snprintf(line, sizeof(line), "memtrace: pid %d exited while memtrace attached\n",
		 (int)pid);
	CHECK_STR(live_skip_unfiltered(live_stderr(memtrace)), line);
	live_destroy(memtrace);
	end_other(pid);
	live_destroy(target);
}

/* Perf events are closed by a child of memtrace, which takes 0.1 s for each. */
static bool loses_breakpoints(pid_t pid)
{
	double end_s = live_now_s() + TIMEOUT_S;

	while (breakpoints_count(pid)) {
		if (live_now_s() > end_s)
			return false;
		live_sleep(0.1);
	}
	return true;
}

static void gets_no_breakpoints(const char *options)
{
	struct live_process *target = sleeper_ready(), *other = family_start(NULL);
	struct live_process *memtrace;
	json_t *report;
	pid_t pid;

	memtrace = memtrace_by_path("--no-cache %s -p %d -p %d", options,
				    (int)live_pid(target), (int)live_pid(other));
	pid = replace(memtrace, target);
	memtrace_await(memtrace);
	CHECK(breakpoints_count(live_pid(other)) > 0);
	CHECK(loses_breakpoints(pid));
	CHECK_CONTAINS(live_stderr(memtrace), "exited while memtrace attached\n");
	report = memtrace_stop(memtrace);
	CHECK(target_of(report, live_pid(other)));
	CHECK(!target_of(report, pid));
	json_decref(report);
	end_other(pid);
	family_finish(other);
	live_destroy(target);
}

static void gets_no_breakpoints_beside_others(void)
{
	gets_no_breakpoints("");
}

static void gets_no_perf_events(void)
{
	gets_no_breakpoints("--attach perf");
}

int main(void)
{
	struct probes *before;

	live_require_root();
	before = probes_find();
	RUN(is_not_traced_instead);
	RUN(gets_no_breakpoints_beside_others);
	RUN_WITH_RETURN_PROBES(gets_no_perf_events);
	CHECK(probes_gone(before));
	probes_destroy(before);
	return check_done();
}
