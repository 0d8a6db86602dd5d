// SPDX-License-Identifier: Apache-2.0
/* What is taken from a request: its query, its Host header, its path. */
#include "check.h"
#include "serve/host.h"
#include "serve/openmetrics.h"
#include "serve/query.h"
#include "serve/routes.h"

static void queries_are_checked(void)
{
	static const struct {
		const char *key, *value;
		bool ok;
	} cases[] = {
		{"seconds", "0", true},    {"seconds", "600", true},
		{"seconds", "601", false}, {"seconds", "-1", false},
		{"seconds", "1.5", false}, {"seconds", "", false},
		{"seconds", NULL, false},  {"seconds", "99999999999999999999", false},
		{"seconds", " 1", false},  {"debug", "0", true},
		{"debug", "2", true},      {"debug", "yes", false},
		{"top", "1", true},        {"top", "0", false},
		{"top", "10000", true},    {"top", "10001", false},
		{"gc", "1", true},         {"gc", NULL, true},
		{"unknown", "\xff", true}, {"", "", true},
		{"Seconds", "x", true},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct query query = {0};
		const char *wrong = query_take(&query, cases[i].key, cases[i].value);

		if (!wrong != cases[i].ok)
			CHECK_FAIL("%s=%s: %s", cases[i].key,
				   cases[i].value ? cases[i].value : "(none)",
				   wrong ? wrong : "taken");
		check_state.checks++;
	}
}

static void queries_have_values(void)
{
	struct query a = {0}, b = {0};

	CHECK(!query_take(&a, "seconds", "5"));
	CHECK_INT(a.seconds, 5);
	CHECK(!query_take(&a, "debug", "1"));
	CHECK(a.debug);
	CHECK(!query_take(&a, "debug", "0"));
	CHECK(!a.debug);
	CHECK(!query_take(&a, "gc", "1"));
	CHECK(!query_equals(&a, &b));
	CHECK(!query_take(&b, "seconds", "5"));
	CHECK(query_equals(&a, &b));
	CHECK(!query_take(&b, "top", "7"));
	CHECK(b.has_top && b.top == 7);
	CHECK(!query_equals(&a, &b));
}

static void hosts_of_this_machine(void)
{
	static const char *const ours[] = {"localhost",      "LocalHost:80", "127.0.0.1",
					   "127.0.0.1:9911", "10.1.2.3:1",   "[::1]",
					   "[::1]:9911",     "localhost:"};
	static const char *const others[] = {"",
					     "evil.example",
					     "evil.example:9911",
					     "localhost.evil.example",
					     "127.0.0.1.evil.example",
					     "127.0.0.1:80:80",
					     "127.0.0.1:x",
					     "::1",
					     "[::1",
					     "[::1]x",
					     "[localhost]",
					     "[127.0.0.1]",
					     "localhost, evil.example",
					     "0x7f.1",
					     "2130706433"};

	for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
		if (check_state.checks++, !host_is_local(ours[i]))
			CHECK_FAIL("'%s' is refused", ours[i]);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (check_state.checks++, host_is_local(others[i]))
			CHECK_FAIL("'%s' is taken", others[i]);
}

static void routes_are_exact(void)
{
	const struct query text = {.debug = true}, none = {0};

	CHECK(route_find("/"));
	CHECK(route_find("/metrics"));
	CHECK(!route_find(""));
	CHECK(!route_find("//"));
	CHECK(!route_find("/metrics/"));
	CHECK(!route_find("/../metrics"));
	CHECK(!route_find("/debug/pprof"));
	CHECK(!route_find("/debug/pprof/goroutine"));
	CHECK_STR(route_type(route_find("/debug/pprof/heap"), &none),
		  "application/octet-stream");
	CHECK_STR(route_type(route_find("/debug/pprof/heap"), &text), ROUTE_TEXT_TYPE);
	CHECK_STR(route_type(route_find("/metrics"), &text), OPENMETRICS_TYPE);
	for (const struct route *route = routes; route->path; route++) {
		CHECK(route_find(route->path) == route);
		CHECK(!route->render == (route->fixed != NULL));
	}
}

static char *metrics(void)
{
	static const struct openmetrics_family gauge = {"live_bytes", "bytes", "Live.",
							METRIC_GAUGE},
					       counter = {"calls", "", "Calls.",
							  METRIC_COUNTER},
					       cpu = {"cpu_seconds", "seconds", "Time.",
						      METRIC_COUNTER},
					       build = {"build", "", "Version.",
							METRIC_INFO};
	const struct openmetrics_label labels[] = {
		{"process", "a\"b\\c\nd\xff\xe2\x80\xae"},
		{"pid", "7"},
		{"none", NULL},
	};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	REQUIRE(out);
	openmetrics_begin(out, &gauge);
	openmetrics_u64(out, &gauge, labels, 3, UINT64_MAX);
	openmetrics_begin(out, &counter);
	openmetrics_u64(out, &counter, NULL, 0, 5);
	openmetrics_begin(out, &cpu);
	openmetrics_seconds(out, &cpu, 1000000007);
	openmetrics_begin(out, &build);
	openmetrics_u64(out, &build, &labels[1], 1, 1);
	openmetrics_end(out);
	fclose(out);
	return text;
}

/* OpenMetrics 1.0, "ABNF": in a label value only \n, \" and \\ are escapes. */
static void metrics_are_escaped(void)
{
	char *text = metrics();

	CHECK_STR(
		text,
		"# TYPE live_bytes gauge\n"
		"# UNIT live_bytes bytes\n"
		"# HELP live_bytes Live.\n"
		"live_bytes{process=\"a\\\"b\\\\c\\\\x0ad\\\\xff\\\\xe2\\\\x80\\\\xae\","
		"pid=\"7\",none=\"\"} 18446744073709551615\n"
		"# TYPE calls counter\n"
		"# HELP calls Calls.\n"
		"calls_total 5\n"
		"# TYPE cpu_seconds counter\n"
		"# UNIT cpu_seconds seconds\n"
		"# HELP cpu_seconds Time.\n"
		"cpu_seconds_total 1.000000007\n"
		"# TYPE build info\n"
		"# HELP build Version.\n"
		"build_info{pid=\"7\"} 1\n"
		"# EOF\n");
	free(text);
}

int main(void)
{
	RUN(queries_are_checked);
	RUN(queries_have_values);
	RUN(hosts_of_this_machine);
	RUN(routes_are_exact);
	RUN(metrics_are_escaped);
	return check_done();
}
