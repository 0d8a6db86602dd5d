// SPDX-License-Identifier: Apache-2.0
/* On a terminal, reports are brief, fit the screen, and end with a verdict. In a pipe,
 * they have the form of memleak's. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "live/trace.h"
#include "util/cleanup.h"

#define TIMEOUT_MS 60000

/* reports until there are suspects */
#define REPORTS 7

/* A run of memtrace whose stdout is a pseudoterminal. */
struct session {
	pid_t pid;
	int terminal, errors; /* the terminal's master side, and the pipe from stderr */
	char text[65536];     /* output since the last report, without \r */
	size_t len;
};

static void set_size(struct session *s, unsigned short columns, unsigned short lines)
{
	const struct winsize size = {.ws_col = columns, .ws_row = lines};

	REQUIRE(ioctl(s->terminal, TIOCSWINSZ, &size) == 0);
}

static void wait_for_probes(struct session *s)
{
	char text[8192] = "";
	size_t len = 0;

	while (!strstr(text, "tracing pid")) {
		struct pollfd fd = {.fd = s->errors, .events = POLLIN};
		ssize_t n;

		REQUIRE(poll(&fd, 1, TIMEOUT_MS) > 0 && len + 1 < sizeof(text));
		n = read(s->errors, text + len, sizeof(text) - 1 - len);
		REQUIRE(n > 0);
		len += (size_t)n;
		text[len] = '\0';
	}
}

static void start(struct session *s, pid_t target)
{
	char pid_text[16];
	int slave, errors[2];

	*s = (struct session){.terminal = posix_openpt(O_RDWR | O_NOCTTY)};
	REQUIRE(s->terminal >= 0 && !grantpt(s->terminal) && !unlockpt(s->terminal));
	set_size(s, 80, 24);
	slave = open(ptsname(s->terminal), O_RDWR | O_NOCTTY);
	REQUIRE(slave >= 0 && pipe(errors) == 0);
	snprintf(pid_text, sizeof(pid_text), "%d", (int)target);
	s->pid = fork();
	REQUIRE(s->pid >= 0);
	if (s->pid == 0) {
		setenv("TERM", "dumb", 1);
		setenv("LC_ALL", "C", 1);
		dup2(slave, STDOUT_FILENO);
		dup2(errors[1], STDERR_FILENO);
		close(s->terminal);
		execl(memtrace_path, "memtrace", "--pid", pid_text, "-i", "3600",
		      "--older", "0", (char *)NULL);
		_exit(127);
	}
	close(slave);
	close(errors[1]);
	s->errors = errors[0];
	wait_for_probes(s);
}

/* The begin of the last line. */
static const char *last_line(const char *text)
{
	const char *at = text + strlen(text);

	for (at -= at > text; at > text && at[-1] != '\n'; at--)
		;
	return at;
}

static bool ends_with_verdict(const char *text)
{
	static const char *const verdicts[] = {"too early", "leaking ", "nothing ",
					       "grows unsteadily"};
	const char *last = last_line(text);

	for (size_t i = 0; strchr(last, '\n') && i < 4; i++) {
		if (!strncmp(last, verdicts[i], strlen(verdicts[i])))
			return true;
	}
	return false;
}

/* Request a report by a signal. Returns its text. */
static const char *make_report(struct session *s, int signal)
{
	s->len = 0;
	s->text[0] = '\0';
	REQUIRE(!kill(s->pid, signal));
	while (!ends_with_verdict(s->text)) {
		struct pollfd fd = {.fd = s->terminal, .events = POLLIN};
		char c;

		REQUIRE(poll(&fd, 1, TIMEOUT_MS) > 0);
		REQUIRE(read(s->terminal, &c, 1) == 1);
		REQUIRE(s->len + 1 < sizeof(s->text));
		if (c == '\r')
			continue;
		s->text[s->len++] = c;
		s->text[s->len] = '\0';
	}
	return s->text;
}

static void check_width(const char *text, size_t columns)
{
	for (; *text; text += strcspn(text, "\n") + 1)
		CHECK(strcspn(text, "\n") <= columns);
}

static void terminal(void)
{
	struct live_process *target = target_start(TRENDS_BINARY);
	struct session s;
	const char *text;
	int status;

	start(&s, live_pid(target));
	for (int i = 0; i < REPORTS; i++) {
		oracle_do(target, "work");
		text = make_report(&s, SIGUSR1);
		check_width(text, 80);
		CHECK(live_count(text, "\n") < 24);
		if (i == 0)
			CHECK_CONTAINS(last_line(text),
				       "too early: leak suspects after 4 more reports "
				       "(4.0 h)\n");
	}
	CHECK_CONTAINS(text, "\n1 leak suspect:\n");
	CHECK_CONTAINS(text, "  site_leak (trends.c:");
	CHECK_CONTAINS(text, "      from work (trends.c:");
	CHECK_CONTAINS(last_line(text), "100 % from site_leak (trends.c:");
	CHECK(!strncmp(last_line(text), "leaking ", strlen("leaking ")));
	/* A suspect is not listed again as a cause: the list and the verdict name it. */
	CHECK_INT(live_count(text, "site_leak"), 2);
	CHECK_INT(live_count(text, "site_cache"), 1);
	CHECK(!strstr(text, "0x"));
	/* The next report fits the new size. */
	set_size(&s, 40, 24);
	check_width(make_report(&s, SIGINT), 40);
	close(s.terminal);
	close(s.errors);
	REQUIRE(waitpid(s.pid, &status, 0) == s.pid);
	CHECK_INT(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
	live_destroy(target);
}

/* A pipe gets the lines that scripts parse. */
static void through_a_pipe(void)
{
	struct live_process *target = target_start(TRENDS_BINARY);
	struct live_process *memtrace =
		memtrace_start_plain(live_pid(target), "-i 3600 --older 0");
	_cleanup_(freep) char *title = NULL;
	bool has_heading = false;
	char *line;

	REQUIRE(live_wait_stderr(memtrace, "tracing pid", 60));
	oracle_do(target, "work");
	live_signal(memtrace, SIGINT);
	title = live_read_line(memtrace, 60);
	CHECK_CONTAINS(title, "memtrace report 1 of process ");
	/* with the date */
	CHECK_CONTAINS(title, ", 20");
	while ((line = live_read_line(memtrace, 60))) {
		has_heading |= line[0] == '[' &&
			       strstr(line, "stacks with outstanding allocations:");
		CHECK(strncmp(line, "too ", 4) != 0);
		free(line);
	}
	CHECK(has_heading);
	CHECK_INT(live_wait(memtrace, 60), 0);
	live_destroy(memtrace);
	live_destroy(target);
}

int main(void)
{
	live_require_root();
	RUN(terminal);
	RUN(through_a_pipe);
	return check_done();
}
