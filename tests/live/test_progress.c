// SPDX-License-Identifier: Apache-2.0
/* On a terminal memtrace shows what it is doing during long steps, and erases that line
 * afterwards. Without a terminal, and with -q, it does not. */
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "live/trace.h"

#define TIMEOUT_MS 30000

/* Runs memtrace with stderr on a terminal. Returns what it wrote there. */
static const char *run_on_terminal(pid_t pid, const char *quiet)
{
	static char text[65536];
	size_t len = 0;
	char pid_text[16];
	int terminal = posix_openpt(O_RDWR | O_NOCTTY);

	REQUIRE(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
	snprintf(pid_text, sizeof(pid_text), "%d", (int)pid);

	int slave = open(ptsname(terminal), O_RDWR | O_NOCTTY);
	pid_t child = fork();

	REQUIRE(slave >= 0 && child >= 0);
	if (child == 0) {
		dup2(slave, STDERR_FILENO);
		dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
		execl(memtrace_path, "memtrace", "--pid", pid_text, "-d", "0.2", quiet,
		      (char *)NULL);
		_exit(127);
	}
	close(slave);
	for (;;) {
		struct pollfd fd = {.fd = terminal, .events = POLLIN};
		ssize_t n;

		REQUIRE(poll(&fd, 1, TIMEOUT_MS) > 0);
		n = read(terminal, text + len, sizeof(text) - 1 - len);
		if (n <= 0)
			break; /* EIO: the last writer has ended */
		len += (size_t)n;
	}
	text[len] = 0;
	close(terminal);

	int status;

	REQUIRE(waitpid(child, &status, 0) == child);
	CHECK_INT(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
	return text;
}

static void terminal_shows_progress(void)
{
	struct live_process *oracle = oracle_start();
	const char *text = run_on_terminal(live_pid(oracle), NULL);
	const char *compiling = strstr(text, "compiling the probes ...");
	const char *attaching = strstr(text, "attaching ...");
	const char *tracing = strstr(text, "tracing pid");

	REQUIRE(compiling && attaching && tracing);
	CHECK(compiling < attaching && attaching < tracing);
	/* The line is erased before the next output. */
	CHECK(!strncmp(attaching + strlen("attaching ..."), "\r\033[K", 4));
	CHECK_STR(run_on_terminal(live_pid(oracle), "-q"), "");
	live_destroy(oracle);
}

static void pipe_shows_none(void)
{
	struct live_process *oracle = oracle_start();
	struct live_process *memtrace = memtrace_start(live_pid(oracle), "");

	CHECK(!strstr(live_stderr(memtrace), "compiling"));
	CHECK(!strchr(live_stderr(memtrace), '\r'));
	json_decref(memtrace_stop(memtrace));
	live_destroy(oracle);
}

int main(void)
{
	live_require_root();
	RUN(terminal_shows_progress);
	RUN(pipe_shows_none);
	return check_done();
}
