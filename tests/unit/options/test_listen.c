// SPDX-License-Identifier: Apache-2.0
/* --listen: what it turns on, and what is refused before anything is done for it. */
#include "unit/options/options_check.h"

static void profiles_are_whole(void)
{
	struct options o;

	PARSE(&o, "--listen", "9911");
	CHECK_STR(o.listen, "9911");
	CHECK(o.trace.traffic);
	/* The totals of /metrics have blocks of every age, too. */
	CHECK_INT(o.older_ns, 0);
	CHECK(o.prints_nothing);
	PARSE(&o, "--listen", "9911", "--older", "2s");
	CHECK_INT(o.older_ns, 2000000000);
	PARSE(&o, "--listen", "9911", "--growth");
	CHECK(!o.trace.traffic);
	PARSE(&o, "-i", "5");
	CHECK(!o.prints_nothing && !o.listen);
}

static void reports_are_printed_if_asked_for(void)
{
	struct options o;

	PARSE(&o, "--listen", "9911", "--format", "json");
	CHECK(!o.prints_nothing);
	PARSE(&o, "--listen", "9911", "--output", "report.txt");
	CHECK(!o.prints_nothing);
}

static struct error *parse(char *listen, char *other)
{
	struct options o;

	return parse_list(ARGV("-p1", "--listen", listen, other), &o);
}

static void other_machines_are_meant(void)
{
	static char *const addresses[] = {"0.0.0.0:9911", "[::]:9911", "10.0.0.1:80"};
	struct options o;

	for (size_t i = 0; i < 3; i++) {
		_cleanup_(error_destroyp) struct error *err = parse(addresses[i], NULL);

		REQUIRE(err);
		CHECK_INT(err->code, ERROR_USAGE);
		CHECK_CONTAINS(err->message, "--listen-allow-remote");
		PARSE(&o, "--listen", addresses[i], "--listen-allow-remote");
		CHECK_STR(o.listen, addresses[i]);
	}
	PARSE(&o, "--listen", "[::1]:9911");
	PARSE(&o, "--listen", "unix:/run/memtrace.sock");
}

static void wrong_addresses_are_said(void)
{
	_cleanup_(error_destroyp) struct error *name = parse("localhos:80", NULL);
	_cleanup_(error_destroyp) struct error *alone =
		parse_list(ARGV("-p1", "--listen-allow-remote"), &(struct options){0});
	_cleanup_(error_destroyp) struct error *replay = parse_list(
		ARGV("--replay", "x.mts", "--listen", "1"), &(struct options){0});

	REQUIRE(name && alone && replay);
	CHECK_INT(name->code, ERROR_USAGE);
	CHECK_CONTAINS(name->message, "--listen localhos:80");
	CHECK_CONTAINS(name->message, "127.0.0.1:9911");
	CHECK_CONTAINS(alone->message, "needs --listen");
	CHECK_CONTAINS(replay->message, "--replay");
}

int main(void)
{
	RUN(profiles_are_whole);
	RUN(reports_are_printed_if_asked_for);
	RUN(other_machines_are_meant);
	RUN(wrong_addresses_are_said);
	return check_done();
}
