// SPDX-License-Identifier: Apache-2.0
/* On a terminal memtrace shows what it is doing during long steps, and erases that line
 * afterwards. Without a terminal, and with -q, it does not. */
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "live/trace.h"
#include "util/cleanup.h"

#define TIMEOUT_MS 30000

/* Runs memtrace with these options, ended by NULL, and with stderr on a terminal. With
 * `all`, standard output and the keyboard are there too. Sends ^C when `stop_at` appears,
 * unless it is NULL. Returns what memtrace wrote. */
static const char *run_with(char *const argv[], bool all, const char *stop_at)
{
	static char text[1 << 20];
	size_t len = 0;
	int terminal = posix_openpt(O_RDWR | O_NOCTTY);

	REQUIRE(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);

	int slave = open(ptsname(terminal), O_RDWR | O_NOCTTY);
	pid_t child = fork();

	REQUIRE(slave >= 0 && child >= 0);
	if (child == 0) {
		dup2(slave, STDERR_FILENO);
		dup2(all ? slave : open("/dev/null", O_WRONLY), STDOUT_FILENO);
		if (all) {
			setsid();
			ioctl(slave, TIOCSCTTY, 0);
			dup2(slave, STDIN_FILENO);
		}
		setenv("TERM", "xterm", 1);
		setenv("NO_COLOR", "1", 1);
		execv(memtrace_path, argv);
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
		text[len] = 0;
		if (stop_at && strstr(text, stop_at)) {
			REQUIRE(write(terminal, "\003", 1) == 1);
			stop_at = NULL;
		}
	}
	text[len] = 0;
	close(terminal);

	int status;

	REQUIRE(waitpid(child, &status, 0) == child);
	CHECK_INT(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
	return text;
}

static const char *run_on_terminal(pid_t pid, char *quiet)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", (int)pid);
	return run_with((char *[]){"memtrace", "--pid", text, "-d", "0.2", quiet, NULL},
			false, NULL);
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

/* A run that writes files says in one line how it goes, and prints only the last
 * report. */
static void files_leave_the_terminal_alone(void)
{
	struct live_process *oracle = oracle_start();
	_cleanup_(freep) char *html = live_path("page.html"), *flame = live_path("f.svg");
	char pid[16], wrote[512];
	const char *text, *left, *report;

	snprintf(pid, sizeof(pid), "%d", (int)live_pid(oracle));
	text = run_with((char *[]){"memtrace", "-p", pid, "-d", "12", "--html", html,
				   "--flame", flame, NULL},
			true, NULL);
	left = strstr(text, "\r\033[Kmemtrace: 5.");
	report = strstr(text, "memtrace report ");
	REQUIRE(left && report && left < report);
	CHECK(strstr(left, " traced, 6.") || strstr(left, " traced, 7."));
	CHECK_CONTAINS(left, " left; ");
	CHECK_CONTAINS(left, " live; nothing lost; Ctrl-C ends");
	CHECK_CONTAINS(left, "\r\033[Kmemtrace: 10.");
	/* One report, the last one. */
	CHECK(!strstr(report + 1, "memtrace report "));
	snprintf(wrote, sizeof(wrote), "memtrace: wrote %s (", html);
	CHECK_CONTAINS(report, wrote);
	snprintf(wrote, sizeof(wrote), "memtrace: wrote %s (", flame);
	CHECK_CONTAINS(report, wrote);
	live_destroy(oracle);
}

/* With --interval the reports are wanted. */
static void an_interval_asks_for_reports(void)
{
	struct live_process *oracle = oracle_start();
	_cleanup_(freep) char *html = live_path("asked.html");
	char pid[16];
	const char *text;

	snprintf(pid, sizeof(pid), "%d", (int)live_pid(oracle));
	text = run_with((char *[]){"memtrace", "-p", pid, "-d", "2", "-i", "0.5",
				   "--html", html, NULL},
			true, NULL);
	CHECK_CONTAINS(text, "memtrace report 1 ");
	CHECK_CONTAINS(text, "memtrace report 2 ");
	live_destroy(oracle);
}

/* The "^C" of the terminal is not at the beginning of the last report. */
static void the_echo_is_erased(void)
{
	struct live_process *oracle = oracle_start();
	char pid[16];
	const char *text, *echo;

	snprintf(pid, sizeof(pid), "%d", (int)live_pid(oracle));
	text = run_with((char *[]){"memtrace", "-p", pid, NULL}, true, "Ctrl-C ends");
	CHECK_CONTAINS(text, "; Ctrl-C ends, and --live shows a screen\r\n");
	echo = strstr(text, "^C");
	REQUIRE(echo);
	CHECK(!strncmp(echo + 2, "\r\033[K", 4));
	CHECK_CONTAINS(echo, "memtrace report 1 ");
	live_destroy(oracle);
}

static void pipe_shows_none(void)
{
	struct live_process *oracle = oracle_start();
	struct live_process *memtrace = memtrace_start(live_pid(oracle), "");

	CHECK(!strstr(live_stderr(memtrace), "compiling"));
	CHECK_CONTAINS(live_stderr(memtrace), "; Ctrl-C ends\n");
	CHECK(!strchr(live_stderr(memtrace), '\r'));
	json_decref(memtrace_stop(memtrace));
	live_destroy(oracle);
}

int main(void)
{
	live_require_root();
	RUN(terminal_shows_progress);
	RUN(files_leave_the_terminal_alone);
	RUN(an_interval_asks_for_reports);
	RUN(the_echo_is_erased);
	RUN(pipe_shows_none);
	return check_done();
}
