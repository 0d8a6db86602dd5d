/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of the known flaws of BCC's memleak: traces a program. */
#ifndef TESTS_LIVE_FLAWS_TRACE_H
#define TESTS_LIVE_FLAWS_TRACE_H

#include "check.h"
#include "live/trace.h"

struct traced {
	struct live_process *oracle, *memtrace;
};

static inline struct traced trace(const char *options)
{
	struct traced traced = {.oracle = oracle_start()};

	traced.memtrace = memtrace_start(live_pid(traced.oracle), options);
	return traced;
}

static inline json_t *stop(struct traced *traced)
{
	json_t *report = memtrace_stop(traced->memtrace);

	live_destroy(traced->oracle);
	return report;
}

/* Checks that the counts are exact and nothing is lost. memtrace keeps running. */
static inline void check_exact(struct traced *traced, const char *allowed)
{
	json_t *truth = oracle_ask(traced->oracle, "truth");
	json_t *report = memtrace_report(traced->memtrace);

	CHECK_INT(compare_heap(truth, report, false), 0);
	CHECK_INT(compare_losses(report, allowed), 0);
	json_decref(truth);
	json_decref(report);
}

#endif
