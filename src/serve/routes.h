/* SPDX-License-Identifier: Apache-2.0 */
/* The paths that are served. A page is a row. */
#ifndef SERVE_ROUTES_H
#define SERVE_ROUTES_H

#include <stdbool.h>

#include "serve/page.h"

struct route {
	const char *path;
	const char *type; /* Content-Type */
	const char *text; /* what it is, for the index */
	page_fn *render;  /* NULL: `fixed` */
	const char *fixed;
	bool takes_seconds; /* ?seconds=N: changes in this time */
	bool takes_debug;   /* ?debug=1: text */
	bool needs_blocks;  /* the page has more than sums by call path; so has a text */
	bool takes_none;    /* can be rendered without an observation */
	bool reloads;       /* a browser gets it again every few seconds */
};

#define ROUTE_TEXT_TYPE "text/plain; charset=utf-8"

/* The route of a path, without its query. NULL: not found. Static. */
const struct route *route_find(const char *path);

/* The Content-Type of the page that a query asks for. Static. */
const char *route_type(const struct route *route, const struct query *query);

/* Does the page that a query asks for need single blocks? */
bool route_needs_blocks(const struct route *route, const struct query *query);

/* All routes; the last one has no path. */
extern const struct route routes[];

#endif
