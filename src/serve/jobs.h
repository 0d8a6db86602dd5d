/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that wait for a page. libmicrohttpd's thread puts them in and goes on with
 * other clients; the process's main thread takes them out, asks the run for a snapshot,
 * renders the page, and resumes the connection. So a renderer holds up no client but
 * those that wait for pages too, and a client never holds up a renderer.
 */
#ifndef SERVE_JOBS_H
#define SERVE_JOBS_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stdint.h>

#include "observe/observer.h"
#include "serve/routes.h"

struct job {
	struct MHD_Connection *connection; /* suspended until `response` is set */
	const struct route *route;
	struct query query;
	/* Set by the thread that renders. */
	struct MHD_Response *response;
	unsigned status;
	/* With ?seconds=N, after the first half: what the changes are counted from. */
	struct report_history *base;
	uint64_t base_run;
	uint64_t due_ns; /* CLOCK_MONOTONIC; 0: now */
	struct job *next;
};

struct jobs;

struct jobs *jobs_create(void); /* NULL when out of memory */

/* Put a job in. It belongs to the queue until jobs_take(). */
void jobs_put(struct jobs *jobs, struct job *job);

/* Take the first job that is due. Waits for one, at most until `until_ns` (UINT64_MAX: no
 * limit); then NULL. */
struct job *jobs_take(struct jobs *jobs, uint64_t until_ns);

/* How many of the waiting jobs are changes over a time that has begun. */
unsigned jobs_begun(struct jobs *jobs);

#endif
