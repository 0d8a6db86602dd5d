/* SPDX-License-Identifier: Apache-2.0 */
/* What both ends of a confined process's socket agree on, and the child's part. */
#ifndef CONFINED_SERVE_H
#define CONFINED_SERVE_H

#include "confined/confined.h"

/* Longer messages are refused. */
#define MESSAGE_MAX_BYTES (256u << 20)

enum message_kind {
	MESSAGE_READY, /* the child is confined; with the listener of a reader */
	MESSAGE_OPEN,  /* the child cannot be confined, and ends; the payload is the error
			*/
	MESSAGE_ASK,   /* `number` */
	MESSAGE_SAY,   /* the payload is a text */
	MESSAGE_QUESTION, /* of the child, before it answers */
	MESSAGE_REPLY,    /* to that, with a descriptor if there is one */
	MESSAGE_ANSWER,   /* of the last request */
	MESSAGE_REFUSED,  /* the same; the payload is the error */
};

/* Before each payload. A descriptor may come with it. */
struct message_head {
	uint32_t kind, number, size_bytes;
};

/* Send a message. Returns 0 or an errno value. */
int message_put(int socket, enum message_kind kind, uint32_t number,
		const struct strbuf *payload, int fd);

/*
 * Receive a message; the payload goes into `payload`, which was empty. *ret_fd is the
 * caller's, -1: there is none. Returns 0 or an errno value: EPIPE at the end of the
 * stream, EPROTO, ENOMEM.
 */
int message_get(int socket, struct message_head *ret, struct strbuf *payload,
		int *ret_fd);

/* An error as a payload, and back; the error is the caller's. */
void error_put(struct strbuf *out, const struct error *err);
struct error *error_get(const struct strbuf *in);

/* Become the child: never returns. `socket` is its end, `parent` the pid of the process
 * that waits for it. */
_Noreturn void confined_serve(const struct confined_options *options, bool is_confined,
			      int socket, int parent);

#endif
