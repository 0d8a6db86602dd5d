/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --listen: a confined child, memtrace-serve, that answers HTTP requests
 * (docs/listen.md). The run gives it snapshots when it asks, and never waits for it or
 * for its clients. If the child ends, it is started again a few times.
 */
#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H

#include "options/options.h"
#include "output/report_setup.h"
#include "snapshot/snapshot.h"
#include "util/error.h"
#include "util/listen_address.h"

struct serve;

/*
 * Listen and start the child. To be called before a target is touched and before
 * privileges are given up. *ret is NULL without --listen. `options` and `setup` are
 * borrowed. ERROR_IO: the address is taken, or the path exists; the message says what to
 * do.
 */
struct error *serve_start(const struct options *options, const struct report_setup *setup,
			  struct serve **ret) __attribute__((warn_unused_result));

/*
 * A process that this one has forked may serve in its place, with the copy of `serve`: it
 * calls serve_is_asked() and the functions after it, and not serve_stop(). Meanwhile this
 * process does not call them. If the child ends, only this process can start another one:
 * serve_is_alive() says when.
 */
bool serve_is_alive(const struct serve *serve);

/* Stop listening. Removes the file of a unix socket. NULL is fine. */
void serve_stop(struct serve *serve);

/* Readable when serve_is_asked() should be called; -1: never. Changes when the child is
 * started again. */
int serve_fd(const struct serve *serve);

/* Does a client wait for a snapshot? *wants_blocks: sums are not enough (observe/feed.h).
 * False for NULL. Starts the child again if it has ended. */
bool serve_is_asked(struct serve *serve, bool *wants_blocks);

/* Answer with a snapshot, as feed_send(), or with an error, which stays the caller's. */
void serve_answer(struct serve *serve, const struct snapshot *snap, bool has_blocks,
		  uint64_t taken_ns);
void serve_refuse(struct serve *serve, const char *why);

/* Where it listens, with the port that the kernel has chosen. Borrowed. */
const struct listen_address *serve_address(const struct serve *serve);

/* Print where clients can connect. */
void serve_say(const struct serve *serve);

#endif
