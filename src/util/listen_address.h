/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the address that a server listens on. No name is resolved. */
#ifndef UTIL_LISTEN_ADDRESS_H
#define UTIL_LISTEN_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

#include "util/error.h"

struct listen_address {
	struct sockaddr_storage socket;
	socklen_t size_bytes; /* of `socket` */
	bool is_loopback;     /* 127.0.0.0/8, ::1, or the same mapped into IPv6 */
	const char *path;     /* of a unix socket, borrowed from the text; NULL: TCP */
};

/*
 * Parse "PORT" (on 127.0.0.1), "ADDRESS:PORT", "[ADDRESS]:PORT" (IPv6), "localhost:PORT"
 * or "unix:PATH". Port 0 asks the kernel for a free port. ERROR_USAGE: the message says
 * what is wrong with `text` and what to write instead, without quoting it.
 */
struct error *listen_address_parse(const char *text, struct listen_address *ret)
	__attribute__((warn_unused_result));

/* Write the address as a URL's authority ("127.0.0.1:9911", "[::1]:9911") or as
 * "unix:PATH". Cut off if `size` is too small; LISTEN_ADDRESS_TEXT is enough. */
#define LISTEN_ADDRESS_TEXT 128
void listen_address_format(const struct listen_address *address, char *ret, size_t size);

#endif
