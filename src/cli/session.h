/* SPDX-License-Identifier: Apache-2.0 */
/* One run on one process: from the options to the last report. */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include "cli/options.h"
#include "util/error.h"

/* Trace as `options` say, printing reports; returns when the run is over. */
struct error *session_run(const struct options *options)
	__attribute__((warn_unused_result));

#endif
