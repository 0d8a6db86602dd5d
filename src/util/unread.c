// SPDX-License-Identifier: Apache-2.0
#include "util/unread.h"

#include <poll.h>

bool fd_is_unread(int fd)
{
	struct pollfd at = {.fd = fd, .events = POLLOUT};

	/* Of a pipe without a reader; of a socket that is closed (poll(2)). */
	return poll(&at, 1, 0) > 0 && at.revents & (POLLERR | POLLHUP);
}
