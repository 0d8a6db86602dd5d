// SPDX-License-Identifier: Apache-2.0
/* A process that is stopped, by a signal or by a debugger, is recognized. */
#include "check.h"

#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/procfs.h"
#include "process/stop_state.h"
#include "util/cleanup.h"

/* --- the text of a status ----------------------------------------------------------- */

static void lines(void)
{
	struct stop_state stop = stop_state_parse(
		"Name:\tx\nUmask:\t0022\nState:\tt (tracing stop)\nPid:\t7\n"
		"TracerPid:\t12\nvoluntary_ctxt_switches:\t30\n"
		"nonvoluntary_ctxt_switches:\t4\n");

	CHECK_INT(stop.kind, STOP_DEBUGGER);
	CHECK_INT(stop.debugger, 12);
	CHECK_INT(stop.switches, 34);
	stop = stop_state_parse("Name:\tx\nState:\tT (stopped)\nTracerPid:\t0\n");
	CHECK_INT(stop.kind, STOP_SIGNAL);
	CHECK_INT(stop.debugger, 0);
	stop = stop_state_parse("Name:\tx\nState:\tS (sleeping)\nTracerPid:\t12\n");
	CHECK_INT(stop.kind, STOP_NONE);
	/* The target chooses its name. */
	CHECK_INT(stop_state_parse("Name:\tState:\tT\\nState:\tT\nState:\tR (running)\n")
			  .kind,
		  STOP_NONE);
	CHECK_INT(stop_state_parse("").kind, STOP_NONE);
	CHECK_INT(stop_state_parse("Name:\tx\nState:\tT").kind, STOP_SIGNAL);
	CHECK_INT(stop_state_parse("Name:\tx\nState:\t").kind, STOP_NONE);
}

static void two_looks(void)
{
	struct stop_state none = {STOP_NONE, 0, 5}, first = {STOP_DEBUGGER, 12, 5};
	struct stop_state other = {STOP_DEBUGGER, 13, 5}, later = {STOP_DEBUGGER, 12, 6};

	CHECK(stop_state_lasts(&first, &first));
	CHECK(!stop_state_lasts(&none, &none));
	CHECK(!stop_state_lasts(&none, &first));
	CHECK(!stop_state_lasts(&first, &other));
	CHECK(!stop_state_lasts(&first, &later));
}

/* --- a process ---------------------------------------------------------------------- */

static struct stop_state look(pid_t pid)
{
	_cleanup_(freep) char *status = NULL;
	size_t size;

	REQUIRE(!procfs_read(pid, "status", PROCFS_SMALL_BYTES, &status, &size));
	return stop_state_parse(status);
}

static void signals(void)
{
	pid_t pid = fork();
	int status;

	REQUIRE(pid >= 0);
	if (!pid)
		for (;;)
			pause();
	CHECK_INT(look(pid).kind, STOP_NONE);
	REQUIRE(!kill(pid, SIGSTOP) && waitpid(pid, &status, WUNTRACED) == pid);
	CHECK_INT(look(pid).kind, STOP_SIGNAL);
	REQUIRE(!kill(pid, SIGCONT) && waitpid(pid, &status, WCONTINUED) == pid);
	CHECK_INT(look(pid).kind, STOP_NONE);
	REQUIRE(!kill(pid, SIGKILL) && waitpid(pid, &status, 0) == pid);
}

/* memtrace holds the programs that it starts. */
static void stopped_by_this_process(void)
{
	pid_t pid = fork();
	int status;

	REQUIRE(pid >= 0);
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		_exit(0);
	}
	REQUIRE(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status));
	CHECK_INT(look(pid).kind, STOP_NONE);
	REQUIRE(!kill(pid, SIGKILL) && waitpid(pid, &status, 0) == pid);
}

int main(void)
{
	RUN(lines);
	RUN(two_looks);
	RUN(signals);
	RUN(stopped_by_this_process);
	return check_done();
}
