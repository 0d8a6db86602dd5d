// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bpf/compiler_child.h"

int message_send(int socket, const struct message *message, const int fds[],
		 size_t fd_count)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int) * MESSAGE_MAX_FDS)];
		struct cmsghdr align;
	} control = {0};
	struct iovec iov = {.iov_base = (void *)message, .iov_len = sizeof(*message)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (fd_count > MESSAGE_MAX_FDS)
		return EINVAL;
	if (fd_count) {
		msg.msg_control = control.bytes;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);

		struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
		memcpy(CMSG_DATA(c), fds, sizeof(int) * fd_count);
	}
	while (sendmsg(socket, &msg, MSG_NOSIGNAL) < 0) {
		if (errno != EINTR)
			return errno;
	}
	return 0;
}

int message_receive(int socket, struct message *message, int fds[], size_t *fd_count)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int) * MESSAGE_MAX_FDS)];
		struct cmsghdr align;
	} control = {0};
	struct iovec iov = {.iov_base = message, .iov_len = sizeof(*message)};
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	ssize_t n;

	*fd_count = 0;
	while ((n = recvmsg(socket, &msg, MSG_CMSG_CLOEXEC)) < 0) {
		if (errno != EINTR)
			return errno;
	}
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
			*fd_count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
			memcpy(fds, CMSG_DATA(c), *fd_count * sizeof(int));
		}
	}
	if (n == sizeof(*message))
		return 0;
	while (*fd_count > 0)
		close(fds[--*fd_count]);
	return n == 0 ? EPIPE : EPROTO;
}
