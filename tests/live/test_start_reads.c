// SPDX-License-Identifier: Apache-2.0
/*
 * What memtrace reads of a process before its probes are there: the mappings and the C
 * library a known number of times, and no symbol table, which only a report needs.
 * strace(1) shows it.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "live/family.h"
#include "live/files.h"
#include "live/trace.h"

#define TIMEOUT_S 120

/* memtrace reads the mappings once to find the process's files and to plan the probes,
 * and twice after the first probes (docs/performance.md, "What the start reads"). Its
 * child memtrace-read reads them once. */
#define READS_MAX       1
#define READS_START_MAX 3
#define CHILD_READS_MAX 1

/* How often memtrace opens the C library until its probes are there. More than half of
 * the openings are for memtrace-read, where libbcc opens each file three times. */
#define OPENED_MAX        26
#define OPENED_FOLLOW_MAX 32 /* with probes in all processes */
#define OPENED_SECOND_MAX 18 /* for another process */

/* The same from then on with a report, after two children were forked. */
#define OPENED_FORKED_MAX 16

/* Headers of the target's files: for each some KB, with the names of their sections. The
 * symbols of libc alone have more than SYMBOLS_MIN_BYTES. */
#define HEADERS_MAX_BYTES (64 << 10)
#define SYMBOLS_MIN_BYTES (80 << 10)

struct counts {
	unsigned reads;       /* of the mappings, by memtrace */
	unsigned child_reads; /* of the mappings, by memtrace-read */
	uint64_t child_bytes; /* read by memtrace-read from files */
	unsigned opened;      /* the C library, by memtrace */
};

struct seen {
	const char *says;    /* when the probes are there */
	int memtrace, child; /* pids of memtrace and of memtrace-read */
	struct counts now;
	unsigned probes;     /* links created, other than to find features */
	struct counts first; /* at the first probe */
	struct counts start; /* when memtrace says that the probes are there */
};

/* The result of the call that the line shows. */
static long result(const char *line)
{
	const char *at = strstr(line, ") = ");
	const char *next;

	while (at && (next = strstr(at + 1, ") = ")))
		at = next;
	return at ? strtol(at + strlen(") = "), NULL, 0) : -1;
}

/* Does the line show that the C library was opened, perhaps as an O_PATH descriptor? */
static bool opens_libc(const char *call)
{
	bool is_libc = strstr(call, "/libc.so.6>\n") || strstr(call, "/libc-2.");

	return is_libc && !strncmp(call, "open", strlen("open")) && result(call) >= 0;
}

static void look_at(struct seen *seen, const char *line, const char *maps)
{
	bool is_child;
	int pid, at = 0;
	const char *call;

	if (sscanf(line, "%d %n", &pid, &at) != 1 || !at)
		return;
	call = line + at;
	if (!seen->memtrace)
		seen->memtrace = pid;
	is_child = pid == seen->child;
	if (!strncmp(call, "prctl(", 6) && strstr(call, "\"memtrace-read\""))
		seen->child = pid;
	if (!strncmp(call, "openat(", 7) && strstr(call, maps)) {
		seen->now.reads += !is_child;
		seen->now.child_reads += is_child;
	}
	seen->now.opened += pid == seen->memtrace && opens_libc(call);
	if (is_child && !strncmp(call, "pread64(", 8) && strstr(call, "</usr/"))
		seen->now.child_bytes += result(call) > 0 ? (uint64_t)result(call) : 0;
	if (!seen->start.reads && !strncmp(call, "write", strlen("write")) &&
	    strstr(call, seen->says))
		seen->start = seen->now;
	if (strncmp(call, "bpf(", 4) || !strstr(call, "BPF_LINK_CREATE") ||
	    result(call) < 0)
		return;
	if (!seen->probes++)
		seen->first = seen->now;
}

static struct seen look_at_all(const char *path, pid_t target)
{
	char maps[64], says[64], *line = NULL;
	struct seen seen = {.says = says};
	size_t size = 0;
	FILE *file = fopen(path, "re");

	REQUIRE(file);
	snprintf(maps, sizeof(maps), "\"/proc/%d/maps\"", (int)target);
	snprintf(says, sizeof(says), "memtrace: tracing pid %d (", (int)target);
	while (getline(&line, &size, file) > 0)
		look_at(&seen, line, maps);
	free(line);
	fclose(file);
	seen.says = NULL;
	return seen;
}

/* Start memtrace under strace(1), which writes to `path`. `options` is one more option,
 * or NULL. */
static struct live_process *start(const char *path, const char *pids, const char *option)
{
	const char *const argv[] = {"strace",
				    "-f",
				    "-y",
				    "-s",
				    "4096",
				    "-o",
				    path,
				    "-e",
				    "trace=openat,openat2,prctl,pread64,bpf,write,writev",
				    memtrace_path,
				    "--pid",
				    pids,
				    "--format",
				    "json",
				    "-i",
				    "3600",
				    "--older",
				    "0",
				    option,
				    NULL};
	struct live_process *strace = live_start(argv);
	const char *last = strrchr(pids, ',');
	char says[64];

	snprintf(says, sizeof(says), "tracing pid %s (", last ? last + 1 : pids);
	REQUIRE(live_wait_stderr(strace, says, TIMEOUT_S));
	return strace;
}

/* The pid of memtrace, which is the only child of strace. */
static pid_t memtrace_of(struct live_process *strace)
{
	char *child = files_read("/proc/%d/task/%d/children", (int)live_pid(strace),
				 (int)live_pid(strace));
	pid_t memtrace = atoi(child);

	free(child);
	REQUIRE(memtrace > 0);
	return memtrace;
}

/* Request a report, and end memtrace. */
static void report_and_stop(struct live_process *strace, int64_t least_blocks)
{
	pid_t memtrace = memtrace_of(strace);
	json_t *report;

	REQUIRE(!kill(memtrace, SIGUSR1));
	report = live_read_json(strace, TIMEOUT_S);
	REQUIRE(report);
	CHECK(live_int(report, "heap.live_blocks") >= least_blocks);
	json_decref(report);
	REQUIRE(!kill(memtrace, SIGINT));
	CHECK_INT(live_wait(strace, TIMEOUT_S), 0);
}

static void say(const char *when, const struct counts *counts)
{
	printf("%s: mappings read %u times, and %u times by the child; libc opened %u "
	       "times; %u KB of files read by the child\n",
	       when, counts->reads, counts->child_reads, counts->opened,
	       (unsigned)(counts->child_bytes >> 10));
}

static void one_process(void)
{
	struct live_process *oracle = oracle_start(), *strace;
	char *path = live_path("strace.txt"), pid[16];
	struct seen seen;

	snprintf(pid, sizeof(pid), "%d", (int)live_pid(oracle));
	strace = start(path, pid, NULL);
	oracle_do(oracle, "run keep 100 1");
	report_and_stop(strace, 1);
	seen = look_at_all(path, live_pid(oracle));
	say("first probe", &seen.first);
	say("start", &seen.start);
	say("with a report", &seen.now);
	CHECK(seen.probes && seen.child);
	CHECK(seen.first.reads > 0 && seen.first.reads <= READS_MAX);
	CHECK(seen.start.reads <= READS_START_MAX);
	CHECK(seen.start.child_reads > 0 && seen.start.child_reads <= CHILD_READS_MAX);
	CHECK(seen.start.opened > 0 && seen.start.opened <= OPENED_MAX);
	CHECK(seen.first.child_bytes < HEADERS_MAX_BYTES);
	/* Otherwise the test would not see how symbols are read. */
	CHECK(seen.now.child_bytes - seen.first.child_bytes > SYMBOLS_MIN_BYTES);
	live_destroy(strace);
	live_destroy(oracle);
	free(path);
}

static void two_processes(void)
{
	struct live_process *first = oracle_start(), *second = oracle_start(), *strace;
	char *path = live_path("strace2.txt"), pids[32];
	struct seen seen;

	snprintf(pids, sizeof(pids), "%d,%d", (int)live_pid(first),
		 (int)live_pid(second));
	strace = start(path, pids, NULL);
	oracle_do(first, "run keep 100 1");
	oracle_do(second, "run keep 100 1");
	report_and_stop(strace, 200);
	seen = look_at_all(path, live_pid(second));
	say("start with two", &seen.start);
	CHECK(seen.start.reads > 0 && seen.start.reads <= READS_START_MAX);
	CHECK(seen.start.opened <= OPENED_MAX + OPENED_SECOND_MAX);
	live_destroy(strace);
	live_destroy(first);
	live_destroy(second);
	free(path);
}

/* A child of fork(2) has its parent's files and probes. */
static void forked_child(void)
{
	struct live_process *target = family_start(NULL), *strace;
	char *path = live_path("strace3.txt"), pid[16];
	struct seen seen;

	snprintf(pid, sizeof(pid), "%d", (int)live_pid(target));
	strace = start(path, pid, "--follow-forks");
	oracle_do(target, "nest");
	report_and_stop(strace, 5);
	seen = look_at_all(path, live_pid(target));
	say("start", &seen.start);
	say("with two children and a report", &seen.now);
	CHECK(seen.start.opened > 0 && seen.start.opened <= OPENED_FOLLOW_MAX);
	CHECK(seen.now.opened - seen.start.opened <= OPENED_FORKED_MAX);
	oracle_do(target, "reap");
	live_destroy(strace);
	family_finish(target);
	free(path);
}

int main(void)
{
	live_require_root();
	if (system("strace -V >/dev/null 2>&1"))
		check_skip("strace is not installed");
	RUN(one_process);
	RUN(two_processes);
	RUN(forked_child);
	return check_done();
}
