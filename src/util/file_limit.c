// SPDX-License-Identifier: Apache-2.0
#include "util/file_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "util/cleanup.h"

struct error *file_limit_check(unsigned least)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_max >= least)
		return NULL;
	return error_create(ERROR_UNSUPPORTED,
			    "memtrace may open %" PRIu64 " files only, and needs %u at "
			    "least: raise the hard limit (ulimit -Hn %u)",
			    (uint64_t)limit.rlim_max, least, least);
}

struct error *file_limit_has_room(unsigned count)
{
	_cleanup_(closep) int fd = open("/", O_PATH | O_CLOEXEC);

	if (fd < 0)
		return error_errno(ERROR_IO, errno, "memtrace needs more descriptors");
	return count > 1 ? file_limit_has_room(count - 1) : NULL;
}

bool file_limit_is_reached(const struct error *err)
{
	/* libbcc and the kernel's verifier report it as text. */
	return err->saved_errno == EMFILE || err->saved_errno == ENFILE ||
	       (err->detail && strstr(err->detail, strerror(EMFILE)));
}

void file_limit_raise(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}
