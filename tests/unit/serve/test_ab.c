// SPDX-License-Identifier: Apache-2.0
/* ab(1) of the Apache HTTP server, with 200 connections. */
#include "served.h"

#define REQUESTS "4000"

/* The number after a name in what ab prints; -1: it is not there. */
static long number(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? strtol(at + strlen(name), NULL, 10) : -1;
}

static void check(const struct served *s, const char *options, const char *path)
{
	char command[256], said[8192];
	FILE *out;
	size_t len;

	/* -l: lengths differ, because numbers change. */
	snprintf(command, sizeof(command),
		 "ab -q -l -n " REQUESTS " -c 200 -s 20 %s http://127.0.0.1:%u%s 2>&1",
		 options, s->port, path);
	out = popen(command, "re");
	REQUIRE(out);
	len = fread(said, 1, sizeof(said) - 1, out);
	said[len] = '\0';
	CHECK_INT(pclose(out), 0);
	CHECK_INT(number(said, "Complete requests:"), atol(REQUESTS));
	CHECK_INT(number(said, "Failed requests:"), 0);
	/* It is there only if there are some. */
	CHECK_INT(number(said, "Non-2xx responses:"), -1);
}

static void two_hundred_connections(void)
{
	struct served s;

	served_begin(&s);
	check(&s, "", "/metrics");
	check(&s, "-k", "/metrics");
	check(&s, "-k", "/debug/pprof/allocs");
	/* They shared snapshots: one a second, at most. */
	CHECK(s.answers < 60);
	served_end(&s);
}

int main(void)
{
	if (system("command -v ab >/dev/null"))
		check_skip("ab (apache2-utils) is not installed");
	RUN(two_hundred_connections);
	return check_done();
}
