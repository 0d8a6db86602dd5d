/* SPDX-License-Identifier: Apache-2.0 */
/* The process that answers HTTP requests (docs/listen.md). It is confined, and gets the
 * state of the run over a socket (observe/feed.h). */
#ifndef SERVE_SERVER_H
#define SERVE_SERVER_H

#include "options/options.h"
#include "output/report_setup.h"

struct server_options {
	const struct options *options;    /* of the run */
	const struct report_setup *setup; /* of its reports */
	/* Requests must name this machine (serve/host.h), because a browser on it could
	 * be led here. */
	bool checks_host;
};

/* Serve until the run ends or the server cannot go on. `feed` is the consumer's end, and
 * `listener` a listening socket. */
void server_run(const struct server_options *options, int feed, int listener);

#endif
