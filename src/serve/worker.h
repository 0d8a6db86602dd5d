/* SPDX-License-Identifier: Apache-2.0 */
/* Renders the pages that requests wait for (serve/jobs.h), in the server's main
 * thread. */
#ifndef SERVE_WORKER_H
#define SERVE_WORKER_H

#include "options/options.h"
#include "output/report_setup.h"
#include "serve/jobs.h"

/* Work until the run has ended. */
void worker_run(const struct options *options, const struct report_setup *setup, int feed,
		struct jobs *jobs);

#endif
