// SPDX-License-Identifier: Apache-2.0
#include "session/fetch_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/cache.h"
#include "confined/shed.h"
#include "util/cleanup.h"

/* debuginfod_find_debuginfo(3) */
#define CACHE_PATH_ENV "DEBUGINFOD_CACHE_PATH"

/* Open the parent of the directory. *ret_name is the directory's name; static. */
static struct error *open_parent(int *ret, const char **ret_name)
{
	const char *named = getenv(CACHE_PATH_ENV);
	struct cache cache;
	struct error *err;

	if (named && *named) {
		*ret_name = "memtrace-debuginfod";
		(void)mkdir(named, 0755);
		*ret = open(named, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		return *ret >= 0 ? NULL
				 : error_errno(ERROR_IO, errno,
					       "cannot open the directory %s", named);
	}
	*ret_name = "debuginfod";
	err = cache_open(&cache);
	*ret = cache.dir;
	cache.dir = -1;
	cache_close(&cache);
	return err;
}

/* Give the directory to the process that fetches. One that was there already is left
 * alone unless it belongs to that process: it may be another program's. */
static struct error *give(int fd, const char *name, bool is_new, uid_t user)
{
	struct stat st;

	if (fstat(fd, &st))
		return error_errno(ERROR_IO, errno, "cannot look at %s", name);
	if (st.st_uid != user && !(is_new && !st.st_uid))
		return error_create(ERROR_PERMISSION,
				    "the directory %s of the cache belongs to user %u",
				    name, st.st_uid);
	if (fchmod(fd, 0700) || fchown(fd, user, user))
		return error_errno(ERROR_PERMISSION, errno,
				   "cannot give the directory %s of the cache to user %u",
				   name, user);
	return NULL;
}

struct error *fetch_cache_open(int *ret)
{
	_cleanup_(closep) int parent = -1, fd = -1;
	uid_t user = shed_user();
	const char *name;
	struct error *err;
	bool is_new;

	*ret = -1;
	if (geteuid())
		return NULL;
	err = open_parent(&parent, &name);
	if (err)
		return err;
	is_new = !mkdirat(parent, name, 0700);
	if (!is_new && errno != EEXIST)
		return error_errno(ERROR_IO, errno, "cannot make the directory %s", name);
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return error_errno(ERROR_IO, errno, "cannot open the directory %s", name);
	err = give(fd, name, is_new, user);
	if (err)
		return err;
	*ret = fd;
	fd = -1;
	return NULL;
}
