/* SPDX-License-Identifier: Apache-2.0 */
/* Child processes for tests. Each is killed when its test ends. */
#ifndef TESTS_UNIT_TARGET_CHILD_H
#define TESTS_UNIT_TARGET_CHILD_H

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

struct child {
	pid_t pid;
	int to, from; /* pipes to its stdin and stdout, or -1 */
};

/* Forks a child that runs `body(argument)` and then waits to be killed. Returns when the
 * body is done. */
static inline struct child child_fork(void (*body)(void *), void *argument)
{
	int ready[2];
	char byte;

	REQUIRE(pipe(ready) == 0);
	fflush(stdout);

	struct child c = {.pid = fork(), .to = -1, .from = -1};

	REQUIRE(c.pid >= 0);
	if (c.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (body)
			body(argument);
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	REQUIRE(read(ready[0], &byte, 1) == 1);
	close(ready[0]);
	return c;
}

/* Starts `path`, a copy of cat, and sends one byte through it: then libc is in use. */
static inline struct child child_cat(const char *path)
{
	int in[2], out[2];
	char byte = 'x';

	REQUIRE(pipe(in) == 0 && pipe(out) == 0);
	fflush(stdout);

	struct child c = {.pid = fork(), .to = in[1], .from = out[0]};

	REQUIRE(c.pid >= 0);
	if (c.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(in[0], 0);
		dup2(out[1], 1);
		close(in[1]);
		close(out[0]);
		execl(path, "cat", (char *)NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	REQUIRE(write(c.to, &byte, 1) == 1);
	REQUIRE(read(c.from, &byte, 1) == 1);
	return c;
}

/* Waits until the process sleeps: then a program that only waits has been loaded. */
static inline void child_await_sleep(pid_t pid)
{
	char path[32], text[512];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	for (int i = 0; i < 5000; i++) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;

		REQUIRE(n > 0);
		close(fd);
		text[n] = '\0';

		const char *state = strrchr(text, ')');

		if (state && !strncmp(state, ") S", 3))
			return;
		usleep(1000);
	}
	REQUIRE(!"the program went to sleep");
}

/* Executes the program at `path`, which prints nothing. False if the kernel refuses
 * it. */
static inline bool child_exec(const char *path, struct child *ret)
{
	int failed[2];
	char byte;

	REQUIRE(pipe2(failed, O_CLOEXEC) == 0);
	fflush(stdout);

	struct child c = {.pid = fork(), .to = -1, .from = -1};

	REQUIRE(c.pid >= 0);
	if (c.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl(path, path, (char *)NULL);
		if (write(failed[1], "", 1) != 1)
			_exit(1);
		_exit(127);
	}
	close(failed[1]);

	/* End-of-file: exec has closed the pipe. It may not have mapped the program
	 * yet. */
	bool ran = read(failed[0], &byte, 1) == 0;

	close(failed[0]);
	if (ran)
		child_await_sleep(c.pid);
	else
		waitpid(c.pid, NULL, 0);
	*ret = c;
	return ran;
}

/* Kills it and waits until it is a zombie. Does not reap it. */
static inline void child_kill(const struct child *c)
{
	siginfo_t info;

	kill(c->pid, SIGKILL);
	REQUIRE(waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOWAIT) == 0);
}

/* Kills and reaps it. */
static inline void child_end(struct child *c)
{
	if (c->to >= 0)
		close(c->to);
	if (c->from >= 0)
		close(c->from);
	kill(c->pid, SIGKILL);
	REQUIRE(waitpid(c->pid, NULL, 0) == c->pid);
}

/* A temporary directory for the test. */
static inline char *child_tmpdir(void)
{
	static char path[64];

	snprintf(path, sizeof(path), "/tmp/memtrace-test-XXXXXX");
	REQUIRE(mkdtemp(path));
	return path;
}

#endif
