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

#define SEARCHES 3

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
	 "insert into t with recursive c(i) as (select 1 union all select i + 1 from c "
	 "where "
	 "i < 1000000000) select i, hex(randomblob(300)) from c;",
	 NULL},
	{"redis-server",
	 "exec env $own redis-server --port 0 --unixsocket $PWD/redis --save '' "
	 "--appendonly no --daemonize no >/dev/null",
	 NULL,
	 "while [ ! -S redis ]; do sleep 0.1; done; exec redis-benchmark -s $PWD/redis "
	 "-t set,get,lpush,lpop,sadd,hset -l -r 20000 "
	 "-d 200 -c 20 >/dev/null 2>&1"},
	/* Functions enough to be compiled for much longer than the test takes. */
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

/* What the search says of the call path through drop_pointer(). */
static int64_t dropped(const json_t *report, const char *key)
{
	const json_t *row;
	int64_t sum = 0;
	size_t i;

	json_array_foreach (live_get(report, "heap.stacks"), i, row)
		if (row_has_symbol(row, "drop_pointer"))
			sum += strcmp(key, "blocks")
				       ? json_integer_value(json_object_get(
						 json_object_get(row, "unreachable"),
						 key))
				       : live_int(row, "blocks");
	return sum;
}

static void search(const struct program *program, const char *library)
{
	struct live_process *target, *load = NULL, *memtrace;
	_cleanup_(freep) char *own = NULL;
	json_t *report = NULL;
	int64_t lost = 0, freed = 0;

	REQUIRE(asprintf(&own, "%s%s", library ? "LD_PRELOAD=" : "",
			 library ? library : "") >= 0);
	target = run(program->start, own);
	if (program->load)
		load = run(program->load, "");
	await_exec(target, program->name);
	live_sleep(0.5);
	if (program->line)
		live_send(target, "%s", program->line);
	live_sleep(0.5);
	memtrace = memtrace_start(live_pid(target), "--unreachable");
	for (int i = 0; i < SEARCHES; i++) {
		live_sleep(0.5);
		json_decref(report);
		report = memtrace_report(memtrace);
		CHECK_INT(live_int(report, "heap.search.unsearched"), 0);
		if (live_int(report, "heap.search.unsearched"))
			fprintf(stderr, "%s", live_stderr(memtrace));
		CHECK(live_is_running(target));
	}
	lost = live_int(report, "heap.search.lost_blocks");
	freed = live_int(report, "heap.search.lost_but_freed_blocks");
	printf("%s: %" PRId64 " blocks live, %" PRId64 " lost, %" PRId64
	       " freed later, %" PRId64 " dropped, stopped for %.1f ms\n",
	       program->name, live_int(report, "heap.live_blocks"), lost, freed,
	       dropped(report, "blocks"),
	       (double)live_int(report, "heap.search.pause_ns") / 1e6);
	CHECK_INT(freed, 0);
	if (library) {
		int64_t blocks = dropped(report, "blocks");

		CHECK(blocks > 100);
		/* The others are hidden by old values in memory, or by glibc's pointers
		 * to their ends: 3 % in python3, 10 % in sqlite3. */
		CHECK(dropped(report, "lost_blocks") >= blocks / 2);
	}
	json_decref(report);
	json_decref(memtrace_stop(memtrace));
	CHECK(live_is_running(target));
	live_destroy(load);
	live_destroy(target);
}

static void what_is_lost_is_not_freed(void)
{
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		search(&programs[i], NULL);
}

static void a_leak_is_found(void)
{
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		search(&programs[i], DROPPER_LIBRARY);
}

int main(void)
{
	live_require_root();
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
