/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends connections whose client is too slow. libmicrohttpd ends those that are idle, but
 * a client that sends or takes a byte now and then is never idle.
 */
#ifndef SERVE_GUARD_H
#define SERVE_GUARD_H

#include <stdint.h>

struct guard;
struct guarded; /* a connection */

struct guard_limits {
	uint64_t request_ns; /* a client may take this long to send a request */
	/* With more connections than `crowd`: this long, so that clients who send
	 * nothing keep others out for a moment only. */
	unsigned crowd;
	uint64_t crowded_ns;
};

/* Start the thread that ends connections. NULL: out of memory or threads. There is no
 * end: the guard lives as long as its process. */
struct guard *guard_start(const struct guard_limits *limits);

/* Watch a connection's socket, until guard_remove(): a request is awaited. A socket whose
 * time is over is shut down, not closed. NULL: out of memory. */
struct guarded *guard_add(struct guard *guard, int socket);
/* From now on a request is awaited, or a response is sent, for `limit_ns` at most. NULL
 * does nothing. */
void guard_request(struct guard *guard, struct guarded *connection);
void guard_response(struct guard *guard, struct guarded *connection, uint64_t limit_ns);
/* To be called before the socket is closed. NULL does nothing. */
void guard_remove(struct guard *guard, struct guarded *connection);

#endif
