// SPDX-License-Identifier: Apache-2.0
#include "util/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/cleanup.h"

/* The kernel gives up with EAGAIN when anything in the system is renamed while it follows
 * ".." (openat2(2)). */
#define TRIES_MAX 16

int place_find(int root_fd, const char *path, uint64_t flags)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | flags,
		.resolve = RESOLVE_IN_ROOT,
	};
	int place = -1;

	for (int i = 0; i < TRIES_MAX; i++) {
		place = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
		if (place >= 0 || errno != EAGAIN)
			break;
	}
	return place;
}

int regular_file_reopen(int place)
{
	char link[32];
	struct stat st;

	if (place < 0 || fstat(place, &st))
		return -1;
	if (!S_ISREG(st.st_mode)) {
		errno = ENODEV;
		return -1;
	}
	snprintf(link, sizeof(link), "/proc/self/fd/%d", place);
	return open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

int regular_file_open(const char *path)
{
	_cleanup_(closep) int place = open(path, O_PATH | O_CLOEXEC);

	return regular_file_reopen(place);
}

int regular_file_open_below(int root_fd, const char *path)
{
	_cleanup_(closep) int place = place_find(root_fd, path, 0);

	return regular_file_reopen(place);
}
