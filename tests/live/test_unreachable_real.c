// SPDX-License-Identifier: Apache-2.0
/*
 * The search for unreachable blocks in packaged programs at work. What it calls lost is
 * not freed later; and a leak that a preloaded library adds is found by its call path.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "live/trace.h"
#include "util/cleanup.h"

/* Searches of a program, and time between them. $MEMTRACE_TEST_SECONDS: so long, instead,
 * after which the program is still at work. */
#define SEARCHES     3
#define PAUSE_S      0.5
#define LONG_PAUSE_S 5

/* A preloaded library has dropped enough pointers once so many are dropped. Until then
 * searches are repeated, because only a report says it. */
#define DROPPED_MIN  10
#define DROPPING_S   1.5
#define DROPPING_MAX 40

/* A program that works for as long as it runs. */
struct program {
	const char *name;
	/* For /bin/sh, in a folder of its own. $own is what the program needs in its
	 * environment. */
	const char *start;
	const char *line; /* is sent to it first, or NULL */
	const char *load; /* runs beside it, or NULL; for /bin/sh, too */
};

static const struct program programs[] = {
	/* Each object in a block of malloc. */
	{"python3", "exec env $own /usr/bin/python3 -i -q",
	 "import os, sys\n"
	 "n = os.open('/dev/null', os.O_WRONLY)\n"
	 "def work():\n"
	 "  keep = {}\n"
	 "  for i in range(10**9):\n"
	 "    keep[i % 5000] = [bytes(600 + i % 300), str(i) * 200]\n"
	 "    os.write(n, b'x')\n"
	 "\n"
	 "work()",
	 NULL},
	{"sqlite3", "exec env $own sqlite3 :memory:",
	 "create table t(a integer primary key, b text);\n"
	 "insert or replace into t with recursive c(i) as (select 1 union all select i + "
	 "1 "
	 "from c where i < 1000000000) select i % 500000, hex(randomblob(300)) from c;",
	 NULL},
	{"redis-server",
	 "exec env $own redis-server --port 0 --unixsocket $PWD/redis --save '' "
	 "--appendonly no --daemonize no >/dev/null",
	 NULL,
	 "while [ ! -S redis ]; do sleep 0.1; done; exec redis-benchmark -s $PWD/redis "
	 "-t set,get,lpush,lpop,sadd,hset -l -r 20000 "
	 "-d 200 -c 20 >/dev/null 2>&1"},
	/* Functions enough to be compiled for some minutes. */
	{"clang",
	 "seq 100000 | sed 's/.*/int f&(int *a,int n){int s=0;for(int "
	 "i=0;i<n;i++)s+=a[i]*&;return s;}/' > many.c; "
	 "exec env $own clang -O2 -c many.c -o many.o",
	 NULL, NULL},
	/* A server in C++: the load opens a file again and again. */
	{"clangd",
	 "mkfifo in; exec env $own clangd --background-index=0 --log=error <in "
	 ">/dev/null",
	 NULL,
	 "while [ ! -p in ]; do sleep 0.1; done; exec >in; n=0; say() { printf "
	 "'Content-Length: %d\\r\\n\\r\\n%s' ${#1} \"$1\"; "
	 "}; "
	 "say '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":"
	 "{\"capabilities\":{}}}'; "
	 "while sleep 0.2; do n=$((n + 1)); "
	 "say '{\"jsonrpc\":\"2.0\",\"method\":\"textDocument/didOpen\",\"params\":"
	 "{\"textDocument\":{\"uri\":\"file:///a'$n'.cc\",\"languageId\":\"cpp\","
	 "\"version\":1,\"text\":\"#include <vector>\\nstd::vector<int> v;\"}}}'; "
	 "say '{\"jsonrpc\":\"2.0\",\"method\":\"textDocument/didClose\",\"params\":"
	 "{\"textDocument\":{\"uri\":\"file:///a'$n'.cc\"}}}'; done"},
};

static struct live_process *run(const char *script, const char *own)
{
	_cleanup_(freep) char *folder = live_path("work"), *text = NULL;

	mkdir(folder, 0700);
	REQUIRE(asprintf(&text, "cd %s && own=%s && %s", folder, own, script) > 0);

	const char *const argv[] = {"/bin/sh", "-c", text, NULL};

	return live_start(argv);
}

/* Wait until the shell has become the program. */
static void await_exec(struct live_process *target, const char *name)
{
	double until_s = live_now_s() + 60;
	char path[64], comm[32] = "";

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)live_pid(target));
	while (strncmp(comm, name, strlen(name)) != 0) {
		_cleanup_(fclosep) FILE *file = fopen(path, "re");

		REQUIRE(file && live_now_s() < until_s);
		REQUIRE(fgets(comm, sizeof(comm), file));
		live_sleep(0.02);
	}
}

/* Of the call paths through drop_pointer(): the blocks, or with `verdict` what the search
 * says of them. */
static int64_t dropped(const json_t *report, const char *verdict)
{
	const json_t *row;
	int64_t sum = 0;
	size_t i;

	json_array_foreach (live_get(report, "heap.stacks"), i, row)
		if (row_has_symbol(row, "drop_pointer"))
			sum += verdict ? json_integer_value(json_object_get(
						 json_object_get(row, "unreachable"),
						 verdict))
				       : live_int(row, "blocks");
	return sum;
}

/* A program at work, what loads it, and memtrace, which traces it. */
struct traced {
	const struct program *program;
	struct live_process *target, *load, *memtrace;
};

/* A load that finds the socket of a server that has ended would do nothing. */
static void remove_socket(void)
{
	_cleanup_(freep) char *folder = live_path("work"), *socket = NULL;

	REQUIRE(asprintf(&socket, "%s/redis", folder) > 0);
	unlink(socket);
}

/* `library` is preloaded; NULL: none. */
static struct traced start(const struct program *program, const char *library)
{
	struct traced t = {.program = program};
	_cleanup_(freep) char *own = NULL;

	REQUIRE(asprintf(&own, "%s%s", library ? "LD_PRELOAD=" : "",
			 library ? library : "") >= 0);
	remove_socket();
	t.target = run(program->start, own);
	if (program->load)
		t.load = run(program->load, "");
	await_exec(t.target, program->name);
	live_sleep(0.5);
	if (program->line)
		live_send(t.target, "%s", program->line);
	live_sleep(0.5);
	t.memtrace = memtrace_start(live_pid(t.target), "--unreachable");
	return t;
}

static void end(struct traced *t)
{
	json_decref(memtrace_stop(t->memtrace));
	CHECK(live_is_running(t->target));
	live_destroy(t->load);
	live_destroy(t->target);
}

static json_t *search(struct traced *t)
{
	json_t *report = memtrace_report(t->memtrace);

	CHECK_INT(live_int(report, "heap.search.unsearched"), 0);
	if (live_int(report, "heap.search.unsearched"))
		fprintf(stderr, "%s", live_stderr(t->memtrace));
	CHECK(live_is_running(t->target));
	return report;
}

/* Print the call paths of blocks that were called lost and then freed. */
static void print_mistakes(const json_t *report)
{
	const json_t *row;
	size_t i;

	json_array_foreach (live_get(report, "heap.stacks"), i, row) {
		_cleanup_(freep) char *text = json_dumps(row, JSON_INDENT(1));

		if (json_integer_value(
			    json_object_get(json_object_get(row, "unreachable"),
					    "lost_but_freed_blocks")))
			fprintf(stderr, "%s\n", text);
	}
}

static void lose_nothing(const struct program *program)
{
	const char *text = getenv("MEMTRACE_TEST_SECONDS");
	double until_s, pause_s = text ? LONG_PAUSE_S : PAUSE_S, longest_s = 0;
	struct traced t = start(program, NULL);
	json_t *report = NULL;
	int64_t freed;

	until_s = live_now_s() + (text ? strtod(text, NULL) : 0);
	for (int i = 0; i < SEARCHES || live_now_s() < until_s; i++) {
		double stopped_s;

		live_sleep(pause_s);
		json_decref(report);
		report = search(&t);
		stopped_s = (double)live_int(report, "heap.search.pause_ns") / 1e9;
		longest_s = stopped_s > longest_s ? stopped_s : longest_s;
	}
	freed = live_int(report, "heap.search.lost_but_freed_blocks");
	printf("%s: %" PRId64 " searches, %" PRId64 " allocations, %" PRId64
	       " blocks live, %" PRId64 " lost, %" PRId64
	       " freed later, stopped for up to %.1f ms\n",
	       program->name, live_int(report, "heap.search.searches"),
	       live_int(report, "heap.totals.allocations"),
	       live_int(report, "heap.live_blocks"),
	       live_int(report, "heap.search.lost_blocks"), freed, longest_s * 1e3);
	CHECK_INT(freed, 0);
	if (freed)
		print_mistakes(report);
	json_decref(report);
	end(&t);
}

/* Of all programs: blocks that the library has dropped, and those of them that are lost
 * or possibly lost. */
static int64_t all_dropped, all_lost, all_possible;

static void lose_some(const struct program *program)
{
	struct traced t = start(program, DROPPER_LIBRARY);
	int64_t blocks = 0, lost, possible;
	json_t *report = NULL;

	for (int i = 0; blocks < DROPPED_MIN && i < DROPPING_MAX; i++) {
		live_sleep(DROPPING_S);
		json_decref(report);
		report = search(&t);
		blocks = dropped(report, NULL);
	}
	lost = dropped(report, "lost_blocks");
	possible = dropped(report, "possible_blocks");
	printf("%s: of %" PRId64 " dropped blocks %" PRId64 " are lost, %" PRId64
	       " possibly, in search %" PRId64 "\n",
	       program->name, blocks, lost, possible,
	       live_int(report, "heap.search.searches"));
	CHECK(blocks >= DROPPED_MIN);
	/* The others are hidden by old values in memory: a block often gets the address
	 * of one that was freed, and pointers to that are left. To some, the allocator
	 * has pointers: to their ends. These may be all of a dozen in clangd. How many
	 * are found is checked for all programs together. */
	CHECK(lost + possible > 0);
	all_dropped += blocks;
	all_lost += lost;
	all_possible += possible;
	CHECK_INT(live_int(report, "heap.search.lost_but_freed_blocks"), 0);
	json_decref(report);
	end(&t);
}

/* The only program to test; NULL: all. */
static const char *only;

static void for_each(void (*test)(const struct program *program))
{
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		if (!only || !strcmp(only, programs[i].name))
			test(&programs[i]);
}

static void what_is_lost_is_not_freed(void)
{
	for_each(lose_nothing);
}

static void a_leak_is_found(void)
{
	for_each(lose_some);
	CHECK(all_lost + all_possible >= all_dropped / 3);
	if (!only)
		CHECK(all_lost >= all_dropped / 3);
}

/* The argument is the name of a program. */
int main(int argc, char *argv[])
{
	live_require_root();
	only = argc > 1 ? argv[1] : NULL;
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		char command[64];

		snprintf(command, sizeof(command), "command -v %s >/dev/null",
			 programs[i].name);
		if (system(command))
			check_skip("a program is not installed: scripts/packages lists "
				   "them");
	}
	RUN(what_is_lost_is_not_freed);
	RUN(a_leak_is_found);
	return check_done();
}
