// SPDX-License-Identifier: Apache-2.0
/*
 * Stacks of stock programs without frame pointers: the test counts how many blocks have a
 * stack that leads to the start of the program or of a thread.
 */
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "live/trace.h"

#define MANY_SITES 64 /* as in targets/many_sites.c */

static bool is_start(const json_t *frame)
{
	static const char *const starts[] = {"__libc_start_main",
					     "__libc_start_call_main", "start_thread"};
	const char *symbol = json_string_value(json_object_get(frame, "symbol"));

	for (size_t i = 0; symbol && i < sizeof(starts) / sizeof(*starts); i++)
		if (!strncmp(symbol, starts[i], strlen(starts[i])))
			return true;
	return false;
}

/* The percentage of live blocks whose stack leads to the start of the program or of a
 * thread. The start function is recognized in libc if the program's _start has no
 * symbol. */
static double share(const json_t *report, int64_t *blocks)
{
	int64_t whole = 0;
	const json_t *row;
	size_t i;

	*blocks = 0;
	json_array_foreach (live_get(report, "heap.stacks"), i, row) {
		const json_t *frames = json_object_get(row, "frames");
		size_t depth = json_array_size(frames);

		*blocks += live_int(row, "blocks");
		if (depth > 1 && is_start(json_array_get(frames, depth - 2)) &&
		    !strcmp(json_string_value(json_object_get(row, "end")), "complete"))
			whole += live_int(row, "blocks");
	}
	return *blocks ? 100.0 * (double)whole / (double)*blocks : 0;
}

/* Traces a command until it ends, or until it prints `stop_at` (NULL: it ends by itself).
 * False if it is not installed. */
static bool trace_command(const char *const command[], const char *unwind,
			  const char *stop_at, double *percent, int64_t *blocks)
{
	const char *argv[32] = {memtrace_path, "--format",   "json",     "--top",
				"0",           "--older",    "0",        "-i",
				"3600",        "--no-lines", "--unwind", unwind,
				"--output",    NULL,         "--force",  "--"};
	char *output = live_path("stacks.json");
	size_t n = 16;
	json_error_t error;

	if (access(command[0], X_OK)) {
		free(output);
		return false;
	}
	argv[13] = output;
	while (*command && n < 31)
		argv[n++] = *command++;
	argv[n] = NULL;

	struct live_process *memtrace = live_start(argv);

	while (stop_at) {
		char *line = live_read_line(memtrace, 60);
		bool is_there = !line || strstr(line, stop_at);

		free(line);
		if (!is_there)
			continue;
		live_signal(memtrace, SIGTERM);
		break;
	}
	live_wait(memtrace, 120);

	json_t *report = json_load_file(output, JSON_DISABLE_EOF_CHECK, &error);

	if (!report)
		live_fail("no report on %s: %s", argv[16], live_stderr(memtrace));
	*percent = share(report, blocks);
	json_decref(report);
	live_destroy(memtrace);
	free(output);
	return true;
}

static void check_program(const char *const command[], const char *stop_at)
{
	double by_rules, by_fp;
	int64_t blocks, fp_blocks;

	if (!trace_command(command, "auto", stop_at, &by_rules, &blocks)) {
		CHECK_SKIP_PART("%s is not installed", command[0]);
		return;
	}
	trace_command(command, "fp", stop_at, &by_fp, &fp_blocks);
	printf("%s: %" PRId64
	       " blocks, %.3f %% whole by rules, %.3f %% by frame pointer\n",
	       command[0], blocks, by_rules, by_fp);
	CHECK(blocks > 0);
	CHECK(by_rules >= 99.9);
}

/* The programs kill themselves, so that their blocks are live at the end. */
static void stock_programs(void)
{
	check_program((const char *const[]){"/usr/bin/perl", "-e",
					    "for my $i (1..20000) { $h{\"k$i\"} = [1..5] "
					    "} require POSIX; kill 9, $$",
					    NULL},
		      NULL);
	check_program(
		(const char *const[]){
			"/usr/bin/python3", "-c",
			"import json, re, os; k = [bytearray(2000) for i in range(3000)];"
			"d = json.loads(json.dumps({str(i): [i] for i in range(3000)}));"
			"os.kill(os.getpid(), 9)",
			NULL},
		NULL);
	check_program((const char *const[]){"/usr/bin/sqlite3", ":memory:",
					    "create table t(a, b); with recursive c(x) "
					    "as (select 1 union all select "
					    "x + 1 from c where x < 20000) insert into t "
					    "select x, randomblob(50) "
					    "from c; create index i on t(b); select "
					    "load_extension('/nowhere');",
					    NULL},
		      NULL);
	check_program((const char *const[]){"/usr/bin/git", "help", "-a", NULL}, NULL);
	check_program((const char *const[]){"/usr/bin/redis-server", "--port", "0", NULL},
		      "Ready to accept");
#ifdef CC1PLUS
	char *assembler = live_path("omitted_cxx.s");

	check_program((const char *const[]){CC1PLUS, "-quiet", "-O2", "-o", assembler,
					    "-D_GNU_SOURCE", OMITTED_CXX_SOURCE, NULL},
		      NULL);
	free(assembler);
#endif
}

/* The number of misses: stacks whose call site had no unwind rule. */
static long count_misses(const char *script)
{
	const char *const argv[] = {
		memtrace_path, "--follow-forks", "-v", "-q", "--", "sh",
		"-c",          script,           NULL};
	struct live_process *memtrace = live_start(argv);
	const char *at;
	long count = -1;

	CHECK_INT(live_wait(memtrace, 60), 0);
	at = strstr(live_stderr(memtrace), " stacks were unwound from copies");
	REQUIRE(at);
	while (at > live_stderr(memtrace) && at[-1] >= '0' && at[-1] <= '9')
		at--;
	count = strtol(at, NULL, 10);
	live_destroy(memtrace);
	return count;
}

/* The first stacks of a program make memtrace load the unwind tables of all of its files.
 * Later processes of the program have the tables from the start. */
static void another_process_of_the_same_program(void)
{
	static const char program[] = MANY_SITES_BINARY;
	char *often = NULL;
	long once, more;

	REQUIRE(asprintf(&often, "%s; %s; %s; %s", program, program, program, program) >
		0);
	/* The second command makes the shell fork: it executes a single command
	 * itself. */
	once = count_misses(MANY_SITES_BINARY "; true");
	more = count_misses(often) - once;
	printf("unwind misses: %ld, and %ld more for three more processes\n", once, more);
	CHECK(once > 0);
	/* Each call site without a table would be a miss. Fewer are allowed; the shell
	 * has some, too. */
	CHECK(more < 3 * MANY_SITES / 2);
	free(often);
}

int main(void)
{
	live_require_root();
	RUN(stock_programs);
	RUN(another_process_of_the_same_program);
	return check_done();
}
