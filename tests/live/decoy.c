// SPDX-License-Identifier: Apache-2.0
#include "live/decoy.h"

#include <errno.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "check.h"

struct decoy decoy_watch(const char *path)
{
	struct decoy decoy = {inotify_init1(IN_NONBLOCK | IN_CLOEXEC)};

	REQUIRE(decoy.watch >= 0 && inotify_add_watch(decoy.watch, path, IN_OPEN) >= 0);
	return decoy;
}

void decoy_check(struct decoy *decoy, const char *what)
{
	char events[4096];
	ssize_t n = read(decoy->watch, events, sizeof(events));

	if (n >= 0 || errno != EAGAIN)
		CHECK_FAIL("%s was opened", what);
	check_state.checks++;
	close(decoy->watch);
	decoy->watch = -1;
}
