/* SPDX-License-Identifier: Apache-2.0 */
/* The socket that clients connect to. */
#ifndef SERVE_LISTENER_H
#define SERVE_LISTENER_H

#include <sys/types.h>

#include "util/error.h"
#include "util/listen_address.h"

struct listener {
	int fd;                        /* -1: none */
	struct listen_address address; /* with the port that the kernel has chosen */
	/* The file of a unix socket. */
	dev_t device;
	ino_t inode;
};

#define LISTENER_NONE                                                                    \
	(struct listener)                                                                \
	{                                                                                \
		.fd = -1                                                                 \
	}

/*
 * Listen. A unix socket gets mode 0600, and its path must not exist: nothing is replaced,
 * and no symbolic link at its end is followed. ERROR_IO says what to do. `address` is
 * copied; its path is borrowed.
 */
struct error *listener_open(const struct listen_address *address, struct listener *ret)
	__attribute__((warn_unused_result));

/* Close it, and remove the file of a unix socket if the path still leads to it. */
void listener_close(struct listener *listener);

#endif
