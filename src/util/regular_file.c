// SPDX-License-Identifier: Apache-2.0
#include "util/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "util/cleanup.h"
#include "util/file_system.h"
#include "util/open_helper.h"

int place_find(int root_fd, const char *path, uint64_t flags)
{
	return open_helper_find(root_fd, path, flags, RESOLVE_IN_ROOT);
}

int place_find_plain(int root_fd, const char *path)
{
	return open_helper_find(root_fd, path, 0, RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS);
}

int place_open(const char *path, uint64_t flags)
{
	return open_helper_find(AT_FDCWD, path, flags, 0);
}

static int reopen(int place, bool may_be_proc)
{
	struct stat st;

	if (place < 0 || open_helper_stat(place, "", &st))
		return -1;
	if (!S_ISREG(st.st_mode)) {
		errno = ENODEV;
		return -1;
	}
	if (file_system_is_of_kernel(place) &&
	    !(may_be_proc && file_system_is_proc(place))) {
		errno = file_system_of(place) ? EACCES : ETIMEDOUT;
		return -1;
	}
	return open_helper_reopen(place, 0);
}

int regular_file_reopen(int place)
{
	return reopen(place, false);
}

int regular_file_reopen_proc(int place)
{
	return reopen(place, true);
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
