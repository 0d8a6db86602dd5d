/* SPDX-License-Identifier: Apache-2.0 */
/* Sends bytes and descriptors over a Unix socket (unix(7), SCM_RIGHTS). */
#ifndef UTIL_FD_MESSAGE_H
#define UTIL_FD_MESSAGE_H

#include <stddef.h>
#include <sys/types.h>

/* Bound on descriptors per message. The kernel's is 253 (SCM_MAX_FD,
 * include/net/scm.h). */
#define FD_MESSAGE_MAX 64

/* Send `size` bytes and, with the first byte, `fd_count` descriptors, which the caller
 * keeps. Returns 0 or an errno value: EPIPE if the other end is closed. */
int fd_message_send(int socket, const void *bytes, size_t size, const int fds[],
		    size_t fd_count);

/* The same, but does not wait: returns the number of bytes sent, or -1 with errno set.
 * EAGAIN: the socket's buffer is full. The descriptors are sent with the first byte. */
ssize_t fd_message_send_some(int socket, const void *bytes, size_t size, const int fds[],
			     size_t fd_count);

/*
 * Receive up to `size` bytes and the descriptors sent with them. The caller owns the
 * descriptors, which have close-on-exec set; those beyond `fds_max` are closed. Returns
 * the number of bytes, 0 at the end of the stream, or -1 with errno set. EMFILE: some
 * descriptors could not be received, and all others were closed.
 */
ssize_t fd_message_receive(int socket, void *bytes, size_t size, int fds[],
			   size_t fds_max, size_t *ret_count);

#endif
