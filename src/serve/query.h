/* SPDX-License-Identifier: Apache-2.0 */
/* The query of a request's URL. Parameters that are not known are ignored, as in Go's
 * net/http/pprof, because scrapers add their own. */
#ifndef SERVE_QUERY_H
#define SERVE_QUERY_H

#include <stdbool.h>
#include <stdint.h>

/* Longest difference that a client may ask for, seconds. */
#define QUERY_SECONDS_MAX 600
/* Most rows of a report that a client may ask for. */
#define QUERY_TOP_MAX 10000

struct query {
	unsigned seconds; /* ?seconds=N: what changes in this time; 0: not given */
	bool debug;       /* ?debug=N, N not 0: text instead of a profile */
	bool has_top;     /* ?top=N */
	uint64_t top;
};

/* Take one parameter. NULL, or what is wrong with it, for the client: a static
 * string. `value` may be NULL. */
const char *query_take(struct query *query, const char *key, const char *value);

/* Do both ask for the same page? */
bool query_equals(const struct query *a, const struct query *b);

#endif
