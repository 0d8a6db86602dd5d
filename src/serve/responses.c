// SPDX-License-Identifier: Apache-2.0
#include "serve/responses.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "serve/http.h"

/* Between reloads of a page in a browser, seconds. */
#define RELOAD_S "5"

/* What a browser must not do with a page: keep it, guess its type, show it in another
 * page, or let it load anything. (fetch.spec.whatwg.org, html.spec.whatwg.org, CSP 3.) */
static const struct {
	const char *name, *value;
} headers[] = {
	{"Cache-Control", "no-store"},
	{"X-Content-Type-Options", "nosniff"},
	{"X-Frame-Options", "DENY"},
	{"Cross-Origin-Resource-Policy", "same-origin"},
	{"Content-Security-Policy",
	 "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
	 "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
};

struct rendered {
	atomic_uint uses;
	size_t size_bytes;
	char *data;
};

struct rendered *rendered_create(char *data, size_t size_bytes)
{
	struct rendered *page = malloc(sizeof(*page));

	if (!page) {
		free(data);
		return NULL;
	}
	page->data = data;
	page->size_bytes = size_bytes;
	atomic_init(&page->uses, 1);
	return page;
}

struct rendered *rendered_use(struct rendered *page)
{
	atomic_fetch_add(&page->uses, 1);
	return page;
}

void rendered_release(struct rendered *page)
{
	if (!page || atomic_fetch_sub(&page->uses, 1) != 1)
		return;
	free(page->data);
	free(page);
}

static void release(void *arg)
{
	rendered_release(arg);
}

static struct MHD_Response *make(struct rendered *page, const char *type)
{
	struct MHD_Response *response =
		http.create_response_from_buffer_with_free_callback_cls(
			page->size_bytes, page->data, release, rendered_use(page));

	if (!response) {
		rendered_release(page);
		return NULL;
	}
	http.add_response_header(response, "Content-Type", type);
	for (size_t i = 0; i < sizeof(headers) / sizeof(*headers); i++)
		http.add_response_header(response, headers[i].name, headers[i].value);
	return response;
}

struct MHD_Response *response_text(const char *format, ...)
{
	struct MHD_Response *response;
	struct rendered *page;
	char *text = NULL;
	va_list ap;
	int len;

	va_start(ap, format);
	len = vasprintf(&text, format, ap);
	va_end(ap);
	page = len < 0 ? NULL : rendered_create(text, (size_t)len);
	response = page ? make(page, ROUTE_TEXT_TYPE) : NULL;
	rendered_release(page);
	return response;
}

struct MHD_Response *response_page(const struct route *route, const struct query *query,
				   struct rendered *page)
{
	struct MHD_Response *response = make(page, route_type(route, query));

	if (response && route->reloads)
		http.add_response_header(response, "Refresh", RELOAD_S);
	return response;
}
