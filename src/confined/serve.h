/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol on a confined process's socket, and the child's side. */
#ifndef CONFINED_SERVE_H
#define CONFINED_SERVE_H

#include "confined/confined.h"

/* Longer messages are refused. */
#define MESSAGE_MAX_BYTES (256u << 20)

enum message_kind {
	/* the child is confined; sent with a reader's listener */
	MESSAGE_READY,
	MESSAGE_OPEN, /* the child cannot be confined, and exits; payload: the error */
	MESSAGE_ASK,  /* a request: its `number` */
	MESSAGE_SAY,  /* payload: what the child is working on */
	MESSAGE_QUESTION, /* the child asks the parent, before it answers */
	MESSAGE_REPLY,    /* reply to MESSAGE_QUESTION, maybe with a descriptor */
	MESSAGE_ANSWER,   /* answer to the last request */
	MESSAGE_REFUSED,  /* the last request failed; payload: the error */
};

/* In the child: its end of the socket. */
struct confined_server {
	int socket;
};

/* Precedes each payload. A descriptor may be sent with it. */
struct message_head {
	uint32_t kind, number, size_bytes;
};

/* How long the transfer of one message may take. */
struct message_limit {
	uint64_t most_ns; /* from the call on */
	/* Called now and then: may it go on? */
	bool (*goes_on)(void *arg);
	void *arg;
};

/* Send a message. `limit`: NULL: none. Returns 0 or an errno value: EPIPE if the other
 * end is closed, ETIMEDOUT. */
int message_put(int socket, const struct message_limit *limit, enum message_kind kind,
		uint32_t number, const struct strbuf *payload, int fd);

/*
 * Receive a message. The payload is stored in `payload`, which must be empty. The
 * caller owns *ret_fd; -1: none. `limit`: NULL: none. Returns 0 or an errno value: EPIPE
 * at the end of the stream, EPROTO, ENOMEM, ETIMEDOUT.
 */
int message_get(int socket, const struct message_limit *limit, struct message_head *ret,
		struct strbuf *payload, int *ret_fd);

/* Write an error to a payload, and read it back. The caller owns the errors. */
void error_put(struct strbuf *out, const struct error *err);
struct error *error_get(const struct strbuf *in);

/* The child's main function. `socket` is its end, `parent` the pid of the parent. */
_Noreturn void confined_serve(const struct confined_options *options, bool is_confined,
			      int socket, int parent);

#endif
