// SPDX-License-Identifier: Apache-2.0
/*
 * A target that is stopped, debugged or killed, or executes another program, at each step
 * of memtrace's start. memtrace must end in a documented way, say in one line why it
 * could not trace, and leave nothing behind.
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

/* A start that compiles the probes is disturbed at MOMENTS moments, STEP_S apart. */
#define STEP_S  0.5
#define MOMENTS (live_is_long() ? 3 : 2)

/* A start that uses the probes of an earlier run is disturbed at this many system calls,
 * at equal distances from its first to its last. */
#define CALLS (live_is_long() ? 16u : 6u)

static struct probes *probes_before;

/* What happens to the target at a moment of memtrace's start. */
struct trouble {
	const char *name;
	void (*begin)(struct live_process *target);
	void (*end)(struct live_process *target); /* NULL: nothing to undo */
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

/* Stops the target as a debugger does. */
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

/* Each line must begin as messages do and end with a newline. */
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

/* Lets memtrace's main thread make `count` system calls, or all calls up to the message
 * that it traces. Then the thread is stopped. Returns the number of calls that it
 * made. */
static size_t hold_at_call(pid_t pid, size_t count)
{
	struct __ptrace_syscall_info call = {0};
	size_t made = 0;
	int signal = 0;

	REQUIRE(!ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACESYSGOOD));
	REQUIRE(!ptrace(PTRACE_INTERRUPT, pid, NULL, NULL));
	for (;;) {
		siginfo_t info = {0};

		/* Only stops: live_wait() waits for the end. */
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
			signal = 0; /* stopped by ptrace(2) itself */
		}
		REQUIRE(!ptrace(PTRACE_SYSCALL, pid, NULL, signal));
	}
}

static void let_go(pid_t pid)
{
	REQUIRE(!ptrace(PTRACE_DETACH, pid, NULL, NULL));
}

/* --- one run ---------------------------------------------------------------------- */

/* The moment at which the trouble begins. */
struct moment {
	const char *option; /* memtrace's option; NULL: none */
	double after_s;     /* seconds after the start */
	size_t call;        /* memtrace is stopped at this system call; 0: not stopped */
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

/* The number of system calls that a start makes. */
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
		/* Wait until memtrace traces or has given up. */
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
