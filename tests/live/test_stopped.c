// SPDX-License-Identifier: Apache-2.0
/* A process that is stopped allocates nothing. A note says so, since its reports look as
 * if it had no heap. */
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "live/trace.h"

#define TIMEOUT_S 20

static void report(struct live_process *memtrace)
{
	json_decref(memtrace_report(memtrace));
}

/* The kernel stops a process a moment after the signal. */
static void signal_and_wait(struct live_process *process, int signal)
{
	live_signal(process, signal);
	live_sleep(0.1);
}

/* One note for each stop, however many reports come. */
static void by_a_signal(void)
{
	struct live_process *oracle = oracle_start(), *memtrace;
	char note[128];

	snprintf(note, sizeof(note),
		 "is stopped (SIGSTOP or Ctrl-Z) and allocates nothing until it is "
		 "continued: kill -CONT %d\n",
		 (int)live_pid(oracle));
	signal_and_wait(oracle, SIGSTOP);
	memtrace = memtrace_start(live_pid(oracle), "");
	CHECK(live_wait_stderr(memtrace, note, TIMEOUT_S));
	report(memtrace);
	report(memtrace);
	CHECK_INT(live_count(live_stderr(memtrace), "is stopped"), 1);
	signal_and_wait(oracle, SIGCONT);
	report(memtrace);
	CHECK_INT(live_count(live_stderr(memtrace), "is stopped"), 1);
	signal_and_wait(oracle, SIGSTOP);
	report(memtrace);
	report(memtrace);
	CHECK_INT(live_count(live_stderr(memtrace), note), 2);
	signal_and_wait(oracle, SIGCONT);
	json_decref(memtrace_stop(memtrace));
	live_destroy(oracle);
}

/* Start a process that traces `pid`. It stops it for good, or at each system call. */
static pid_t start_debugger(pid_t pid, bool stops_for_good)
{
	pid_t debugger = fork();
	int status;

	REQUIRE(debugger >= 0);
	if (debugger)
		return debugger;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) ||
	    ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) || waitpid(pid, &status, 0) != pid)
		_exit(1);
	while (stops_for_good)
		pause();
	while (!ptrace(PTRACE_SYSCALL, pid, NULL, NULL) &&
	       waitpid(pid, &status, 0) == pid)
		;
	_exit(0);
}

static void end_debugger(pid_t debugger)
{
	int status;

	CHECK(!kill(debugger, SIGKILL));
	CHECK(waitpid(debugger, &status, 0) == debugger && WIFSIGNALED(status));
}

static void by_a_debugger(void)
{
	struct live_process *oracle = oracle_start(), *memtrace;
	pid_t debugger = start_debugger(live_pid(oracle), true);
	char note[128];

	snprintf(note, sizeof(note),
		 "is stopped by its debugger (pid %d) and allocates nothing until it is "
		 "continued there\n",
		 (int)debugger);
	live_sleep(0.1);
	memtrace = memtrace_start(live_pid(oracle), "");
	CHECK(live_wait_stderr(memtrace, note, TIMEOUT_S));
	report(memtrace);
	CHECK_INT(live_count(live_stderr(memtrace), "is stopped"), 1);
	end_debugger(debugger);
	json_decref(memtrace_stop(memtrace));
	live_destroy(oracle);
}

/* strace(1) stops a program at each system call, which then is in the same state. */
static void not_by_strace(void)
{
	struct live_process *dd = live_start((const char *const[]){
		"dd", "if=/dev/zero", "of=/dev/null", "bs=1", "status=none", NULL});
	struct live_process *memtrace;
	pid_t strace;

	live_sleep(0.2);
	strace = start_debugger(live_pid(dd), false);
	memtrace = memtrace_start(live_pid(dd), "");
	for (int i = 0; i < 20; i++)
		report(memtrace);
	CHECK_INT(live_count(live_stderr(memtrace), "is stopped"), 0);
	end_debugger(strace);
	json_decref(memtrace_stop(memtrace));
	live_destroy(dd);
}

int main(void)
{
	live_require_root();
	RUN(by_a_signal);
	RUN(by_a_debugger);
	RUN(not_by_strace);
	return check_done();
}
