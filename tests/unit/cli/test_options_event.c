// SPDX-License-Identifier: Apache-2.0
#include "options_check.h"

static void events(void)
{
	struct options options;

	PARSE(&options, "--event", "profile:hz:99");
	CHECK_STR(options.event, "profile:hz:99");
	CHECK(!options.growth && !options.kernel_stacks);
	/* Events have no age. */
	CHECK_INT(options.older_ns, 0);
	PARSE(&options, "-e", "uprobe:a:b", "--kernel-stacks");
	CHECK(options.kernel_stacks);
	PARSE(&options, "--growth");
	CHECK_STR(options.event, "software:page-faults:1");
	CHECK(options.growth);
	PARSE(&options, "--top=3");
	CHECK(!options.event);
}

/* Without a process, all processes are traced. */
static void of_all(void)
{
	struct options options;

	REQUIRE(!parse_list(ARGV("--event=profile:hz:99"), &options));
	CHECK_INT(options.pid_count, 0);
	REQUIRE(!parse_list(ARGV("--growth"), &options));
}

/* --otel-memory: blocks that the program reports, without probes on functions. */
static void told(void)
{
	struct options options;

	PARSE(&options, "--otel-memory", "--traffic", "--min-size=1K", "--lib=app");
	CHECK(options.otel_memory && options.traffic && !options.event);
	PARSE(&options, "--top=3");
	CHECK(!options.otel_memory);
	REFUSED("--otel-memory: expected without --mappings, which is about functions; "
		"got both",
		"--pid=1", "--mappings", "--otel-memory");
	REFUSED("--otel-memory: expected without --function, which is about functions; "
		"got both",
		"--pid=1", "--otel-memory", "--function=calloc");
	REFUSED("--otel-memory: expected without --symbols-prefix, which is about "
		"functions; got both",
		"--pid=1", "--otel-memory", "--symbols-prefix=my_");
	REFUSED("--event: expected without --otel-memory, which is about allocations; "
		"got both",
		"--pid=1", "--otel-memory", "--event=profile:hz:9");
	REFUSED("--growth: expected without --otel-memory, which is about allocations; "
		"got both",
		"--pid=1", "--otel-memory", "--growth");
}

static void refused(void)
{
	REFUSED("--event: expected profile:hz:N; got 'profile:99'", "--pid=1",
		"--event=profile:99");
	REFUSED("--event: expected without --mappings, which is about allocations; got "
		"both",
		"--pid=1", "--event=profile:hz:9", "--mappings");
	REFUSED("--event: expected without --older, which is about allocations; got "
		"both",
		"--pid=1", "--event=profile:hz:9", "--older=1");
	REFUSED("--growth: expected without --sample-every, which is about allocations; "
		"got both",
		"--pid=1", "--growth", "-s", "10");
	REFUSED("--growth: expected without --event, since it counts page faults; got "
		"both",
		"--pid=1", "--growth", "--event=profile:hz:9");
	REFUSED("--sort: expected 'size', 'count' or 'growth' with --event, as nothing "
		"else is measured; got 'peak'",
		"--pid=1", "--event=profile:hz:9", "--sort=peak");
	REFUSED("--kernel-stacks: needs --event SPEC or --growth", "--pid=1",
		"--kernel-stacks");
	REFUSED("--follow-forks: expected with --pid or a command; --event alone traces "
		"every process anyway",
		"--follow-forks", "--event=profile:hz:9");
}

int main(void)
{
	RUN(events);
	RUN(of_all);
	RUN(told);
	RUN(refused);
	return check_done();
}
