// SPDX-License-Identifier: Apache-2.0
#include "unit/options/options_check.h"

static void events(void)
{
	struct options options;

	PARSE(&options, "--event", "profile:hz:99");
	CHECK_STR(options.event, "profile:hz:99");
	CHECK(options.trace.mode != TRACE_MODE_GROWTH && !options.trace.kernel_stacks);
	/* Events have no age. */
	CHECK_INT(options.older_ns, 0);
	PARSE(&options, "-e", "uprobe:a:b", "--kernel-stacks");
	CHECK(options.trace.kernel_stacks);
	PARSE(&options, "--growth");
	CHECK(!options.event);
	CHECK(options.trace.mode == TRACE_MODE_GROWTH);
	PARSE(&options, "--top=3");
	CHECK(!options.event);
}

/* Without a process, all processes are traced. */
static void of_all(void)
{
	struct options options;

	REQUIRE(!parse_list(ARGV("--all", "--event=profile:hz:99"), &options));
	CHECK_INT(options.pid_count, 0);
	REQUIRE(!parse_list(ARGV("--growth", "--all"), &options));
	CHECK(options.all);
	/* A dry run touches none. */
	REQUIRE(!parse_list(ARGV("--growth", "--dry-run"), &options));
	REQUIRE(!parse_list(ARGV("--all", "--lib=/lib/libc.so.6"), &options));
}

/* --otel-memory: blocks that the program reports, without probes on functions. */
static void otel_memory(void)
{
	struct options options;

	PARSE(&options, "--otel-memory", "--traffic", "--min-size=1K", "--lib=app");
	CHECK(options.trace.mode == TRACE_MODE_USDT && options.trace.traffic &&
	      !options.event);
	PARSE(&options, "--top=3");
	CHECK(options.trace.mode != TRACE_MODE_USDT);
}

int main(void)
{
	RUN(events);
	RUN(of_all);
	RUN(otel_memory);
	return check_done();
}
