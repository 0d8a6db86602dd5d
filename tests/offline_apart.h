/* SPDX-License-Identifier: Apache-2.0 */
/* --replay and --diff for tests. */
#ifndef TESTS_OFFLINE_APART_H
#define TESTS_OFFLINE_APART_H

#include "check.h"

#include <sys/wait.h>
#include <unistd.h>

#include "cli/diff.h"
#include "cli/replay.h"

/* Run them in a child process, which gives up its privileges. Returns an error with the
 * message of the run's error, owned; NULL: none. */
static inline struct error *offline_apart(const struct options *options)
{
	char message[1024] = "";
	int fds[2], status;
	ssize_t n;
	pid_t pid;

	REQUIRE(!pipe(fds));
	fflush(stdout);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		struct error *err = options->action == ACTION_DIFF ? diff_run(options)
								   : replay_run(options);

		if (err)
			dprintf(fds[1], "%s", err->message);
		fflush(stdout);
		_exit(err != NULL);
	}
	close(fds[1]);
	n = read(fds[0], message, sizeof(message) - 1);
	close(fds[0]);
	REQUIRE(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	if (!WEXITSTATUS(status))
		return NULL;
	return error_create(ERROR_IO, "%.*s", n > 0 ? (int)n : 0, message);
}

#endif
