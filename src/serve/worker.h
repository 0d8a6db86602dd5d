/* SPDX-License-Identifier: Apache-2.0 */
/* Renders the pages that requests wait for (serve/jobs.h), in the server's main
 * thread. */
#ifndef SERVE_WORKER_H
#define SERVE_WORKER_H

#include "serve/jobs.h"
#include "serve/server.h"

/* Work until the run has ended. */
void worker_run(const struct server_options *options, int feed, struct jobs *jobs);

#endif
