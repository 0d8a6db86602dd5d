// SPDX-License-Identifier: Apache-2.0
/* Options with their defaults, spellings, units and bounds. */
#include "options/option_table.h"
#include "unit/options/options_check.h"
#include "util/units.h"

static void has_defaults(void)
{
	struct options o;

	memset(&o, 0xff, sizeof(o));
	PARSE(&o, NULL);
	CHECK_INT(o.action, ACTION_TRACE);
	CHECK_INT(o.pids[0], 1);
	CHECK_INT(o.pid_count, 1);
	CHECK(!o.follow_forks);
	CHECK_INT(o.interval_ns, 5 * UNITS_NS_PER_S);
	CHECK_INT(o.count, 0);
	CHECK_INT(o.duration_ns, 0);
	CHECK_INT(o.top, 10);
	CHECK_INT(o.older_ns, 500 * UNITS_NS_PER_MS);
	CHECK_INT(o.trace.min_size_bytes, 0);
	CHECK(o.trace.max_size_bytes == UINT64_MAX);
	CHECK_INT(o.trace.sampling.every, 1);
	CHECK_INT(o.sort, REPORT_SORT_SIZE);
	CHECK(!o.show_allocs && !o.trace.combined_only && !o.trace.mappings);
	CHECK_INT(o.trace.max_allocations, 0);
	CHECK_INT(o.trace.max_stacks, 0);
	CHECK_INT(o.trace.max_threads, 16384);
	CHECK_INT(o.trace.max_processes, 16384);
	CHECK(!o.trace.traffic);
	CHECK_INT(o.trace.temporary_threshold, 0);
	PARSE(&o, "--traffic", "--max-threads", "64K", "--temporary-threshold=63");
	CHECK(o.trace.traffic);
	CHECK_INT(o.trace.max_threads, 65536);
	CHECK_INT(o.trace.temporary_threshold, 63);
	PARSE(&o, "--max-processes", "1K");
	CHECK_INT(o.trace.max_processes, 1024);
	PARSE(&o, NULL);
	CHECK_INT(trace_config_depth(&o.trace, true), 127);
	CHECK_INT(o.trace.unwind, UNWIND_CHOICE_AUTO);
	PARSE(&o, "--unwind=fp");
	CHECK_INT(o.trace.unwind, UNWIND_CHOICE_FP);
	CHECK_INT(trace_config_depth(&o.trace, false), 64);
	PARSE(&o, "--unwind", "rules", "--stack-depth", "30");
	CHECK_INT(o.trace.unwind, UNWIND_CHOICE_RULES);
	CHECK_INT(o.trace.stack_depth, 30);
	PARSE(&o, NULL);
	CHECK_INT(o.trace.unwind_cpu_percent, 25);
	PARSE(&o, "--unwind-cpu", "1");
	CHECK_INT(o.trace.unwind_cpu_percent, 1);
	CHECK_INT(o.trace.unwind, UNWIND_CHOICE_AUTO);
	PARSE(&o, NULL);
	CHECK_STR(o.format, "text");
	CHECK(!o.output && !o.library && !o.trace.headers_dir);
	CHECK(!o.symbols_prefix && !o.function);
	CHECK(!o.force && !o.dry_run && !o.quiet);
	CHECK_INT(o.verbose, 0);
	CHECK_INT(o.trace.headers_mode, HEADERS_AUTO);
}

static void knows_four_spellings(void)
{
	char *spellings[][3] = {{"--pid=123", NULL},
				{"--pid", "123", NULL},
				{"-p123", NULL},
				{"-p", "123", NULL}};

	for (size_t i = 0; i < 4; i++) {
		struct options o;
		_cleanup_(error_destroyp) struct error *err =
			parse_list(ARGV(spellings[i][0], spellings[i][1]), &o);

		REQUIRE(!err);
		CHECK_INT(o.pids[o.pid_count - 1], 123);
	}
}

static void bundles_letters(void)
{
	struct options o;

	PARSE(&o, "-vqa", "-vfT7", "-vi", "2");
	CHECK_INT(o.verbose, 3);
	CHECK(o.quiet && o.show_allocs && o.force);
	CHECK_INT(o.top, 7);
	CHECK_INT(o.interval_ns, 2 * UNITS_NS_PER_S);
}

static void reads_every_option(void)
{
	struct options o;

	PARSE(&o, "--interval", "250ms", "--count=3", "--duration", "1.5h", "--top", "0",
	      "--older=2s", "--min-size", "4K", "--max-size=1.5M", "--sample-every",
	      "100");
	CHECK_INT(o.interval_ns, 250 * UNITS_NS_PER_MS);
	CHECK_INT(o.count, 3);
	CHECK_INT(o.duration_ns, 5400 * UNITS_NS_PER_S);
	CHECK_INT(o.top, 0);
	CHECK_INT(o.older_ns, 2 * UNITS_NS_PER_S);
	CHECK_INT(o.trace.min_size_bytes, 4096);
	CHECK_INT(o.trace.max_size_bytes, 1572864);
	CHECK_INT(o.trace.sampling.every, 100);

	PARSE(&o, "--sort=count", "--show-allocs", "--mappings", "--max-allocations=4M",
	      "--max-stacks", "256K", "--stack-depth=100", "--format", "json", "--quiet");
	CHECK_INT(o.sort, REPORT_SORT_COUNT);
	CHECK(o.show_allocs && o.trace.mappings && o.quiet);
	CHECK(!o.trace.combined_only);
	CHECK_INT(o.trace.max_allocations, 4 << 20);
	CHECK_INT(o.trace.max_stacks, 256 << 10);
	CHECK_INT(o.trace.stack_depth, 100);
	CHECK_STR(o.format, "json");

	PARSE(&o, "--output", "out file", "--force", "--dry-run", "--verbose",
	      "--kernel-headers=/usr/src/linux", "--lib", "/lib/libc.so.6",
	      "--combined-only", "--verbose");
	CHECK_STR(o.output, "out file");
	CHECK_STR(o.trace.headers_dir, "/usr/src/linux");
	CHECK_INT(o.trace.headers_mode, HEADERS_DIR);
	CHECK_STR(o.library, "/lib/libc.so.6");
	CHECK(o.force && o.dry_run && o.trace.combined_only);
	CHECK_INT(o.verbose, 2);
	CHECK_INT(o.older_ns, 0);
}

static void reads_every_letter(void)
{
	struct options o;

	PARSE(&o, "-i.5", "-n4", "-d2m", "-T5", "-z16", "-Z1G", "-s9", "-a", "-ofile",
	      "-f", "-Llib.so", "-q", "-v");
	CHECK_INT(o.interval_ns, UNITS_NS_PER_S / 2);
	CHECK_INT(o.count, 4);
	CHECK_INT(o.duration_ns, 120 * UNITS_NS_PER_S);
	CHECK_INT(o.top, 5);
	CHECK_INT(o.trace.min_size_bytes, 16);
	CHECK_INT(o.trace.max_size_bytes, 1 << 30);
	CHECK_INT(o.trace.sampling.every, 9);
	CHECK(o.show_allocs && o.force && o.quiet);
	CHECK_STR(o.output, "file");
	CHECK_STR(o.library, "lib.so");
	CHECK_INT(o.verbose, 1);
	PARSE(&o, "--symbols-prefix=my_", "--function", "my_malloc");
	CHECK_STR(o.symbols_prefix, "my_");
	CHECK_STR(o.function, "my_malloc");
}

static void knows_aliases(void)
{
	struct options o;

	PARSE(&o, "--sample-rate=10", "--obj", "a.so");
	CHECK_INT(o.trace.sampling.every, 10);
	CHECK_STR(o.library, "a.so");
	PARSE(&o, "-O", "b.so");
	CHECK_STR(o.library, "b.so");
}

static void plain_numbers_have_their_unit(void)
{
	struct options o;

	PARSE(&o, "--interval", "2", "--older", "2", "--duration", "2");
	CHECK_INT(o.interval_ns, 2 * UNITS_NS_PER_S);
	CHECK_INT(o.older_ns, 2 * UNITS_NS_PER_MS);
	CHECK_INT(o.duration_ns, 2 * UNITS_NS_PER_S);
	PARSE(&o, "--older", "0");
	CHECK_INT(o.older_ns, 0);
}

static void rows_are_of_call_paths_unless_asked_otherwise(void)
{
	struct options o;

	PARSE(&o, "--older", "0");
	CHECK_INT(o.group_by, REPORT_GROUP_PATH);
	PARSE(&o, "--group-by", "stack");
	CHECK_INT(o.group_by, REPORT_GROUP_PATH);
	PARSE(&o, "--group-by=process");
	CHECK_INT(o.group_by, REPORT_GROUP_PROCESS);
}

static void bounds_are_inclusive(void)
{
	struct options o;

	PARSE(&o, "-p4194304", "-i10ms", "-d8760h", "-s4294967295", "--stack-depth=1",
	      "--max-stacks=64", "--max-allocations=1024", "-z100", "-Z100",
	      "-T1000000000");
	CHECK_INT(o.pids[1], 4194304);
	CHECK_INT(o.interval_ns, 10 * UNITS_NS_PER_MS);
	CHECK_INT(o.duration_ns, 8760 * UNITS_NS_PER_HOUR);
	CHECK_INT(o.trace.sampling.every, UINT32_MAX);
	CHECK_INT(o.trace.min_size_bytes, 100);
	CHECK_INT(o.trace.max_size_bytes, 100);
	PARSE(&o, "--max-stacks=16M", "--max-allocations=1G", "-Z0", "-i8760h", "-d.01");
	CHECK_INT(o.trace.max_stacks, 1 << 24);
	CHECK_INT(o.trace.max_allocations, 1 << 30);
	CHECK_INT(o.trace.max_size_bytes, 0);
}

static void last_one_wins(void)
{
	struct options o;

	PARSE(&o, "-i1", "--interval=7", "-z9K", "-z1", "--format=json", "--format=text",
	      "-oa", "--output=b", "-p", "2", "--sort=count", "--sort=size");
	/* But --pid options add up. */
	CHECK_INT(o.pid_count, 2);
	CHECK_INT(o.pids[1], 2);
	CHECK_INT(o.interval_ns, 7 * UNITS_NS_PER_S);
	CHECK_INT(o.trace.min_size_bytes, 1);
	CHECK_STR(o.format, "text");
	CHECK_STR(o.output, "b");
	CHECK_INT(o.sort, REPORT_SORT_SIZE);
	PARSE(&o, "--kernel-headers=dir", "--kernel-headers=embedded");
	CHECK_INT(o.trace.headers_mode, HEADERS_EMBEDDED);
	CHECK(!o.trace.headers_dir);
	PARSE(&o, "--kernel-headers", "auto");
	CHECK_INT(o.trace.headers_mode, HEADERS_AUTO);
}

static void files_of_each_kind(void)
{
	struct options o;

	PARSE(&o, "-o", "a");
	for (size_t i = 0; i < OUTPUT_KIND_COUNT; i++)
		CHECK(!o.files[i]);
	CHECK(!o.output_every && !o.inverted && !o.reverse);
	PARSE(&o, "--flamegraph", "a", "--flame=%n.svg", "--pprof", "%p-%t%%.pb.gz",
	      "--csv", "b", "--json", "c", "--output-every", "--inverted", "--reverse");
	CHECK_STR(o.files[OUTPUT_FLAMEGRAPH], "a");
	CHECK_STR(o.files[OUTPUT_FLAME], "%n.svg");
	CHECK_STR(o.files[OUTPUT_PPROF], "%p-%t%%.pb.gz");
	CHECK_STR(o.files[OUTPUT_CSV], "b");
	CHECK(o.output_every && o.inverted && o.reverse);
	CHECK_STR(o.files[OUTPUT_JSON], "c");
	PARSE(&o, "--html", "%p.html", "--reverse");
	CHECK_STR(o.files[OUTPUT_HTML], "%p.html");
	CHECK(o.reverse);
	PARSE(&o, "--combined-only", "--csv", "x", "--output-every");
	CHECK(o.trace.combined_only && o.output_every);
}

static void dash_is_standard_output(void)
{
	struct options o;

	PARSE(&o, "-o", "-");
	CHECK(!o.output);
	PARSE(&o, "--output=-", "--output=file");
	CHECK_STR(o.output, "file");
	/* If a file is written to stdout, reports are not. */
	PARSE(&o, "--flamegraph", "-");
	CHECK_STR(o.files[OUTPUT_FLAMEGRAPH], "-");
	CHECK_STR(o.output, "/dev/null");
	PARSE(&o, "--csv", "-", "-o", "file", "--json", "/dev/null", "--html",
	      "/dev/null");
	CHECK_STR(o.files[OUTPUT_CSV], "-");
	CHECK_STR(o.output, "file");
	PARSE(&o, "--json", "/dev/null");
	CHECK(!o.output);
}

static void paths_may_look_like_options_when_meant(void)
{
	struct options o;

	PARSE(&o, "--output=--force", "-L-x");
	CHECK_STR(o.output, "--force");
	CHECK_STR(o.library, "-x");
	CHECK(!o.force);
}

static void help_and_version_end_parsing(void)
{
	struct {
		char *argv[4];
		enum option_action want;
	} cases[] = {
		{{"memtrace", "--help"}, ACTION_HELP},
		{{"memtrace", "-h"}, ACTION_HELP},
		{{"memtrace", "--version"}, ACTION_VERSION},
		{{"memtrace", "-vh", "--bogus"}, ACTION_HELP},
		{{"memtrace", "--version", "--help"}, ACTION_VERSION},
		{{"memtrace", "-hall"}, ACTION_HELP},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct options o;
		_cleanup_(error_destroyp) struct error *err =
			parse_list(cases[i].argv, &o);

		CHECK(!err);
		CHECK_INT(o.action, cases[i].want);
	}
}

static void topics(void)
{
	static const struct {
		char *args[3];
		int topic;
	} cases[] = {
		{{"--help"}, HELP_SHORT},
		{{"-h"}, HELP_SHORT},
		{{"--help", "all"}, HELP_ALL},
		{{"--help=examples"}, HELP_EXAMPLES},
		{{"-h", "filter"}, HELP_GROUP + GROUP_FILTER},
		{{"-hadvanced"}, HELP_GROUP + GROUP_ADVANCED},
		{{"--help", "-p"}, HELP_SHORT},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct options o;
		_cleanup_(error_destroyp) struct error *err =
			parse_list(ARGV(cases[i].args[0], cases[i].args[1]), &o);

		REQUIRE(!err);
		CHECK_INT(o.action, ACTION_HELP);
		CHECK_INT(o.help_topic, cases[i].topic);
	}
}

int main(void)
{
	RUN(has_defaults);
	RUN(knows_four_spellings);
	RUN(bundles_letters);
	RUN(reads_every_option);
	RUN(reads_every_letter);
	RUN(knows_aliases);
	RUN(plain_numbers_have_their_unit);
	RUN(rows_are_of_call_paths_unless_asked_otherwise);
	RUN(bounds_are_inclusive);
	RUN(last_one_wins);
	RUN(files_of_each_kind);
	RUN(dash_is_standard_output);
	RUN(paths_may_look_like_options_when_meant);
	RUN(help_and_version_end_parsing);
	RUN(topics);
	return check_done();
}
