// SPDX-License-Identifier: Apache-2.0
/*
 * What tracing costs a program that a traced process executes: a pair of malloc and free,
 * compared with a process that memtrace attached to; and the build of a small project
 * with all its processes.
 */
#include "bench.h"

#include <ftw.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "empty_probes.h"
#include "table.h"
#include "tool.h"

#define RUNS       5
#define PAIRS      200000
#define DEPTH      4
#define SETTLE_MS  500 /* gives memtrace time to notice the new program */

#define FILES      10
#define TIMEOUT_S  120
#define PATH_BYTES 64

/* --- pairs ------------------------------------------------------------------------ */

static double pair_ns(const char *const options[], bool execs)
{
	double ns[RUNS];

	for (unsigned i = 0; i < RUNS; i++) {
		struct target target = target_start();
		struct tracing tracing = tool_start(TOOL_MEMTRACE, &target, options);

		if (execs) {
			target_exec(&target);
			sleep_ms(SETTLE_MS);
		}
		target_pairs(&target, PAIRS / 20, DEPTH);
		ns[i] = target_pairs(&target, PAIRS, DEPTH);
		tool_stop(&tracing);
		target_stop(&target);
	}
	return median(ns, RUNS);
}

/* --- make ------------------------------------------------------------------------- */

static FILE *open_in(const char *folder, const char *name)
{
	char path[PATH_BYTES];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "we");
	if (!file)
		die("cannot write %s", path);
	return file;
}

/* A project of FILES source files in C and a makefile. */
static void write_project(const char *folder)
{
	FILE *makefile = open_in(folder, "Makefile");

	fputs("OBJECTS =", makefile);
	for (int i = 0; i < FILES; i++)
		fprintf(makefile, " f%d.o", i);
	fputs("\nprogram: $(OBJECTS)\n\t$(CC) -o $@ $(OBJECTS)\n", makefile);
	fclose(makefile);
	for (int i = 0; i < FILES; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%d.c", i);

		FILE *file = open_in(folder, name);

		fprintf(file,
			"#include <stdio.h>\n#include <stdlib.h>\n"
			"int f%d(void) { return printf(\"%d\"); }\n",
			i, i);
		if (!i)
			fputs("int main(void) { return f0(); }\n", file);
		fclose(file);
	}
}

static int remove_one(const char *path, const struct stat *status, int type,
		      struct FTW *at)
{
	(void)status, (void)type, (void)at;
	return remove(path);
}

/* The time make takes by its own clock, and including memtrace's start and end. */
struct make_figures {
	double own_ms, all_ms;
};

static struct make_figures time_make(const char *const before[], const char *folder)
{
	char script[PATH_BYTES + 128], line[64], report[PATH_BYTES];
	const char *argv[16] = {NULL};
	uint64_t start, end;
	size_t n = 0;

	snprintf(report, sizeof(report), "%s/report", folder);
	for (; before[n]; n++)
		argv[n] = strcmp(before[n], "REPORT") ? before[n] : report;
	snprintf(script, sizeof(script),
		 "cd %s && date +%%s%%N && make -B -s program >&2 && date +%%s%%N",
		 folder);
	argv[n++] = "sh";
	argv[n++] = "-c";
	argv[n] = script;

	struct child child = child_start(argv);

	child_read_line(&child, TIMEOUT_S, line, sizeof(line));
	start = strtoull(line, NULL, 10);
	child_read_line(&child, TIMEOUT_S, line, sizeof(line));
	end = strtoull(line, NULL, 10);

	uint64_t started_ns = child.started_ns;
	uint64_t ended_ns = child_wait(&child, TIMEOUT_S, NULL);

	return (struct make_figures){(double)(end - start) / 1e6,
				     (double)(ended_ns - started_ns) / 1e6};
}

static struct make_figures measure_make(const char *const before[], const char *folder)
{
	double own[RUNS], all[RUNS];

	for (unsigned i = 0; i < RUNS; i++) {
		struct make_figures one = time_make(before, folder);

		own[i] = one.own_ms;
		all[i] = one.all_ms;
	}
	return (struct make_figures){median(own, RUNS), median(all, RUNS)};
}

static const char *const bare[] = {NULL};

/* The floor: as many breakpoints, with programs that do nothing. */
static struct make_figures measure_make_with_empty(const char *folder)
{
	struct target target = target_start();
	struct empty_probes *probes = inside_probes_attach_to_all(target.child.pid);
	struct make_figures figures = measure_make(bare, folder);

	empty_probes_detach(probes);
	target_stop(&target);
	return figures;
}

static void make_rows(void)
{
	static const char *const traced[] = {MEMTRACE_BINARY,
					     "--follow-forks",
					     "-q",
					     "-f",
					     "-o",
					     "REPORT",
					     "--",
					     NULL};
	static const char *const by_fp[] = {MEMTRACE_BINARY,
					    "--follow-forks",
					    "--unwind",
					    "fp",
					    "-q",
					    "-f",
					    "-o",
					    "REPORT",
					    "--",
					    NULL};
	char folder[] = "/tmp/memtrace-bench-XXXXXX";

	if (system("make --version >/dev/null 2>&1 && cc --version >/dev/null 2>&1")) {
		puts("make is not measured: make or cc is missing");
		return;
	}
	if (!mkdtemp(folder))
		die("cannot make a folder");
	write_project(folder);

	struct make_figures b = measure_make(bare, folder),
			    empty = measure_make_with_empty(folder),
			    m = measure_make(traced, folder),
			    fp = measure_make(by_fp, folder);
	const struct row rows[] = {
		{"make of 10 small files, ms", m.own_ms, b.own_ms, NAN,
		 "without memtrace"},
		{"the same, ms", m.own_ms, empty.own_ms, NAN,
		 "with empty probes in the same places"},
		{"the same, --unwind fp, ms", fp.own_ms, b.own_ms, NAN,
		 "without memtrace"},
		{"and memtrace's start and report, ms", m.all_ms, b.all_ms, NAN,
		 "without memtrace"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		table_row(&rows[i], true);
	nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

void section_follow(void)
{
	static const char *const alone[] = {NULL}, *const forks[] = {"--follow-forks",
								     NULL};
	const struct row rows[] = {
		{"a pair after an exec, ns", pair_ns(alone, true), pair_ns(alone, false),
		 NAN, "the same without an exec"},
		{"the same, --follow-forks, ns", pair_ns(forks, true),
		 pair_ns(forks, false), NAN, "the same without an exec"},
	};

	table_head("Programs that a traced process executes");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		table_row(&rows[i], true);
	make_rows();
}
