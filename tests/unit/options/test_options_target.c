// SPDX-License-Identifier: Apache-2.0
/* What is traced, as the command line says it: processes, a command, libraries, or a file
 * to replay. */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/options/options_check.h"

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

int main(void)
{
	RUN(processes_add_up);
	RUN(library_in_all_processes);
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
	return check_done();
}
