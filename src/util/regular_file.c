// SPDX-License-Identifier: Apache-2.0
#include "util/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "util/cleanup.h"

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
	/* That opens nothing yet (open(2), O_PATH). */
	_cleanup_(closep) int place = open(path, O_PATH | O_CLOEXEC);

	return regular_file_reopen(place);
}
