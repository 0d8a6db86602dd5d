/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the responses of the server. */
#ifndef SERVE_RESPONSES_H
#define SERVE_RESPONSES_H

#include <microhttpd.h>
#include <stddef.h>

#include "serve/routes.h"

/* A rendered page, which several responses share. Any thread may use it. */
struct rendered;

/* Takes ownership of `data`. NULL when out of memory; `data` is then freed. */
struct rendered *rendered_create(char *data, size_t size_bytes);
struct rendered *rendered_use(struct rendered *page);
void rendered_release(struct rendered *page); /* NULL is fine */

/* A response of one line of text. NULL when out of memory. */
struct MHD_Response *response_text(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/* A response with the page, which it uses until its end. NULL when out of memory. */
struct MHD_Response *response_page(const struct route *route, const struct query *query,
				   struct rendered *page);

#endif
