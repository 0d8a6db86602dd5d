// SPDX-License-Identifier: Apache-2.0
/* What --listen takes from a request, after libmicrohttpd has cut it up: the path, the
 * Host header, and parameters. The input is these three, a line each. */
#include "fuzz.h"

#include <string.h>

#include "serve/host.h"
#include "serve/query.h"
#include "serve/routes.h"
#include "util/listen_address.h"

/* The next line of *text, which it ends. */
static char *take_line(char **text)
{
	char *line = *text;

	*text += strcspn(line, "\n");
	if (**text)
		*(*text)++ = '\0';
	return line;
}

static void fuzz_query(char *text)
{
	struct query query = {.seconds = 0};

	for (char *key; *text;) {
		char *end = text + strcspn(text, "&"), *value;

		key = text;
		text = *end ? end + 1 : end;
		*end = '\0';
		value = strchr(key, '=');
		if (value)
			*value++ = '\0';
		(void)query_take(&query, key, value);
	}
	FUZZ_REQUIRE(query.seconds <= QUERY_SECONDS_MAX);
	FUZZ_REQUIRE(!query.has_top || (query.top > 0 && query.top <= QUERY_TOP_MAX));
	FUZZ_REQUIRE(query_equals(&query, &query));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size + 1), *text = copy, *path, *host;
	const struct route *route;
	struct listen_address address;

	FUZZ_REQUIRE(copy);
	memcpy(copy, data, size);
	copy[size] = '\0';
	path = take_line(&text);
	host = take_line(&text);
	route = route_find(path);
	FUZZ_REQUIRE(!route || !strcmp(route->path, path));
	/* A name that a page of another site can have. */
	if (host_is_local(host))
		FUZZ_REQUIRE(*host == '[' || !strncasecmp(host, "localhost", 9) ||
			     strspn(host, "0123456789.:") == strlen(host));
	error_destroy(listen_address_parse(host, &address));
	fuzz_query(text);
	free(copy);
	return 0;
}
