/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a run hands its state to a consumer in another process, such as the one that
 * answers HTTP requests: docs/mechanisms.md, "Reading the tables". The answer is a
 * snapshot in a memory file that is sealed against changes. So the consumer can render it
 * for as long as it likes, and whatever takes it over has no privilege.
 * observe/observer.h is the consumer's side.
 */
#ifndef OBSERVE_FEED_H
#define OBSERVE_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "snapshot/snapshot.h"
#include "util/error.h"

/* An answer. A memory file with the snapshot comes with it, if `has_snapshot`. */
struct feed_answer {
	bool has_snapshot;
	bool has_blocks;   /* the snapshot has everything: blocks, trends, and what growth
			      counts from; else only sums (snapshot/sums.h) */
	uint64_t taken_ns; /* how long the run took to make it, ns */
	uint64_t tracer_cpu_ns;    /* of this process and its ended children, ns */
	uint64_t tracer_rss_bytes; /* of this process; 0: unknown */
	char why[200];             /* without a snapshot: why, one line, escaped */
};

/* What the consumer asks for: a byte of the socket. */
#define FEED_ASKS_BLOCKS 'b' /* everything */
#define FEED_ASKS_SUMS   's' /* what is enough for sums by call path */

/*
 * Has the consumer asked since the last call? `socket` is the run's end of a stream
 * socket; the call does not wait. *gone: the consumer has closed its end. *wants_blocks:
 * sums are not enough.
 */
bool feed_is_asked(int socket, bool *gone, bool *wants_blocks);

/*
 * Answer with `snap`, which has its names (report/recorded.h), and with its blocks if
 * `has_blocks`. *sent is false if the
 * consumer does not read its socket: it is then of no use any more. ERROR_IO: no memory
 * file can be made.
 */
struct error *feed_send(int socket, const struct snapshot *snap, bool has_blocks,
			uint64_t taken_ns, bool *sent)
	__attribute__((warn_unused_result));

/* Answer that no snapshot is available. False as *sent above. */
bool feed_refuse(int socket, const char *why);

#endif
