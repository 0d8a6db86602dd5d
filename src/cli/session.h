/* SPDX-License-Identifier: Apache-2.0 */
/* One run on one process: from the options to the last report. */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include "cli/options.h"
#include "util/error.h"

/* The exit status when tracing failed. */
#define SESSION_FAILED 1

/*
 * Trace as `options` say, printing reports; returns when the run is over. The exit
 * status in *status: 0, or that of the command that was started (128 + the signal that
 * killed it); with an error SESSION_FAILED, or 127 or 126 when the command cannot be run.
 */
struct error *session_run(const struct options *options, int *status)
	__attribute__((warn_unused_result));

#endif
