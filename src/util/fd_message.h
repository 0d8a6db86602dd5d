/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes and descriptors over a Unix socket (unix(7), SCM_RIGHTS). */
#ifndef UTIL_FD_MESSAGE_H
#define UTIL_FD_MESSAGE_H

#include <stddef.h>
#include <sys/types.h>

/* The most descriptors of one message (SCM_MAX_FD, include/net/scm.h, is 253). */
#define FD_MESSAGE_MAX 64

/* Send `size` bytes and, with the first of them, `fd_count` descriptors, which stay the
 * caller's. Returns 0 or an errno value: EPIPE if nobody reads. */
int fd_message_send(int socket, const void *bytes, size_t size, const int fds[],
		    size_t fd_count);

/*
 * Receive up to `size` bytes and the descriptors that came with them. They are the
 * caller's and are closed on exec; those beyond `fds_max` are closed. Returns the number
 * of bytes, 0 at the end of the stream, or -1 with errno set. EMFILE: not all descriptors
 * could be received, and those that were are closed.
 */
ssize_t fd_message_receive(int socket, void *bytes, size_t size, int fds[],
			   size_t fds_max, size_t *ret_count);

#endif
