// SPDX-License-Identifier: Apache-2.0
/* --replay of a generated snapshot of a large program, in each format. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "child.h"
#include "large_snapshot.h"
#include "snapshot/file.h"

#define STACKS    100000
#define BLOCKS    1000000
#define RUNS      3

#define TIMEOUT_S 60

static void make_file(const char *path)
{
	struct snapshot *snap = large_snapshot(STACKS, BLOCKS);
	FILE *out = fopen(path, "we");
	struct error *err = out ? snapshot_write(snap, out) : NULL;

	if (!out || err || fclose(out))
		die("cannot write %s", path);
	snapshot_destroy(snap);
}

struct figures {
	double ms, cpu_ms, mb; /* until the end; processor time; peak resident memory */
};

static double timeval_ms(const struct timeval *t)
{
	return (double)t->tv_sec * 1e3 + (double)t->tv_usec / 1e3;
}

/* The medians of RUNS runs. */
static struct figures measure(const char *file, const char *const options[])
{
	double ms[RUNS], cpu_ms[RUNS], mb[RUNS];

	for (size_t run = 0; run < RUNS; run++) {
		const char *argv[16] = {MEMTRACE_BINARY, "--replay", file};
		struct rusage usage;
		size_t n = 3;

		for (size_t i = 0; options[i]; i++)
			argv[n++] = options[i];

		struct child child = child_start(argv);
		struct text text = child_read_burst(&child, TIMEOUT_S, TIMEOUT_S * 1000);
		uint64_t end_ns = child_wait(&child, TIMEOUT_S, &usage);

		ms[run] = (double)(end_ns - child.started_ns) / 1e6;
		cpu_ms[run] = timeval_ms(&usage.ru_utime) + timeval_ms(&usage.ru_stime);
		mb[run] = (double)usage.ru_maxrss * 1024 / 1e6;
		text_deinit(&text);
	}
	return (struct figures){median(ms, RUNS), median(cpu_ms, RUNS), median(mb, RUNS)};
}

void section_replay(void)
{
	static const struct {
		const char *name;
		const char *options[8];
	} runs[] = {
		{"text, 10 stacks", {NULL}},
		{"text, all", {"--top", "0", NULL}},
		{"text, all and blocks", {"--top", "0", "-a", NULL}},
		{"json", {"--top", "0", "--format", "json", NULL}},
		{"csv", {"-f", "--csv", "OUT", NULL}},
		{"collapsed", {"-f", "--flamegraph", "OUT", NULL}},
		{"svg", {"-f", "--flame", "OUT", NULL}},
		{"pprof", {"-f", "--pprof", "OUT", NULL}},
		{"html", {"-f", "--html", "OUT", NULL}},
		{"snapshot", {"-f", "--save", "OUT", NULL}},
	};
	char dir[] = "/tmp/memtrace-bench-XXXXXX", file[64], out[64];
	struct stat st;
	double base_ms = 0;

	if (!mkdtemp(dir))
		die("cannot make a directory in /tmp");
	snprintf(file, sizeof(file), "%s/snapshot.mts", dir);
	snprintf(out, sizeof(out), "%s/out", dir);

	uint64_t start_ns = now_ns();

	make_file(file);
	printf("\n%d stacks, %d blocks: made and written in %.0f ms, ", STACKS, BLOCKS,
	       (double)(now_ns() - start_ns) / 1e6);
	if (!stat(file, &st))
		printf("%.1f MB\n", (double)st.st_size / 1e6);
	printf("%-24s %10s %10s %10s %10s\n", "replay of it", "ms", "cpu ms", ": first",
	       "peak MB");
	for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++) {
		const char *options[8];
		struct figures f;

		for (size_t k = 0; k < 8; k++) {
			const char *word = runs[i].options[k];

			options[k] = word && !strcmp(word, "OUT") ? out : word;
		}
		f = measure(file, options);
		unlink(out);
		base_ms = i ? base_ms : f.cpu_ms;
		printf("%-24s %10.0f %10.0f %10.2f %10.0f\n", runs[i].name, f.ms,
		       f.cpu_ms, f.cpu_ms / base_ms, f.mb);
		fflush(stdout);
	}
	unlink(file);
	rmdir(dir);
}
