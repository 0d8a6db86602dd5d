// SPDX-License-Identifier: Apache-2.0
#include "util/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>

#include "util/cleanup.h"
#include "util/open_helper.h"

int place_find(int root_fd, const char *path, uint64_t flags)
{
	return open_helper_find(root_fd, path, flags, RESOLVE_IN_ROOT);
}

int place_open(const char *path, uint64_t flags)
{
	return open_helper_find(AT_FDCWD, path, flags, 0);
}

int regular_file_reopen(int place)
{
	struct stat st;

	if (place < 0 || open_helper_stat(place, "", &st))
		return -1;
	if (!S_ISREG(st.st_mode)) {
		errno = ENODEV;
		return -1;
	}
	return open_helper_reopen(place, 0);
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
