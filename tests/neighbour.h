/* SPDX-License-Identifier: Apache-2.0 */
/* A process that starts programs all the time, beside the traced one. */
#ifndef TESTS_NEIGHBOUR_H
#define TESTS_NEIGHBOUR_H

#include <sys/wait.h>
#include <unistd.h>

/* Starts programs one after another until it is killed. Returns its pid, or -1 with errno
 * set. */
static inline pid_t neighbour_start(void)
{
	pid_t neighbour = fork();

	while (!neighbour) {
		pid_t pid = fork();

		if (!pid) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(127);
		}
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			_exit(1);
	}
	return neighbour;
}

#endif
