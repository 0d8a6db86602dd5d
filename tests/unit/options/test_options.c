// SPDX-License-Identifier: Apache-2.0
#include "unit/options/options_check.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "options/option_table.h"
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

static void processes_add_up(void)
{
	struct options o;

	/* PARSE() adds 1. Duplicates count once. */
	PARSE(&o, "--pid", "20,300,1", "-p300", "-p", "4,20", "--follow-forks");
	REQUIRE(o.pid_count == 4);
	CHECK_INT(o.pids[0], 1);
	CHECK_INT(o.pids[1], 20);
	CHECK_INT(o.pids[2], 300);
	CHECK_INT(o.pids[3], 4);
	CHECK(o.follow_forks);
}

static void library_in_all_processes(void)
{
	struct options o;
	char *const argv[] = {"memtrace", "--lib", "/lib/a.so", NULL};
	struct error *err = options_parse(3, argv, &o);

	REQUIRE(!err);
	CHECK_INT(o.pid_count, 0);
	CHECK(!o.command);
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

static void double_dash_ends_options(void)
{
	struct options o;

	PARSE(&o, "-q", "--");
	CHECK(o.quiet);
	CHECK(!o.command);
}

static void command_after_double_dash(void)
{
	struct options o;
	char *const argv[] = {"memtrace", "-q", "--", "ls", "-l", "--pid", "--", NULL};
	struct error *err = options_parse(7, argv, &o);

	REQUIRE(!err);
	CHECK(o.quiet);
	CHECK_INT(o.pid_count, 0);
	/* All arguments after -- belong to the command, unchanged. */
	REQUIRE(o.command == argv + 3);
}

static void program(void)
{
	struct options o;
	char *const alone[] = {"memtrace", "--program", "./a b", "-q", NULL};
	char *const named[] = {"memtrace", "--program=/bin/x", "--", "name", "-l", NULL};
	char *const nothing[] = {"memtrace", "--program", "x", "--", NULL};
	struct error *err = options_parse(4, alone, &o);

	REQUIRE(!err);
	CHECK_STR(o.program, "./a b");
	REQUIRE(o.command);
	CHECK_STR(o.command[0], "./a b");
	CHECK(!o.command[1] && o.quiet && !o.pid_count);

	err = options_parse(5, named, &o);
	REQUIRE(!err);
	CHECK_STR(o.program, "/bin/x");
	CHECK(o.command == named + 3);

	err = options_parse(4, nothing, &o);
	REQUIRE(!err);
	REQUIRE(o.command);
	CHECK_STR(o.command[0], "x");
	CHECK(!o.command[1]);

	PARSE(&o, "-q");
	CHECK(!o.program && !o.command);
}

/* Lines, symbols, and the sources of debug info. */
static void names(void)
{
	struct options o;

	PARSE(&o);
	CHECK(!o.no_lines && !o.debuginfod && !o.no_demangle &&
	      o.paths == REPORT_FORM_AUTO);
	CHECK(o.names == REPORT_FORM_AUTO && !o.addresses);
	CHECK(!o.debug_dirs.values[0]);
	PARSE(&o, "--no-lines", "--debuginfod", "--no-demangle", "--paths", "short");
	CHECK(o.no_lines && o.debuginfod && o.no_demangle);
	CHECK_INT(o.paths, REPORT_FORM_SHORT);
	PARSE(&o, "--paths=short", "--paths=full");
	CHECK_INT(o.paths, REPORT_FORM_FULL);
	PARSE(&o, "--names=short", "--addresses", "--names=full");
	CHECK_INT(o.names, REPORT_FORM_FULL);
	CHECK(o.addresses);
	PARSE(&o, "--debug-dir", "/a", "--debug-dir=/b:/c");
	CHECK_STR(o.debug_dirs.values[0], "/a");
	CHECK_STR(o.debug_dirs.values[1], "/b:/c");
	CHECK(!o.debug_dirs.values[2]);
}

/* --replay accepts the options of reports, and needs no process. */
static void replay(void)
{
	struct options o;

	REQUIRE(!parse_list(ARGV("--replay", "x", "-T3", "--older=1m", "--sort=count",
				 "-a", "--save=y", "--csv=z", "-f", "--no-lines",
				 "--paths=short"),
			    &o));
	CHECK_INT(o.action, ACTION_REPLAY);
	CHECK_STR(o.replay, "x");
	CHECK_STR(o.files[OUTPUT_SAVE], "y");

	CHECK_INT(o.top, 3);
	CHECK_INT(o.older_ns, 60000000000);
	CHECK_INT(o.sort, REPORT_SORT_COUNT);
	CHECK(o.show_allocs && !o.trace.combined_only);
	CHECK_INT(o.paths, REPORT_FORM_SHORT);
	PARSE(&o, "--save", "%p-%n.mts");
	CHECK_INT(o.action, ACTION_TRACE);
	CHECK_STR(o.files[OUTPUT_SAVE], "%p-%n.mts");
	CHECK(!o.replay && !o.diff_old);
	/* A snapshot may contain traffic: it is not known yet. */
	CHECK(o.trace.traffic);
	REQUIRE(!parse_list(ARGV("--diff", "a", "b", "-T3", "--flame=x", "--inverted",
				 "--combined-only"),
			    &o));
	CHECK_INT(o.action, ACTION_DIFF);
	CHECK_STR(o.diff_old, "a");
	CHECK_STR(o.diff_new, "b");
}

/* argv does not even contain argv[0]. */
static void nothing_at_all(void)
{
	struct options o;
	_cleanup_(error_destroyp) struct error *err =
		options_parse(0, (char *[]){NULL}, &o);

	REQUIRE(err);
	CHECK_INT(err->code, ERROR_USAGE);
}

/* A second, different library would silently not be traced. */
static void the_same_library_twice(void)
{
	struct options o;
	_cleanup_(error_destroyp) struct error *err =
		parse_list(ARGV("--lib=/a", "--lib", "/a"), &o);

	CHECK(!err);
}

static void a_list_that_is_full(void)
{
	char *many[2 * OPTION_LIST_MAX + 5] = {"memtrace", "-p1"};
	struct options o;

	/* One more than the list holds. */
	for (int i = 0; i <= OPTION_LIST_MAX; i++) {
		many[2 + 2 * i] = "--debug-dir";
		many[3 + 2 * i] = "/d";
	}

	_cleanup_(error_destroyp) struct error *err = parse_list(many, &o);

	REQUIRE(err);
	CHECK_INT(err->code, ERROR_USAGE);
	CHECK_STR(err->message, "--debug-dir works 16 times at most");
}

/* The name of a process instead of its id. */
static void a_name_of_processes(void)
{
	char wanted[128];
	pid_t pid;
	int ready[2];
	char byte;

	REQUIRE(!pipe(ready));
	fflush(stdout);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		prctl(PR_SET_NAME, "memtrace-name-1");
		if (write(ready[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	REQUIRE(read(ready[0], &byte, 1) == 1);
	snprintf(wanted, sizeof(wanted), "the name of a process: try -p %d", (int)pid);
	/* The kernel keeps 15 bytes of a name. */
	for (int i = 0; i < 2; i++) {
		char *name = i ? "memtrace-name-1-and-more" : "memtrace-name-1";
		struct options o;
		_cleanup_(error_destroyp) struct error *value =
			parse_list(ARGV("-p", name), &o);
		_cleanup_(error_destroyp) struct error *argument =
			parse_list(ARGV(name), &o);

		REQUIRE(value && argument);
		CHECK_CONTAINS(value->message, wanted);
		CHECK_CONTAINS(argument->message, wanted);
	}
	kill(pid, SIGKILL);
	CHECK(waitpid(pid, NULL, 0) == pid);
	close(ready[0]);
	close(ready[1]);
}

/* A part of the name of a process. */
static void a_similar_name(void)
{
	struct options o;
	char wanted[128];
	int ready[2];
	char byte;
	pid_t pid;

	REQUIRE(!pipe(ready));
	fflush(stdout);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		prctl(PR_SET_NAME, "mt-alike-server");
		if (write(ready[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	REQUIRE(read(ready[0], &byte, 1) == 1);
	snprintf(wanted, sizeof(wanted),
		 "; no process has this name; similar: -p %d (mt-alike-server)",
		 (int)pid);

	_cleanup_(error_destroyp) struct error *value =
		parse_list(ARGV("-p", "mt-alike"), &o);
	_cleanup_(error_destroyp) struct error *argument =
		parse_list(ARGV("mt-alike"), &o);

	REQUIRE(value && argument);
	CHECK_CONTAINS(value->message, wanted);
	CHECK_CONTAINS(argument->message, wanted);
	kill(pid, SIGKILL);
	CHECK(waitpid(pid, NULL, 0) == pid);
	close(ready[0]);
	close(ready[1]);
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
	RUN(processes_add_up);
	RUN(library_in_all_processes);
	RUN(last_one_wins);
	RUN(files_of_each_kind);
	RUN(dash_is_standard_output);
	RUN(paths_may_look_like_options_when_meant);
	RUN(help_and_version_end_parsing);
	RUN(double_dash_ends_options);
	RUN(command_after_double_dash);
	RUN(program);
	RUN(names);
	RUN(replay);
	RUN(nothing_at_all);
	RUN(the_same_library_twice);
	RUN(a_list_that_is_full);
	RUN(a_name_of_processes);
	RUN(a_similar_name);
	RUN(topics);
	return check_done();
}
