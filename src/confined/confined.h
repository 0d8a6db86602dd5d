/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child process for work that is dangerous for root: parsing bytes that others have
 * written. It is a fork of this process without capabilities and without root's user id
 * (confined/shed.h), with no_new_privs, a seccomp filter and only its socket as a
 * descriptor. It answers requests one after the other. If it fails or is killed, only the
 * answer is lost.
 */
#ifndef CONFINED_CONFINED_H
#define CONFINED_CONFINED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "confined/broker.h"
#include "confined/landlock.h"
#include "confined/wire.h"
#include "util/error.h"

struct confined;
struct confined_server;

enum confined_kind {
	/* Opens no files. This process answers its system calls with a path, as the
	 * policy decides (confined/broker.h). */
	CONFINED_READER,
	/* Keeps access to files and sockets. */
	CONFINED_CLIENT,
	/* For the opposite case: this process gives up privileges for such work itself.
	 * The child keeps root's user id, the capabilities to create files, and the
	 * working directory. If this process is killed, it removes what is incomplete
	 * and ends. */
	CONFINED_WRITER,
	/* Answers clients of a socket that this process has opened. It answers no
	 * requests of this process, but runs a function of its own. It opens no files
	 * and no sockets, and may create threads. */
	CONFINED_SERVER,
	/* Stops other processes and reads their memory, which this process gives up. It
	 * has not root's user id, keeps the capabilities for that, and opens files for
	 * reading. */
	CONFINED_SCANNER,
};

/* A request in the child. */
struct confined_request {
	uint32_t number;
	struct wire in;
	int fd; /* descriptor sent with it; owned by the child's loop; -1: none */
	struct strbuf *out; /* the answer */
	int *ret_fd; /* descriptor to send with the answer, then closed; -1: none */
	struct confined_server *server;
};

/* A service: handles requests with numbers from `first` to `first + count - 1`. */
struct confined_service {
	uint32_t first, count;
	/* In the child: answer a request. An error is passed to the caller unchanged. */
	struct error *(*answer)(void *state, struct confined_request *request);
	void *state; /* in the child, a copy of the state at its start */
};

/* See confined_options.stopping_ns. */
#define CONFINED_LATE_NS (UINT64_C(5) * 1000000000)
#define CONFINED_END_NS  (UINT64_C(9) * 1000000000)

struct confined_options {
	enum confined_kind kind;
	const char *name;                        /* of the process, at most 15 bytes */
	const struct confined_service *services; /* used only by the child */
	size_t service_count;
	/* The files that a reader may open; must outlive the child. If `find` is NULL:
	 * none. */
	struct broker_policy policy;
	/* Fail instead of starting the child without a filter. */
	bool needs_filter;
	/* Longest answer of a client, ns: it is then killed, as a reader is after a
	 * minute. 0: no bound. */
	uint64_t answer_ns;
	/* Largest file that a client may write, bytes (RLIMIT_FSIZE). 0: no bound. */
	uint64_t file_bytes;
	/* The files that a client may open, if the kernel has Landlock. NULL: all that
	 * its user may open. Borrowed until confined_start() returns. */
	const struct landlock_files *files;
	/* Of a server: its function, which gets its end of confined_socket() and the
	 * descriptor that it keeps. The child exits when it returns. */
	void (*run)(void *arg, int socket, int kept);
	void *run_arg;
	int kept; /* borrowed until confined_start() returns */
	/* Called in the child before it ends because this process ended or closed the
	 * socket. May be NULL. */
	void (*ends)(void *arg);
	void *ends_arg;
	/* Receives what the child is working on; NULL: not reported. */
	void (*progress)(void *arg, const char *phase);
	void *progress_arg;
	/* Answers confined_ask() in this process. Returns a descriptor, which is then
	 * closed, or -1. May be NULL. */
	int (*question)(void *arg, struct wire *question);
	void *question_arg;
	/*
	 * Time since a signal asked for the end of the run, ns; 0: none has. Called
	 * every second, and after each message, while an answer is awaited. From
	 * CONFINED_LATE_NS on a client is killed. So is a reader that has used no
	 * processor time for a second, or 4 s of it since its last message. From
	 * CONFINED_END_NS on any child is killed, whatever it does. May be NULL.
	 */
	uint64_t (*stopping_ns)(void *arg);
	void *stopping_arg;
};

/*
 * Start the child. Without a filter, because the kernel or a sandbox permits none, it
 * runs with *ret_why set (owned by the caller; else NULL). Such a child has given up all
 * other privileges; only a reader with a policy keeps the capabilities to open what it
 * reads (shed_for_reading()). Fails if memory or descriptors for a filter are exhausted:
 * a target can cause that.
 */
struct error *confined_start(const struct confined_options *options,
			     struct confined **ret, struct error **ret_why)
	__attribute__((warn_unused_result));
/* Kill the child. NULL is fine. */
void confined_destroy(struct confined *confined);

int confined_pid(const struct confined *confined);

/* This process's end of the socket, for talking to a server. Borrowed. */
int confined_socket(const struct confined *confined);

/*
 * Send a request, with `in` and `fd` (-1: none), and wait for the answer. It is stored in
 * `out`, which must be empty, and a descriptor sent with it in *ret_fd (-1: none; NULL:
 * closed). Any thread may call; calls wait for each other. Returns the service's errors;
 * ERROR_GONE: the child has exited, was killed (answer_ns) or has used up its memory;
 * ERROR_NO_MEMORY: this process has none left, or a writer.
 */
struct error *confined_call(struct confined *confined, uint32_t number,
			    const struct strbuf *in, int fd, struct strbuf *out,
			    int *ret_fd) __attribute__((warn_unused_result));

/* In the child: ask the parent for a descriptor, owned by the caller; -1: refused. */
int confined_ask(struct confined_server *server, const struct strbuf *question);

/* In the child: report what it is working on. */
void confined_say(struct confined_server *server, const char *phase);

#endif
