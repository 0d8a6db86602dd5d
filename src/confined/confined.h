/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child process that does what is dangerous to do as root: it parses bytes that others
 * have made. It is a copy of this process without capabilities, with no_new_privs and a
 * seccomp filter, and has no descriptors but its socket. It answers requests one after
 * the other. If it fails or is ended, what was asked stays unknown, and nothing else is
 * lost.
 *
 * A reader (CONFINED_READER) opens no files. Its system calls with a path are answered by
 * this process as the policy decides (confined/broker.h). A client (CONFINED_CLIENT)
 * keeps files and sockets.
 */
#ifndef CONFINED_CONFINED_H
#define CONFINED_CONFINED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "confined/broker.h"
#include "confined/wire.h"
#include "util/error.h"

struct confined;
struct confined_server;

enum confined_kind {
	CONFINED_READER,
	CONFINED_CLIENT,
};

/* One request, as the child answers it. */
struct confined_request {
	uint32_t number;
	struct wire in;
	int fd;             /* came with it; owned by the child's loop; -1: none */
	struct strbuf *out; /* the answer */
	int *ret_fd;        /* goes with the answer, and is then closed; -1: none */
	struct confined_server *server;
};

/* Requests of one kind: numbers from `first` to `first + count - 1`. */
struct confined_service {
	uint32_t first, count;
	/* In the child: answer. An error is passed to the caller, as it is. */
	struct error *(*answer)(void *state, struct confined_request *request);
	void *state; /* of the child: what it was when the child was started */
};

struct confined_options {
	enum confined_kind kind;
	const char *name; /* of the process, at most 15 characters */
	const struct confined_service *services; /* used by the child alone */
	size_t service_count;
	/* What a reader may open, must outlive the child; without `find` nothing. */
	struct broker_policy policy;
	/* What the child says while it is busy; NULL: nobody listens. */
	void (*progress)(void *arg, const char *phase);
	void *progress_arg;
	/* Answers confined_ask() in this process: a descriptor, which is then closed, or
	 * -1. May be NULL. */
	int (*question)(void *arg, struct wire *question);
	void *question_arg;
	/* Asked every second while an answer is awaited: true ends a client, and a reader
	 * that has not computed anything for a second, that has computed for 4 s without
	 * a message, or that has not answered 30 s later. May be NULL. */
	bool (*gives_up)(void *arg);
	void *gives_up_arg;
};

/*
 * Start the child. With *ret_why not NULL the child runs, but without a filter and with
 * all capabilities, as the kernel, or a sandbox around this process, permits no filter;
 * the text says why and is the caller's.
 */
struct error *confined_start(const struct confined_options *options,
			     struct confined **ret, struct error **ret_why)
	__attribute__((warn_unused_result));
/* End it, whatever it does. NULL is fine. */
void confined_destroy(struct confined *confined);

int confined_pid(const struct confined *confined);

/*
 * Ask, and wait for the answer. `in` and `fd` (-1: none) are sent; the answer goes into
 * `out`, which was empty, and a descriptor that comes with it into *ret_fd (NULL: such
 * one is closed; -1: there is none). Any thread may call; calls wait for each other.
 *
 * Errors are those of the service, and ERROR_GONE: the child has ended, now or before, or
 * is a reader that gave no answer for a minute and was ended.
 */
struct error *confined_call(struct confined *confined, uint32_t number,
			    const struct strbuf *in, int fd, struct strbuf *out,
			    int *ret_fd) __attribute__((warn_unused_result));

/* In the child: ask the parent for a descriptor; -1: there is none. It is the caller's.
 */
int confined_ask(struct confined_server *server, const struct strbuf *question);

/* In the child: say what is being done. */
void confined_say(struct confined_server *server, const char *phase);

#endif
