// SPDX-License-Identifier: Apache-2.0
#include "util/fd_message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
	char bytes[CMSG_SPACE(sizeof(int) * FD_MESSAGE_MAX)];
	struct cmsghdr align;
};

static void put_fds(struct msghdr *msg, union control *control, const int fds[],
		    size_t count)
{
	msg->msg_control = control->bytes;
	msg->msg_controllen = CMSG_SPACE(sizeof(int) * count);

	struct cmsghdr *c = CMSG_FIRSTHDR(msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int) * count);
	memcpy(CMSG_DATA(c), fds, sizeof(int) * count);
}

static ssize_t send_some(int socket, const void *bytes, size_t size, const int fds[],
			 size_t fd_count, int flags)
{
	union control control = {0};
	struct iovec iov = {.iov_base = (void *)bytes, .iov_len = size};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (fd_count > FD_MESSAGE_MAX) {
		errno = EINVAL;
		return -1;
	}
	if (fd_count)
		put_fds(&msg, &control, fds, fd_count);
	return sendmsg(socket, &msg, flags | MSG_NOSIGNAL);
}

ssize_t fd_message_send_some(int socket, const void *bytes, size_t size, const int fds[],
			     size_t fd_count)
{
	return send_some(socket, bytes, size, fds, fd_count, MSG_DONTWAIT);
}

int fd_message_send(int socket, const void *bytes, size_t size, const int fds[],
		    size_t fd_count)
{
	const char *at = bytes;

	while (size) {
		ssize_t n = send_some(socket, at, size, fds, fd_count, 0);

		if (n < 0 && errno != EINTR)
			return errno;
		if (n <= 0)
			continue;
		at += n;
		size -= (size_t)n;
		fd_count = 0;
	}
	return 0;
}

static void take_fds(struct msghdr *msg, int fds[], size_t max, size_t *count)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = CMSG_LEN(0); at + sizeof(int) <= c->cmsg_len;
		     at += sizeof(int)) {
			int fd;

			memcpy(&fd, (char *)c + at, sizeof(fd));
			if (*count < max)
				fds[(*count)++] = fd;
			else
				close(fd);
		}
	}
}

ssize_t fd_message_receive(int socket, void *bytes, size_t size, int fds[],
			   size_t fds_max, size_t *ret_count)
{
	union control control = {0};
	struct iovec iov = {.iov_base = bytes, .iov_len = size};
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	ssize_t n;

	*ret_count = 0;
	while ((n = recvmsg(socket, &msg, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
		;
	if (n < 0)
		return n;
	take_fds(&msg, fds, fds_max, ret_count);
	if (!(msg.msg_flags & MSG_CTRUNC))
		return n;
	while (*ret_count)
		close(fds[--*ret_count]);
	errno = EMFILE;
	return -1;
}
