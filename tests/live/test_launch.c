// SPDX-License-Identifier: Apache-2.0
/* memtrace -- COMMAND: no call is missed, and the command gets its own arguments,
 * environment and signals. */
#include <signal.h>
#include <unistd.h>

#include "check.h"
#include "live/trace.h"

#define TIMEOUT_S 30

static struct probes *probes_before;

static json_t *run(const char *const argv[], int want_status, struct live_process **ret)
{
	struct live_process *memtrace = live_start(argv);
	json_t *report = live_read_json(memtrace, TIMEOUT_S);

	REQUIRE(report);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), want_status);
	CHECK_STR(json_string_value(live_get(report, "cause")), "exited");
	*ret = memtrace;
	return report;
}

static void check_sites(const json_t *report)
{
	struct site_sum sum = report_site(report, "heap", "site_constructor");

	CHECK_INT(sum.bytes, 111);
	CHECK_INT(sum.blocks, 1);
	sum = report_site(report, "heap", "site_main");
	CHECK_INT(sum.bytes, 30 * 1000);
	CHECK_INT(sum.blocks, 30);
}

static void nothing_is_missed(const char *binary)
{
	const char *const argv[] = {memtrace_path, "--format", "json",      "--top",
				    "0",           "--older",  "0",         "--",
				    binary,        "7",        "two words", NULL};
	struct live_process *memtrace;

	setenv("SHORT_LIVED", "from the environment", 1);

	json_t *report = run(argv, 7, &memtrace);
	struct site_sum sum = report_site(report, "heap", "site_at_exit");

	check_sites(report);
	CHECK_INT(sum.bytes, 77);
	CHECK_INT(live_int(report, "heap.totals.frees_unknown"), 0);
	CHECK(json_is_true(live_get(report, "complete")));
	CHECK(json_is_true(live_get(report, "target.exited")));
	/* The command gets its arguments and environment unchanged. */
	CHECK_CONTAINS(live_stderr(memtrace), "child 7 two words from the environment\n");
	json_decref(report);
	live_destroy(memtrace);
	CHECK(probes_gone(probes_before));
}

static void dynamic_program(void)
{
	nothing_is_missed(SHORT_LIVED_BINARY);
}

/* Another tracer has a probe at the function where the dynamic linker announces
 * libraries: memtrace must not confuse that breakpoint with its own. */
static void beside_another_tracer(void)
{
	const char *const argv[] = {
		memtrace_path, "--format",         "json", "--older", "0", "--top", "0",
		"--",          SHORT_LIVED_BINARY, "7",    NULL};
	struct live_process *oracle = oracle_start();
	struct live_process *other =
		memtrace_start(live_pid(oracle), "--unwind rules --follow-forks");
	struct live_process *memtrace;
	json_t *report = run(argv, 7, &memtrace);

	check_sites(report);
	json_decref(report);
	live_destroy(memtrace);
	json_decref(memtrace_stop(other));
	live_destroy(oracle);
	CHECK(probes_gone(probes_before));
}

/* A static program has no dynamic linker to wait for: memtrace stops it at its first
 * instruction. */
static void static_program(void)
{
	nothing_is_missed(SHORT_LIVED_STATIC_BINARY);
}

static void killed_by_a_signal(void)
{
	const char *const argv[] = {
		memtrace_path, "--format",         "json", "--older", "0", "--top", "0",
		"--",          SHORT_LIVED_BINARY, "0",    "abort",   NULL};
	struct live_process *memtrace;
	json_t *report = run(argv, 128 + SIGABRT, &memtrace);

	check_sites(report);
	json_decref(report);
	live_destroy(memtrace);
}

static void cannot_run(const char *option, const char *command, int want_status)
{
	const char *const argv[] = {memtrace_path, option, command, NULL};
	struct live_process *memtrace = live_start(argv);
	const char *text;

	CHECK_INT(live_wait(memtrace, TIMEOUT_S), want_status);
	text = live_stderr(memtrace);
	CHECK_CONTAINS(text, command);
	/* The message is one line. */
	CHECK(strchr(text, '\n') == text + strlen(text) - 1);
	live_destroy(memtrace);
}

static void commands_that_cannot_run(void)
{
	cannot_run("--", "no-such-command-anywhere", 127);
	cannot_run("--", "/no/such/command", 127);
	cannot_run("--", "/etc/passwd", 126);
	cannot_run("--program", "no-such-command-anywhere", 127);
	cannot_run("--program", "/etc/passwd", 126);
}

/* --program with the file alone, and with an argv[0] that differs from the file name. */
static void program_by_name(void)
{
	const char *const alone[] = {
		memtrace_path, "--format", "json",      "--older",          "0",
		"--top",       "0",        "--program", SHORT_LIVED_BINARY, NULL};
	/* The shell finds the program in PATH. The program prints its argv[0]. */
	const char *const named[] = {memtrace_path,
				     "--format",
				     "json",
				     "--program",
				     "sh",
				     "--",
				     "name of its own",
				     "-c",
				     "echo \"<$0>\" >&2; exit 6",
				     NULL};
	struct live_process *memtrace;
	json_t *report;

	setenv("SHORT_LIVED", "alone", 1);
	report = run(alone, 0, &memtrace);
	check_sites(report);
	CHECK_CONTAINS(live_stderr(memtrace), "child - - alone\n");
	json_decref(report);
	live_destroy(memtrace);

	report = run(named, 6, &memtrace);
	CHECK(live_int(report, "heap.totals.allocations") > 0);
	CHECK_STR(json_string_value(live_get(report, "target.command")), "sh");
	CHECK_CONTAINS(live_stderr(memtrace), "<name of its own>\n");
	json_decref(report);
	live_destroy(memtrace);
	CHECK(probes_gone(probes_before));
}

/* The unwind tables of a large program are built before it runs. Without them some 8,000
 * stacks of clang's start would be unwound from copies. */
static void large_program(void)
{
	const char *const argv[] = {memtrace_path, "-v",        "--format", "json", "--",
				    "clang",       "-c",        "-x",       "c",    "-o",
				    "/dev/null",   "/dev/null", NULL};
	struct live_process *memtrace;
	json_t *report = run(argv, 0, &memtrace);
	const char *said =
		strstr(live_stderr(memtrace), " stacks were unwound from copies");
	long unwound = -1;

	while (said && said > live_stderr(memtrace) && said[-1] != ' ')
		said--;
	if (said)
		unwound = strtol(said, NULL, 10);
	printf("     clang: %ld stacks unwound from copies\n", unwound);
	CHECK(unwound >= 0 && unwound < 1500);
	CHECK(live_int(report, "heap.totals.allocations") > 5000);
	json_decref(report);
	live_destroy(memtrace);
}

/* PATH is searched, as a shell does. The run ends before the command, and memtrace still
 * exits with the command's status. */
static void run_over_before_the_command(void)
{
	const char *const argv[] = {
		memtrace_path, "--format",          "json", "-d", "0.3", "--", "sh",
		"-c",          "sleep 1.5; exit 5", NULL};
	double start_s = live_now_s();
	struct live_process *memtrace = live_start(argv);
	json_t *report = live_read_json(memtrace, TIMEOUT_S);

	REQUIRE(report);
	CHECK_STR(json_string_value(live_get(report, "cause")), "duration");
	json_decref(report);
	CHECK(live_wait_stderr(memtrace, " goes on without probes; memtrace waits",
			       TIMEOUT_S));
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 5);
	CHECK(live_now_s() - start_s > 1.5);
	live_destroy(memtrace);
}

/* memtrace passes a SIGTERM on to the command. The final report comes first. */
static void termination_is_passed_on(void)
{
	const char *const argv[] = {memtrace_path, "--format", "json", "--",
				    "sleep",       "600",      NULL};
	struct live_process *memtrace = live_start(argv);

	REQUIRE(live_wait_stderr(memtrace, "tracing pid", TIMEOUT_S));
	live_signal(memtrace, SIGTERM);

	json_t *report = live_read_json(memtrace, TIMEOUT_S);

	REQUIRE(report);
	CHECK_STR(json_string_value(live_get(report, "cause")), "stopped");

	pid_t child = (pid_t)live_int(report, "target.pid");

	json_decref(report);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 128 + SIGTERM);
	CHECK(kill(child, 0) != 0);
	live_destroy(memtrace);
}

/* Until memtrace lets the command run, the command must not outlive memtrace. */
static void dry_run_leaves_no_command(void)
{
	const char *const argv[] = {memtrace_path, "--dry-run", "--",
				    "sh",          "-c",        "echo it ran; sleep 600",
				    NULL};
	struct live_process *memtrace = live_start(argv);
	char *line;
	int lines = 0;

	while ((line = live_read_line(memtrace, TIMEOUT_S))) {
		CHECK(!strstr(line, "it ran"));
		lines++;
		free(line);
	}
	CHECK(lines > 5);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	live_destroy(memtrace);
}

int main(void)
{
	live_require_root();
	probes_before = probes_find();
	RUN(dynamic_program);
	RUN(beside_another_tracer);
	RUN(static_program);
	RUN(killed_by_a_signal);
	RUN(commands_that_cannot_run);
	RUN(program_by_name);
	RUN(large_program);
	RUN(run_over_before_the_command);
	RUN(termination_is_passed_on);
	RUN(dry_run_leaves_no_command);
	probes_destroy(probes_before);
	return check_done();
}
