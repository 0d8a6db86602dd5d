// SPDX-License-Identifier: Apache-2.0
/* Every message about a wrong command line, word for word. */
#include "options_check.h"

static void refuses_a_missing_pid(void)
{
	const char *missing = "no process to trace: use --pid PID ('pidof NAME' prints "
			      "it), '-- COMMAND' to start one, or --lib FILE for all "
			      "processes that map the file";

	REFUSED(missing, NULL);
	REFUSED(missing, "--top", "3");
	REFUSED(missing, "--dry-run");
	REFUSED(missing, "--");

	/* argv does not even contain argv[0]. */
	struct options o;
	_cleanup_(error_destroyp) struct error *err =
		options_parse(0, (char *[]){NULL}, &o);

	REQUIRE(err);
	CHECK_STR(err->message, missing);
}

static void refuses_arguments(void)
{
	REFUSED("unexpected argument '1234'; expected only options: a process is given "
		"as "
		"--pid PID, the time between reports as --interval TIME, "
		"a command to start after '--'",
		"1234");
	REFUSED("unexpected argument 'a\\x1b[0m\\x0a'; expected only options: a process "
		"is "
		"given as --pid PID, the time between reports as --interval TIME, "
		"a command to start after '--'",
		"-p1", "a\x1b[0m\n");
	REFUSED("unexpected argument '-'; expected only options: a process is given as "
		"--pid PID, the time between reports as --interval TIME, "
		"a command to start after '--'",
		"-p1", "-");
	REFUSED("unexpected argument ''; expected only options: a process is given as "
		"--pid PID, the time between reports as --interval TIME, "
		"a command to start after '--'",
		"-p1", "");
}

static void refuses_to_leave_one_of_two_untraced(void)
{
	REFUSED("-e: expected once; got 'profile:hz:99' and 'a\\x1b'", "--event",
		"profile:hz:99", "-e", "a\x1b");
	REFUSED("--lib: expected once; got '/a' and '/b'", "--lib=/a", "--lib", "/b");

	struct options o;
	char *argv[] = {"memtrace", "--lib=/a", "--lib", "/a", NULL};
	_cleanup_(error_destroyp) struct error *err = options_parse(4, argv, &o);

	CHECK(!err);
}

static void refuses_unknown_options(void)
{
	REFUSED("unknown option '--intervall'; did you mean '--interval'?",
		"--intervall=5");
	REFUSED("unknown option '--pdi'; did you mean '--pid'?", "--pdi", "1");
	REFUSED("unknown option '--inter'; did you mean '--interval'?", "--inter", "1");
	REFUSED("unknown option '--smaple-rate'; did you mean '--sample-rate'?",
		"--smaple-rate=1");
	REFUSED("unknown option '--combined'; did you mean '--combined-only'?",
		"--combined");
	REFUSED("unknown option '--minsize'; did you mean '--min-size'?", "--minsize");
	REFUSED("unknown option '--Help'; did you mean '--help'?", "--Help");
	REFUSED("unknown option '--frobnicate'; 'memtrace --help' lists them all",
		"--frobnicate");
	REFUSED("unknown option '--'; 'memtrace --help' lists them all", "--=5");
	REFUSED("unknown option '--x'; 'memtrace --help' lists them all", "--x");
	REFUSED("unknown option '--a\\x1b\\xff'; 'memtrace --help' lists them all",
		"--a\x1b\xff");
	REFUSED("unknown option "
		"'--"
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'"
		"; 'memtrace --help' lists them all",
		"--"
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		"a");
}

static void refuses_unknown_letters(void)
{
	REFUSED("unknown option '-x'; 'memtrace --help' lists them all", "-x");
	REFUSED("unknown option '-x' in '-vxq'; 'memtrace --help' lists them all",
		"-vxq");
	REFUSED("unknown option '-t' in '-top'; did you mean '--top'?", "-top", "5");
	REFUSED("unknown option '-\\xc3' in '-\u00e9'; 'memtrace --help' lists them all",
		"-\u00e9");
	REFUSED("unknown option '--' in '-v-'; 'memtrace --help' lists them all", "-v-");
}

static void refuses_missing_values(void)
{
	REFUSED("--pid: expected a process id from 1 to 4194304, or several such as "
		"12,34; it has no value",
		"--pid");
	REFUSED("-o: expected a file name; it has no value", "-p1", "-qo");
	REFUSED("--obj: expected the file that holds the allocator; it has no value",
		"-p1", "--obj");
	REFUSED("--output: expected a file name; got '--force', which looks like an "
		"option "
		"(if it is meant: --output=--force)",
		"-p1", "--output", "--force");
	REFUSED("-O: expected the file that holds the allocator; got '-v', which looks "
		"like "
		"an option (if it is meant: --lib=-v)",
		"-p1", "-O", "-v");
	REFUSED("--kernel-headers: expected 'auto', 'embedded' or a directory; got '-q', "
		"which looks like an option (if it is meant: --kernel-headers=-q)",
		"-p1", "--kernel-headers", "-q");
}

static void refuses_values_of_flags(void)
{
	REFUSED("--quiet: expected no value; got 'yes'", "-p1", "--quiet=yes");
	REFUSED("--verbose: expected no value; got ''", "-p1", "--verbose=");
	REFUSED("--help: expected no value; got '\\x09'", "--help=\t");
}

static void refuses_bad_pids(void)
{
	REFUSED("--pid: expected a process id from 1 to 4194304, or several such as "
		"12,34; got '0'",
		"--pid=0");
	REFUSED("--pid: expected a process id from 1 to 4194304, or several such as "
		"12,34; got '-5'",
		"--pid", "-5");
	REFUSED("--pid: expected a process id from 1 to 4194304, or several such as "
		"12,34; got ''",
		"--pid=");
	REFUSED("--pid: expected a process id from 1 to 4194304, or several such as "
		"12,34; got '--top'",
		"--pid", "--top");
	REFUSED("-p: expected a process id from 1 to 4194304, or several such as 12,34; "
		"got '=1'",
		"-p=1");
	REFUSED("-p: expected a process id from 1 to 4194304, or several such as 12,34; "
		"got 'redis'",
		"-p", "redis");
	REFUSED("-p: expected a process id from 1 to 4194304, or several such as 12,34; "
		"got '4194305'",
		"-p4194305");
	REFUSED("--pid: expected a process id from 1 to 4194304, or several such as "
		"12,34; got '1,'",
		"--pid=1,");
	REFUSED("--pid: expected a process id from 1 to 4194304, or several such as "
		"12,34; got '1,,2'",
		"--pid=1,,2");
	REFUSED("--pid: expected a process id from 1 to 4194304, or several such as "
		"12,34; got ',1'",
		"--pid", ",1");
	REFUSED("-p: expected a process id from 1 to 4194304, or several such as 12,34; "
		"got '1\\x0a'",
		"-p1\n");
	/* 2^32 + 1 must not be truncated to 1. */
	REFUSED("-p: expected a process id from 1 to 4194304, or several such as 12,34; "
		"got '4294967297'",
		"-p4294967297");
}

static void refuses_bad_times(void)
{
	const char *const expected =
		"a time from 10ms to 8760h (a plain number is seconds), "
		"such as 5, 0.5, 500ms or 2m";
	char *const bad[] = {"0", "9ms", "0.009", "-1", "5 s", "8761h", "x", ""};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		char message[256];

		snprintf(message, sizeof(message), "-i: expected %s; got '%s'", expected,
			 bad[i]);
		REFUSED(message, "-p1", "-i", bad[i]);
	}
	REFUSED("--duration: expected a time from 10ms to 8760h (a plain number is "
		"seconds), such as 60, 90s or 2h; got '0'",
		"-p1", "--duration=0");
	REFUSED("--older: expected a time from 0 to 8760h (a plain number is "
		"milliseconds), "
		"such as 500, 2s or 1m; got '5d'",
		"-p1", "--older", "5d");
}

static void refuses_bad_numbers(void)
{
	REFUSED("-n: expected a whole number from 1 to 1000000000; got '0'", "-p1",
		"-n0");
	REFUSED("--count: expected a whole number from 1 to 1000000000; got '1.5'", "-p1",
		"--count=1.5");
	REFUSED("--top: expected a whole number from 0 (all) to 1000000000; got 'all'",
		"-p1", "--top", "all");
	REFUSED("--sample-rate: expected a whole number from 1 (every allocation) to "
		"4294967295; got '0'",
		"-p1", "--sample-rate", "0");
	REFUSED("-s: expected a whole number from 1 (every allocation) to 4294967295; "
		"got "
		"'4294967296'",
		"-p1", "-s4294967296");
	REFUSED("--stack-depth: expected a whole number from 1 to 127; got '128'", "-p1",
		"--stack-depth=128");
	REFUSED("--stack-depth: expected a whole number from 1 to 127; got '0'", "-p1",
		"--stack-depth=0");
	REFUSED("--unwind-cpu: expected a whole number from 1 to 100; got '0'", "-p1",
		"--unwind-cpu=0");
	REFUSED("--unwind-cpu: expected a whole number from 1 to 100; got '101'", "-p1",
		"--unwind-cpu=101");
	REFUSED("--max-stacks: expected a number from 64 to 16M (16777216), such as "
		"256K; "
		"got '63'",
		"-p1", "--max-stacks=63");
	REFUSED("--max-stacks: expected a number from 64 to 16M (16777216), such as "
		"256K; "
		"got '17M'",
		"-p1", "--max-stacks=17M");
	REFUSED("--max-allocations: expected a number from 1024 to 1G (1073741824), such "
		"as 4M; got '1023'",
		"-p1", "--max-allocations=1023");
	REFUSED("--max-allocations: expected a number from 1024 to 1G (1073741824), such "
		"as 4M; got '4MB'",
		"-p1", "--max-allocations", "4MB");
	REFUSED("--max-allocations: expected a number from 1024 to 1G (1073741824), such "
		"as 4M; got '1073741825'",
		"-p1", "--max-allocations", "1073741825");
}

static void refuses_bad_sizes(void)
{
	REFUSED("-z: expected a size in bytes, such as 4096, 4K or 1.5M; got '4X'", "-p1",
		"-z4X");
	REFUSED("--min-size: expected a size in bytes, such as 4096, 4K or 1.5M; got "
		"'-1'",
		"-p1", "--min-size", "-1");
	REFUSED("--max-size: expected a size in bytes, such as 4096, 4K or 1.5M; got "
		"'99999999999999999999'",
		"-p1", "--max-size", "99999999999999999999");
	REFUSED("-Z: expected a size in bytes, such as 4096, 4K or 1.5M; got '1\\x1b'",
		"-p1", "-Z1\x1b");
}

static void refuses_bad_words(void)
{
	REFUSED("--sort: expected 'size', 'count', 'traffic', 'growth', 'age', 'peak' or "
		"'temporary'; got 'Size'",
		"-p1", "--sort=Size");
	REFUSED("--sort: expected 'size', 'count', 'traffic', 'growth', 'age', 'peak' or "
		"'temporary'; got ''",
		"-p1", "--sort=");
	REFUSED("--format: expected 'text', 'brief' or 'json'; got 'xml'", "-p1",
		"--format", "xml");
	REFUSED("--output: expected a file name; got ''", "-p1", "--output=");
	REFUSED("-L: expected the file that holds the allocator; got ''", "-p1", "-L",
		"");
	REFUSED("--kernel-headers: expected 'auto', 'embedded' or a directory; got ''",
		"-p1", "--kernel-headers", "");
}

static void refuses_a_nameless_program(void)
{
	REFUSED("--program: expected the program to start; got ''", "--program", "");
	REFUSED("--program: expected the program to start; it has no value", "--program");
	REFUSED("--program: expected the program to start; got '--', which looks like an "
		"option (if it is meant: --program=--)",
		"--program", "--", "ls");
}

static void refuses_contradictions(void)
{
	REFUSED("--min-size: expected at most the --max-size of '1M'; got '2M'", "-p1",
		"-z2M", "-Z1M");
	REFUSED("--min-size: expected at most the --max-size of '0'; got '1'", "-p1",
		"-Z0", "-z1");
	REFUSED("--show-allocs: expected without --combined-only, which lists no single "
		"blocks; got both",
		"-p1", "-a", "--combined-only");
	REFUSED("--older: expected without --combined-only, which counts blocks of every "
		"age; got '500' with it",
		"-p1", "--combined-only", "--older=500");
}

static void refuses_files(void)
{
#define PATTERN                                                                          \
	": expected a file name, which may contain %p (process), %t (time), %n "         \
	"(number) "                                                                      \
	"and %%, or '-'; "
	REFUSED("--csv" PATTERN "got 'x%q'", "-p1", "--csv", "x%q");
	REFUSED("--pprof" PATTERN "got '%'", "-p1", "--pprof=%");
	REFUSED("--json" PATTERN "got ''", "-p1", "--json=");
	/* Only one file can be standard output. */
	REFUSED("--flame and --flamegraph must name different files; got '-' for both",
		"-p1", "--flame", "-", "--flamegraph", "-");
	REFUSED("--flame and --output must name different files; got '-' for both", "-p1",
		"--flame", "-", "-o", "-");
	REFUSED("--flamegraph" PATTERN "it has no value", "-p1", "--flamegraph");
	REFUSED("--csv" PATTERN "got '--json', which looks like an option (if it is "
		"meant: --csv=--json)",
		"-p1", "--csv", "--json");
	REFUSED("--csv and --output must name different files; got 'x\\x0a' for both",
		"-p1", "--output", "x\n", "--csv", "x\n");
	REFUSED("--view: expected 'leaks', 'growth', 'traffic', 'peak', 'allocations', "
		"'threads', 'histogram', 'lifetimes' or 'processes'; got 'le\\x1baks'",
		"-p1",
		"--view=le\x1b"
		"aks");
	REFUSED("--sort: expected 'size', 'count', 'traffic', 'growth', 'age', 'peak' or "
		"'temporary'; got ''",
		"-p1", "--sort=");
	REFUSED("--json and --flame must name different files; got 'x%n' for both", "-p1",
		"--json", "x%n", "--flame", "x%n");
	REFUSED("--output-every: needs a file to write, such as --pprof FILE", "-p1",
		"--output-every", "--output", "x");
	REFUSED("--inverted: needs --flame FILE or --html FILE", "-p1", "--inverted",
		"--csv", "x");
	REFUSED("--reverse: needs --flame FILE or --html FILE", "-p1", "--combined-only",
		"--reverse");
}

static void names(void)
{
	char *many[2 * OPTION_LIST_MAX + 5] = {"memtrace", "-p1"};
	struct options o;

	REFUSED("--paths: expected 'full' or 'short'; got 'long'", "-p1", "--paths",
		"long");
	REFUSED("--debug-dir: expected a directory, or several with ':' between; got ''",
		"-p1", "--debug-dir", "");
	REFUSED("--debug-dir: expected a directory, or several with ':' between; got "
		"'-q', "
		"which looks like an option (if it is meant: --debug-dir=-q)",
		"-p1", "--debug-dir", "-q");
	/* One more than the list holds. */
	for (int i = 0; i <= OPTION_LIST_MAX; i++) {
		many[2 + 2 * i] = "--debug-dir";
		many[3 + 2 * i] = "/d";
	}

	struct error *err = parse_list(many, &o);

	REQUIRE(err);
	CHECK_INT(err->code, ERROR_USAGE);
	CHECK_STR(err->message, "--debug-dir: expected at most 16 times");
	error_destroy(err);
}

/* Options for tracing are refused without tracing. */
static void refuses_what_traces(void)
{
	REFUSED("--pid: expected without --replay, which reads what --save has "
		"written and traces nothing; got both",
		"-p1", "--replay", "x");
	REFUSED("--interval: expected without --replay, which reads what --save has "
		"written and traces nothing; got both",
		"--replay=x", "-i", "3");
	REFUSED("--sample-every: expected without --replay, which reads what --save has "
		"written and traces nothing; got both",
		"--replay=x", "-s3");
	REFUSED("--no-demangle: expected without --replay, which reads what --save has "
		"written and traces nothing; got both",
		"--no-demangle", "--replay=x");
	REFUSED("--output-every: expected without --replay, which reads what --save has "
		"written and traces nothing; got both",
		"--replay=x", "--csv=y", "--output-every");
	REFUSED("--replay: expected without a command after '--'; nothing is traced",
		"--replay=x", "--", "ls");
	REFUSED("--replay: expected a file that --save has written; got ''", "--replay=");
	REFUSED("--diff: expected without --replay, which reads what --save has written "
		"and traces nothing; got both",
		"--replay=x", "--diff", "y", "z");
	REFUSED("--pprof: expected without --diff, which reads what --save has written "
		"and traces nothing; got both",
		"--diff", "y", "z", "--pprof=x");
	REFUSED("--show-allocs: expected without --diff, which reads what --save has "
		"written and traces nothing; got both",
		"--diff", "y", "z", "-a");
	REFUSED("--sort: expected 'size', 'growth' (which is the same) or 'count' with "
		"--diff, which has nothing else to compare; got 'peak'",
		"--diff", "y", "z", "--sort=peak");
	REFUSED("--diff: expected without a command after '--'; nothing is traced",
		"--diff=x", "y", "--", "ls");
	REFUSED("--diff: expected two files that --save has written, the older one "
		"first; there is only one",
		"--diff=x");
	REFUSED("--diff: expected two files that --save has written, the older one "
		"first; there is only one",
		"--diff", "x", "-T3");
	REFUSED("--diff: expected two files that --save has written, the older one "
		"first; it has no value",
		"--diff");
	REFUSED("--diff: expected two files that --save has written, the older one "
		"first; got ''",
		"--diff", "x", "");
	REFUSED("--save and --csv must name different files; got 'x' for both",
		"--replay=y", "--csv=x", "--save=x");
}

int main(void)
{
	RUN(refuses_a_missing_pid);
	RUN(refuses_arguments);
	RUN(refuses_to_leave_one_of_two_untraced);
	RUN(refuses_unknown_options);
	RUN(refuses_unknown_letters);
	RUN(refuses_missing_values);
	RUN(refuses_values_of_flags);
	RUN(refuses_bad_pids);
	RUN(refuses_bad_times);
	RUN(refuses_bad_numbers);
	RUN(refuses_bad_sizes);
	RUN(refuses_bad_words);
	RUN(refuses_a_nameless_program);
	RUN(refuses_contradictions);
	RUN(refuses_files);
	RUN(names);
	RUN(refuses_what_traces);
	return check_done();
}
