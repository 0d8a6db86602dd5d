// SPDX-License-Identifier: Apache-2.0
/*
 * What memtrace reads of a process before its probes are there: the mappings a known
 * number of times, and no symbol table, which only a report needs. strace(1) shows both.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "live/files.h"
#include "live/trace.h"

#define TIMEOUT_S 120

/* memtrace reads the mappings to find the process's files, and again to plan the probes.
 * Its child memtrace-read reads them for its own list of code, and in libbcc. */
#define READS_MAX       2
#define CHILD_READS_MAX 2

/* Headers of the target's files: for each some KB, with the names of their sections. The
 * symbols of libc alone have more than SYMBOLS_MIN_BYTES. */
#define HEADERS_MAX_BYTES (64 << 10)
#define SYMBOLS_MIN_BYTES (80 << 10)

struct seen {
	int child; /* memtrace-read */
	unsigned reads, child_reads;
	uint64_t child_bytes; /* read by the child from files */
	bool has_probe;       /* a link was created, other than to find features */
	unsigned reads_at_probe, child_reads_at_probe;
	uint64_t bytes_at_probe;
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

static void look_at(struct seen *seen, const char *line, const char *maps)
{
	bool is_child;
	int pid, at = 0;
	const char *call;

	if (sscanf(line, "%d %n", &pid, &at) != 1 || !at)
		return;
	call = line + at;
	is_child = pid == seen->child;
	if (!strncmp(call, "prctl(", 6) && strstr(call, "\"memtrace-read\""))
		seen->child = pid;
	if (!strncmp(call, "openat(", 7) && strstr(call, maps)) {
		seen->reads += !is_child;
		seen->child_reads += is_child;
	}
	if (is_child && !strncmp(call, "pread64(", 8) && strstr(call, "</usr/"))
		seen->child_bytes += result(call) > 0 ? (uint64_t)result(call) : 0;
	if (!seen->has_probe && !strncmp(call, "bpf(", 4) &&
	    strstr(call, "BPF_LINK_CREATE") && result(call) >= 0) {
		seen->has_probe = true;
		seen->reads_at_probe = seen->reads;
		seen->child_reads_at_probe = seen->child_reads;
		seen->bytes_at_probe = seen->child_bytes;
	}
}

static struct seen look_at_all(const char *path, pid_t target)
{
	struct seen seen = {.child = 0};
	char maps[64], *line = NULL;
	size_t size = 0;
	FILE *file = fopen(path, "re");

	REQUIRE(file);
	snprintf(maps, sizeof(maps), "\"/proc/%d/maps\"", (int)target);
	while (getline(&line, &size, file) > 0)
		look_at(&seen, line, maps);
	free(line);
	fclose(file);
	return seen;
}

/* Requests a report, and ends memtrace, which is the only child of strace. */
static void report_and_stop(struct live_process *strace)
{
	char *child = files_read("/proc/%d/task/%d/children", (int)live_pid(strace),
				 (int)live_pid(strace));
	pid_t memtrace = atoi(child);
	json_t *report;

	free(child);
	REQUIRE(memtrace > 0 && !kill(memtrace, SIGUSR1));
	report = live_read_json(strace, TIMEOUT_S);
	REQUIRE(report);
	CHECK(live_int(report, "heap.live_blocks") > 0);
	json_decref(report);
	REQUIRE(!kill(memtrace, SIGINT));
	CHECK_INT(live_wait(strace, TIMEOUT_S), 0);
}

static void before_the_first_probe(void)
{
	struct live_process *oracle = oracle_start(), *strace;
	char *path = live_path("strace.txt"), pid[16];
	const char *const argv[] = {
		"strace",      "-f",      "-y",
		"-s",          "4096",    "-o",
		path,          "-e",      "trace=openat,prctl,pread64,bpf",
		memtrace_path, "--pid",   pid,
		"--format",    "json",    "-i",
		"3600",        "--older", "0",
		NULL};
	struct seen seen;

	snprintf(pid, sizeof(pid), "%d", (int)live_pid(oracle));
	strace = live_start(argv);
	REQUIRE(live_wait_stderr(strace, "tracing pid", TIMEOUT_S));
	oracle_do(oracle, "run keep 100 1");
	report_and_stop(strace);
	seen = look_at_all(path, live_pid(oracle));
	printf("mappings: read %u times, and %u times by the child; files: %u KB by the "
	       "child, %u KB with a report\n",
	       seen.reads_at_probe, seen.child_reads_at_probe,
	       (unsigned)(seen.bytes_at_probe >> 10), (unsigned)(seen.child_bytes >> 10));
	CHECK(seen.has_probe && seen.child);
	CHECK(seen.reads_at_probe > 0 && seen.reads_at_probe <= READS_MAX);
	CHECK(seen.child_reads_at_probe <= CHILD_READS_MAX);
	CHECK(seen.bytes_at_probe < HEADERS_MAX_BYTES);
	/* Otherwise the test would not see how symbols are read. */
	CHECK(seen.child_bytes - seen.bytes_at_probe > SYMBOLS_MIN_BYTES);
	live_destroy(strace);
	live_destroy(oracle);
	free(path);
}

int main(void)
{
	live_require_root();
	if (system("strace -V >/dev/null 2>&1"))
		check_skip("strace is not installed");
	RUN(before_the_first_probe);
	return check_done();
}
