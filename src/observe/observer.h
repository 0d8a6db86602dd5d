/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The consumer's side of a run's state (observe/feed.h): observations, each a snapshot
 * with a report of all its call paths. Whoever asks within the given age gets the same
 * one. For one thread; the thread that uses an observation is the one that asks.
 */
#ifndef OBSERVE_OBSERVER_H
#define OBSERVE_OBSERVER_H

#include <stdint.h>

#include "observe/feed.h"
#include "output/report_setup.h"
#include "report/report.h"

/* The state of the run at one moment. It does not change. */
struct observation {
	struct feed_answer answer;
	uint64_t begun_ns;     /* CLOCK_MONOTONIC, before the run was asked */
	uint64_t run;          /* differs between runs whose stacks have other numbers */
	struct report *report; /* all call paths, also those that hold nothing now */
};

struct observer;

/*
 * `socket` is the consumer's end. `options` and `setup` say how reports are made. All are
 * borrowed and must outlive the observer. NULL when out of memory.
 */
struct observer *observer_create(int socket, const struct options *options,
				 const struct report_setup *setup);
void observer_destroy(struct observer *observer);

/*
 * Get an observation, with all blocks if `with_blocks`: otherwise perhaps only with sums
 * (snapshot/sums.h), which is faster. It was requested at most `max_age_ns` ago. If the
 * observer has none, it asks the run. The caller returns it by observer_put().
 * ERROR_GONE: the run has ended. ERROR_NOT_FOUND: it has no snapshot; the message says
 * why. ERROR_IO: it did not answer in `timeout_ns`.
 */
struct error *observer_get(struct observer *observer, bool with_blocks,
			   uint64_t max_age_ns, uint64_t timeout_ns,
			   const struct observation **ret)
	__attribute__((warn_unused_result));
void observer_put(struct observer *observer, const struct observation *observation);

/* Free the newest observation. The next client gets a new one. */
void observer_drop(struct observer *observer);

/* How many snapshots the run was asked for. */
uint64_t observer_asked(const struct observer *observer);

/*
 * Build the report of an observation as changes since `base`, the history of an earlier
 * observation of the same run (observer_history()): growth and rates of the rows count
 * from it. The caller destroys the report before it returns the observation.
 */
struct error *observer_report_since(const struct observer *observer,
				    const struct observation *observation,
				    struct report_history *base, struct report **ret)
	__attribute__((warn_unused_result));

/* Copy the part of an observation that observer_report_since() needs. The observation may
 * be returned afterwards. Owned by the caller. */
struct error *observer_history(const struct observer *observer,
			       const struct observation *observation,
			       struct report_history **ret)
	__attribute__((warn_unused_result));

#endif
