/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of memtrace's end: what is left of it, and whether it has ended in time. */
#ifndef TESTS_LIVE_STOP_CHECKS_H
#define TESTS_LIVE_STOP_CHECKS_H

#include <signal.h>
#include <sys/wait.h>

#include "check.h"
#include "live/breakpoints.h"
#include "live/cpu_wait.h"
#include "live/trace.h"

#define TIMEOUT_S 30

/* Longest time from the last signal to the end, s. The time that memtrace and its
 * children waited for a processor is added. */
#define END_S 1.0

/* The same if the kernel does not count the waiting time. */
#define END_BUSY_S 5.0

/* After the first signal memtrace must still hang for this time, s. */
#define HANGS_S 0.7

/* How long memtrace cleans up after a second signal before the kernel kills it, s. */
#define CLEAN_UP_S 0.6

static struct live_process *oracle;
static struct probes *probes_before;

/* --- what is left ----------------------------------------------------------------- */

static inline void check_untouched(void)
{
	double until_s = live_now_s() + END_BUSY_S;

	CHECK(probes_gone(probes_before));
	/* The kernel frees the id of a link before it removes the breakpoints
	 * (bpf_link_free() in kernel/bpf/syscall.c). */
	while (breakpoints_count(live_pid(oracle)) && live_now_s() < until_s)
		live_sleep(0.01);
	CHECK_INT(breakpoints_count(live_pid(oracle)), 0);
	oracle_do(oracle, "run keep 10 1");
	oracle_do(oracle, "run release 1 1");
}

/* --- the end ---------------------------------------------------------------------- */

/* Has the process ended? It is not reaped: the kernel still knows how long it waited. */
static inline bool has_ended(pid_t pid)
{
	siginfo_t info = {.si_pid = 0};

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
	       info.si_pid == pid;
}

/* Called after the last signal, while memtrace's output is not read: memtrace must end
 * within END_S. Returns the time until its end, s. */
static inline double check_gone(struct live_process *memtrace)
{
	struct cpu_wait waited;
	double begin_s = live_now_s();
	double took_s, bound_s;

	cpu_wait_begin(&waited, live_pid(memtrace));
	while (!has_ended(live_pid(memtrace)) && live_now_s() < begin_s + TIMEOUT_S) {
		cpu_wait_look(&waited);
		live_sleep(0.002);
	}
	took_s = live_now_s() - begin_s;
	cpu_wait_look(&waited);
	bound_s = waited.is_counted ? END_S + cpu_wait_s(&waited) : END_BUSY_S;
	if (took_s >= bound_s)
		CHECK_FAIL("gone after %.3f s, expected less than %.3f s", took_s,
			   bound_s);
	return took_s;
}

/* memtrace hangs: the first signal must not end it, the second must. Where removing the
 * probes takes longer than CLEAN_UP_S, on a busy machine, memtrace is killed. */
static inline void stop_twice(struct live_process *memtrace, int number, const char *when)
{
	double took_s;
	int status;

	live_signal(memtrace, number);
	live_sleep(HANGS_S);
	CHECK(live_is_running(memtrace));
	live_signal(memtrace, number);
	took_s = check_gone(memtrace);
	printf("%s: gone after %.3f s\n", when, took_s);
	status = live_wait(memtrace, 1);
	if (status != 128 + SIGKILL || took_s < CLEAN_UP_S)
		CHECK_INT(status, 128 + number);
	live_destroy(memtrace);
	check_untouched();
}

/* --- names ------------------------------------------------------------------------ */

/* The oracle without debug info, so that memtrace looks for it elsewhere. */
static inline struct live_process *stripped_start(void)
{
	char *path = live_path("stripped");
	char command[600];
	struct live_process *target;

	snprintf(command, sizeof(command), "strip --strip-debug -o %s %s", path,
		 oracle_path);
	REQUIRE(!system(command));
	target = target_start(path);
	free(path);
	return target;
}

#endif
