// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <unistd.h>

#include "compile/compiler_child.h"
#include "util/fd_message.h"

int message_send(int socket, const struct message *message, const int fds[],
		 size_t fd_count)
{
	return fd_message_send(socket, message, sizeof(*message), fds, fd_count);
}

int message_receive(int socket, struct message *message, int fds[], size_t *fd_count)
{
	ssize_t n = fd_message_receive(socket, message, sizeof(*message), fds,
				       MESSAGE_MAX_FDS, fd_count);

	/* The other side has ended without reading all that was sent to it. The kernel
	 * says so once, and before what the other side sent (net/unix/af_unix.c,
	 * unix_release_sock()). */
	if (n < 0 && errno == ECONNRESET)
		n = fd_message_receive(socket, message, sizeof(*message), fds,
				       MESSAGE_MAX_FDS, fd_count);
	if (n == sizeof(*message))
		return 0;
	while (*fd_count > 0)
		close(fds[--*fd_count]);
	return n < 0 ? errno : n == 0 ? EPIPE : EPROTO;
}
