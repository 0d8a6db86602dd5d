// SPDX-License-Identifier: Apache-2.0
/*
 * A target that is stopped, debugged, killed, or executes another program at each step of
 * memtrace's start: memtrace ends in a documented way, says in a line why if it could not
 * trace, and leaves nothing behind.
 */
#include "check.h"
#include "live/trace.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIMEOUT_S 60

/* A start that compiles the probes is disturbed after so many seconds, this often. */
#define STEP_S  0.5
#define MOMENTS 3

/* A start that uses the probes of an earlier run is disturbed at so many system calls, at
 * equal distances from its first to its last. */
#define CALLS 16

static struct probes *probes_before;

/* What is done to the target at a moment of memtrace's start. */
struct trouble {
	const char *name;
	void (*begin)(struct live_process *target);
	void (*end)(struct live_process *target); /* NULL: nothing is to be undone */
	bool ends_target;
};

static void stop(struct live_process *target)
{
	live_signal(target, SIGSTOP);
}

static void go_on(struct live_process *target)
{
	live_signal(target, SIGCONT);
}

static void kill_it(struct live_process *target)
{
	live_signal(target, SIGKILL);
}

/* As a debugger does. */
static void debug(struct live_process *target)
{
	pid_t pid = live_pid(target);
	int status;

	REQUIRE(!ptrace(PTRACE_ATTACH, pid, NULL, NULL));
	REQUIRE(waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status));
}

static void leave(struct live_process *target)
{
	REQUIRE(!ptrace(PTRACE_DETACH, live_pid(target), NULL, NULL));
}

static void execute(struct live_process *target)
{
	live_send(target, "exec");
}

static const struct trouble troubles[] = {
	{"stopped", stop, go_on, false},
	{"debugged", debug, leave, false},
	{"killed", kill_it, NULL, true},
	{"another program", execute, NULL, false},
};

/* One line, or more that each begin as messages do; nothing cut short. */
static void check_messages(const char *text, const char *what, double after_s)
{
	for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
		if (strncmp(line, "memtrace: ", 10) || !strchr(line, '\n')) {
			CHECK_FAIL("%s after %.2f s: %s", what, after_s, text);
			return;
		}
	}
}

/* --- system calls of memtrace's start --------------------------------------------- */

static bool is_line_on_stderr(const struct __ptrace_syscall_info *call)
{
	return call->op == PTRACE_SYSCALL_INFO_ENTRY && call->entry.nr == SYS_write &&
	       call->entry.args[0] == STDERR_FILENO;
}

/* Let memtrace's main thread make `count` system calls, or those that it makes before it
 * says that it traces. It is stopped then. Returns the number that it has made. */
static size_t hold_at_call(pid_t pid, size_t count)
{
	struct __ptrace_syscall_info call = {0};
	size_t made = 0;
	int signal = 0;

	REQUIRE(!ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACESYSGOOD));
	REQUIRE(!ptrace(PTRACE_INTERRUPT, pid, NULL, NULL));
	for (;;) {
		siginfo_t info = {0};

		/* Its end is left to live_wait(). */
		REQUIRE(!waitid(P_PID, (id_t)pid, &info, WSTOPPED | __WALL));
		signal = info.si_status & 0xff;
		if (signal == (SIGTRAP | 0x80)) {
			signal = 0;
			REQUIRE(ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(call),
				       &call) > 0);
			made += call.op == PTRACE_SYSCALL_INFO_ENTRY;
			if (made >= count || is_line_on_stderr(&call))
				return made;
		} else if (info.si_status >> 8 || signal == SIGTRAP) {
			signal = 0; /* a stop of ptrace(2)'s own */
		}
		REQUIRE(!ptrace(PTRACE_SYSCALL, pid, NULL, signal));
	}
}

static void let_go(pid_t pid)
{
	REQUIRE(!ptrace(PTRACE_DETACH, pid, NULL, NULL));
}

/* --- one run ---------------------------------------------------------------------- */

/* When the trouble begins. */
struct moment {
	const char *option; /* of memtrace; NULL: none */
	double after_s;     /* of its start */
	size_t call; /* memtrace is held at its call of this number; 0: it is not */
};

static struct live_process *target_ready(void)
{
	const char *const argv[] = {FAMILY_BINARY, FAMILY_BINARY, NULL};
	struct live_process *target = live_start(argv);
	char *line = live_read_line(target, TIMEOUT_S);

	REQUIRE(line);
	free(line);
	return target;
}

static struct live_process *start_on(const struct live_process *target,
				     const char *option)
{
	char pid[16];
	const char *const run[] = {memtrace_path, "--pid", pid,    "--format", "json",
				   "-i",          "3600",  option, NULL};

	snprintf(pid, sizeof(pid), "%d", (int)live_pid(target));
	return live_start(run);
}

/* The number of system calls of a start. */
static size_t calls_of_a_start(void)
{
	struct live_process *target = target_ready(), *memtrace;
	size_t calls;

	/* The first run keeps its compiled probes. */
	for (int run = 0; run < 2; run++) {
		memtrace = start_on(target, NULL);
		calls = hold_at_call(live_pid(memtrace), SIZE_MAX);
		let_go(live_pid(memtrace));
		REQUIRE(live_wait_stderr(memtrace, "tracing pid", TIMEOUT_S));
		live_signal(memtrace, SIGTERM);
		CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
		live_destroy(memtrace);
	}
	live_destroy(target);
	return calls;
}

static void check_at(const struct trouble *trouble, const struct moment *moment)
{
	struct live_process *target = target_ready(), *memtrace;
	double after_s = moment->after_s;
	char pid[16];
	int status;

	snprintf(pid, sizeof(pid), "%d", (int)live_pid(target));
	memtrace = start_on(target, moment->option);
	live_sleep(after_s);
	if (moment->call)
		hold_at_call(live_pid(memtrace), moment->call);
	trouble->begin(target);
	if (moment->call)
		let_go(live_pid(memtrace));
	live_sleep(0.5);
	if (trouble->end)
		trouble->end(target);
	if (!trouble->ends_target) {
		/* Until it traces, or has given up. */
		live_wait_stderr(memtrace, "tracing pid", 20);
		live_signal(memtrace, SIGTERM);
	}
	status = live_wait(memtrace, TIMEOUT_S);
	check_messages(live_stderr(memtrace), trouble->name, after_s);
	if (status != 0 && status != 1)
		CHECK_FAIL("%s after %.2f s, call %zu: status %d", trouble->name, after_s,
			   moment->call, status);
	if (status == 1)
		CHECK_CONTAINS(live_stderr(memtrace), pid);
	if (!trouble->ends_target)
		CHECK(live_is_running(target));
	CHECK(probes_gone(probes_before));
	live_destroy(memtrace);
	live_destroy(target);
}

static void at_each_moment(void)
{
	for (size_t i = 0; i < sizeof(troubles) / sizeof(*troubles); i++) {
		for (unsigned k = 0; k < MOMENTS; k++) {
			struct moment moment = {.option = "--no-cache",
						.after_s = k * STEP_S};

			check_at(&troubles[i], &moment);
		}
	}
}

static void at_each_step(void)
{
	size_t calls = calls_of_a_start();

	printf("     a start makes %zu system calls\n", calls);
	CHECK(calls >= CALLS);
	for (size_t i = 0; i < sizeof(troubles) / sizeof(*troubles); i++) {
		for (size_t k = 0; k < CALLS; k++) {
			struct moment moment = {.call = 1 + k * (calls - 1) / CALLS};

			check_at(&troubles[i], &moment);
		}
	}
}

int main(void)
{
	live_require_root();
	probes_before = probes_find();
	RUN(at_each_moment);
	RUN(at_each_step);
	probes_destroy(probes_before);
	return check_done();
}
