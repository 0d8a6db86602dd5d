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
#include <sys/wait.h>
#include <unistd.h>

#define TIMEOUT_S 60
/* Moments of a start, after which it traces: it takes a second or two when the probes are
 * compiled, and some tenths of one when an earlier run has kept them. */
#define MOMENTS 5
static const struct start {
	const char *option;
	double step_s;
} starts[] = {{"--no-cache", 0.3}, {NULL, 0.06}};

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

static void check_at(const struct trouble *trouble, const char *option, double after_s)
{
	struct live_process *target, *memtrace;
	const char *const argv[] = {FAMILY_BINARY, FAMILY_BINARY, NULL};
	char pid[16], *line;
	int status;

	target = live_start(argv);
	line = live_read_line(target, TIMEOUT_S);
	REQUIRE(line);
	free(line);
	snprintf(pid, sizeof(pid), "%d", (int)live_pid(target));

	const char *const run[] = {memtrace_path, "--pid", pid,    "--format", "json",
				   "-i",          "3600",  option, NULL};

	memtrace = live_start(run);
	live_sleep(after_s);
	trouble->begin(target);
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
		CHECK_FAIL("%s after %.2f s: status %d", trouble->name, after_s, status);
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
	for (size_t i = 0; i < sizeof(troubles) / sizeof(*troubles); i++)
		for (size_t k = 0; k < sizeof(starts) / sizeof(*starts); k++)
			for (unsigned moment = 0; moment < MOMENTS; moment++)
				check_at(&troubles[i], starts[k].option,
					 moment * starts[k].step_s);
}

int main(void)
{
	live_require_root();
	probes_before = probes_find();
	RUN(at_each_moment);
	probes_destroy(probes_before);
	return check_done();
}
