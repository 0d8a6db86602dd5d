// SPDX-License-Identifier: Apache-2.0
#include "util/unread.h"

#include <errno.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

bool fd_is_unread(int fd)
{
	struct pollfd at = {.fd = fd, .events = POLLOUT};
	struct stat st;

	/* A terminal that has gone away has the same events, but fails with EIO. */
	if (fstat(fd, &st) || !(S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
		return false;
	/* Of a pipe without a reader; of a socket that is closed (poll(2)). */
	return poll(&at, 1, 0) > 0 && at.revents & (POLLERR | POLLHUP);
}

int fd_write_errno(int fd)
{
	if (fd_is_unread(fd))
		return EPIPE;
	/* Nothing is written. The kernel still checks the descriptor, and devices fail.
	 */
	return write(fd, "", 0) < 0 ? errno : EIO;
}
