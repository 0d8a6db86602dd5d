/* SPDX-License-Identifier: Apache-2.0 */
/* A simple target: it prints that it is ready, does `work` for each line on stdin, and
 * prints that it is done. Does not allocate by itself. */
#ifndef TARGETS_SIMPLE_H
#define TARGETS_SIMPLE_H

#include <string.h>
#include <unistd.h>

static inline void say(const char *line)
{
	if (write(STDOUT_FILENO, line, strlen(line)) < 0)
		_exit(1);
}

static inline int serve(void (*work)(void))
{
	char c;

	say("{\"ready\":\"target\"}\n");
	while (read(STDIN_FILENO, &c, 1) == 1) {
		if (c != '\n')
			continue;
		work();
		say("{\"done\":\"work\"}\n");
	}
	return 0;
}

#endif
