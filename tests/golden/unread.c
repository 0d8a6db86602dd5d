// SPDX-License-Identifier: Apache-2.0
/* Output without a reader, as in `memtrace ... | head`: the run ends without a message,
 * by SIGPIPE or, where that is ignored, with the status that a shell shows for it. */
#include "check.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/cleanup.h"

#define STORED        TEST_DATA_DIR "/golden/screens/shop.mts"
#define OTHER         TEST_DATA_DIR "/golden/screens/redis.mts"
#define STATUS_UNREAD (128 + SIGPIPE)

/* Each way to write something to standard output, without a process to trace. */
static const char *const modes[][8] = {
	{"--help"},
	{"--help", "all"},
	{"--help", "examples"},
	{"--version"},
	{"--replay", STORED, "-q"},
	{"--replay", STORED, "-q", "--format=text", "--top=0", "--show-allocs"},
	{"--replay", STORED, "-q", "--format=json", "--top=0"},
	{"--replay", STORED, "-q", "--format=brief"},
	{"--replay", STORED, "-q", "-o", "-"},
	{"--replay", STORED, "-q", "--view=tree"},
	{"--replay", STORED, "-q", "--csv=-"},
	{"--replay", STORED, "-q", "--json=-"},
	{"--replay", STORED, "-q", "--html=-"},
	{"--replay", STORED, "-q", "--flame=-"},
	{"--replay", STORED, "-q", "--flamegraph=-"},
	{"--replay", STORED, "-q", "--pprof=-"},
	{"--replay", STORED, "-q", "--save=-"},
	{"--diff", STORED, OTHER, "-q"},
	{"--diff", STORED, OTHER, "-q", "--format=json"},
	{"--diff", STORED, OTHER, "-q", "--csv=-"},
	{"--diff", STORED, OTHER, "-q", "--flame=-"},
};

/* Start memtrace with its output in a pipe. *ret_out, *ret_err: the ends to read. */
static pid_t start(const char *const mode[8], bool ignores, int *ret_out, int *ret_err)
{
	const char *argv[10] = {"memtrace"};
	int out[2], err[2];
	pid_t pid;

	memcpy(argv + 1, mode, 8 * sizeof(*mode));
	REQUIRE(!pipe2(out, O_CLOEXEC) && !pipe2(err, O_CLOEXEC));
	fflush(NULL);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		signal(SIGPIPE, ignores ? SIG_IGN : SIG_DFL);
		dup2(out[1], STDOUT_FILENO);
		dup2(err[1], STDERR_FILENO);
		execv(MEMTRACE, (char *const *)argv);
		_exit(127);
	}
	close(out[1]);
	close(err[1]);
	*ret_out = out[0];
	*ret_err = err[0];
	return pid;
}

static void check_quiet(const char *const mode[8], int err)
{
	char text[4096];
	ssize_t n = read(err, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	if (*text)
		CHECK_FAIL("%s %s %s: says %s", mode[0], mode[1] ? mode[1] : "",
			   mode[3] ? mode[3] : "", text);
	check_state.checks++;
}

/* `after`: read so many bytes before the pipe is closed. */
static void check_mode(const char *const mode[8], bool ignores, size_t after)
{
	int out, err, status;
	pid_t pid = start(mode, ignores, &out, &err);
	char byte;

	for (; after && read(out, &byte, 1) == 1; after--)
		;
	close(out);
	REQUIRE(waitpid(pid, &status, 0) == pid);
	if (WIFSIGNALED(status))
		CHECK(!ignores && WTERMSIG(status) == SIGPIPE);
	else
		CHECK(!WEXITSTATUS(status) || WEXITSTATUS(status) == STATUS_UNREAD);
	check_quiet(mode, err);
	close(err);
}

static void every_mode(void)
{
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		for (int ignores = 0; ignores <= 1; ignores++) {
			check_mode(modes[i], ignores, 0);
			check_mode(modes[i], ignores, 1);
			check_mode(modes[i], ignores, 5000);
		}
	}
}

/* A real error is still said: the disk is full. */
static void other_errors(void)
{
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC), err[2], status;
	char text[4096];
	ssize_t n;
	pid_t pid;

	REQUIRE(full >= 0 && !pipe2(err, O_CLOEXEC));
	fflush(NULL);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		dup2(full, STDOUT_FILENO);
		dup2(err[1], STDERR_FILENO);
		execl(MEMTRACE, "memtrace", "--replay", STORED, "-q", (char *)NULL);
		_exit(127);
	}
	close(err[1]);
	n = read(err[0], text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	CHECK_CONTAINS(text, "cannot write the report to standard output: No space left");
	REQUIRE(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	close(err[0]);
	close(full);
}

int main(void)
{
	RUN(every_mode);
	RUN(other_errors);
	return check_done();
}
