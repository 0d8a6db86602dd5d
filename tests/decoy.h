/* SPDX-License-Identifier: Apache-2.0 */
/* A file that memtrace must not open, although a path leads to it. */
#ifndef DECOY_H
#define DECOY_H

#include <errno.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "check.h"

struct decoy {
	int watch; /* inotify(7) descriptor */
};

/* Watch for opens of the file that `path` leads to now. Finding it with O_PATH does not
 * count. Ends the test if inotify does not work. */
static inline struct decoy decoy_watch(const char *path)
{
	struct decoy decoy = {inotify_init1(IN_NONBLOCK | IN_CLOEXEC)};

	REQUIRE(decoy.watch >= 0 && inotify_add_watch(decoy.watch, path, IN_OPEN) >= 0);
	return decoy;
}

/* Check that the file was not opened, and stop watching. Failure messages name it
 * `what`. */
static inline void decoy_check(struct decoy *decoy, const char *what)
{
	char events[4096];
	ssize_t n = read(decoy->watch, events, sizeof(events));

	if (n >= 0 || errno != EAGAIN)
		CHECK_FAIL("%s was opened", what);
	check_state.checks++;
	close(decoy->watch);
	decoy->watch = -1;
}

#endif
