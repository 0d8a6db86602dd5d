/* SPDX-License-Identifier: Apache-2.0 */
/* One tracing run: from the options to the last report. */
#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H

#include "options/options.h"
#include "util/error.h"

/* The exit status when tracing failed. */
#define SESSION_FAILED 1

struct serve;

/*
 * Trace as `options` say and print reports; returns when the run is over. *status is the
 * exit status. Without an error: 0, or the status of the started command (128 + the
 * signal number if a signal killed it). With an error: SESSION_FAILED, or 127 or 126 if
 * the command cannot be run. `serve` (borrowed) answers over HTTP; NULL: with --listen
 * the run makes its own.
 */
struct error *session_run(const struct options *options, struct serve *serve, int *status)
	__attribute__((warn_unused_result));

#endif
