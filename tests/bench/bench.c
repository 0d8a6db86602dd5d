// SPDX-License-Identifier: Apache-2.0
/*
 * What memtrace costs. Each figure stands beside a lower bound (the floor) or a peer,
 * measured in the same run on the same machine. All figures are medians unless the table
 * says otherwise.
 */
#include "bench.h"

#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "tool.h"

void die(const char *format, ...)
{
	va_list ap;

	fflush(stdout);
	fputs("bench: ", stderr);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void sleep_ms(unsigned ms)
{
	const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};

	nanosleep(&t, NULL);
}

static int compare(const void *pa, const void *pb)
{
	const double *a = pa, *b = pb;

	return (*a > *b) - (*a < *b);
}

double median(double values[], size_t count)
{
	qsort(values, count, sizeof(*values), compare);
	if (!count)
		return NAN;
	return count % 2 ? values[count / 2]
			 : (values[count / 2 - 1] + values[count / 2]) / 2;
}

struct section {
	const char *name;
	bool is_in_table; /* docs/performance.md begins with a table of these */
	void (*run)(void);
	/* instead of run(): it measures the tools of others too */
	void (*run_beside)(const struct peers *peers);
};

static const struct section sections[] = {
	{"start", true, NULL, section_start},
	{"idle", true, NULL, section_idle},
	{"memory", true, NULL, section_memory},
	{"report", true, NULL, section_report},
	{"pairs", true, NULL, section_pairs},
	{"server", false, NULL, section_server},
	{"allocators", false, NULL, section_allocators},
	{"analysis", false, section_analysis, NULL},
	{"follow", false, section_follow, NULL},
	{"growth", true, section_growth, NULL},
	{"before", false, section_before, NULL},
	{"stacks", true, section_stacks, NULL},
	{"unwind", false, section_unwind, NULL},
	{"listen", false, section_listen, NULL},
	{"replay", false, section_replay, NULL},
	{"screen", false, section_screen, NULL},
	{"search", false, section_search, NULL},
};

#define SECTIONS (sizeof(sections) / sizeof(*sections))

/* Without arguments every section is wanted. "table": the sections of README's table. */
static bool is_wanted(const struct section *section, int argc, char *const argv[])
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], section->name) ||
		    (section->is_in_table && !strcmp(argv[i], "table")))
			return true;
	return argc < 2;
}

static void check_names(int argc, char *const argv[])
{
	for (int i = 1; i < argc; i++) {
		bool is_known = !strcmp(argv[i], "table");

		for (size_t k = 0; k < SECTIONS; k++)
			is_known |= !strcmp(argv[i], sections[k].name);
		if (!is_known)
			die("unknown section \"%s\"", argv[i]);
	}
}

static void print_machine(void)
{
	char day[64] = "", load[64] = "";
	time_t now = time(NULL);
	struct utsname kernel;
	FILE *file = fopen("/proc/loadavg", "re");

	if (file && !fgets(load, sizeof(load), file))
		load[0] = '\0';
	if (file)
		fclose(file);
	strftime(day, sizeof(day), "%d %B %Y, %H:%M", localtime(&now));
	uname(&kernel);
	printf("%s, Linux %s, %s, %ld processors, load average %.14s\n", day,
	       kernel.release, kernel.machine, sysconf(_SC_NPROCESSORS_ONLN), load);
}

int main(int argc, char *argv[])
{
	struct peers peers = {.has = {false}};
	bool wants_peers = false;

	check_names(argc, argv);
	/* These sections read files and trace nothing: they need no root. */
	if (argc == 2 && !strcmp(argv[1], "replay")) {
		section_replay();
		return 0;
	}
	if (argc == 2 && !strcmp(argv[1], "screen")) {
		section_screen();
		return 0;
	}
	if (geteuid() != 0)
		die("tracing needs root");
	signal(SIGPIPE, SIG_IGN);
	print_machine();
	for (size_t i = 0; i < SECTIONS; i++)
		wants_peers |=
			sections[i].run_beside && is_wanted(&sections[i], argc, argv);
	if (wants_peers)
		peers = tool_find_peers();
	for (size_t i = 0; i < SECTIONS; i++) {
		const struct section *section = &sections[i];

		if (!is_wanted(section, argc, argv))
			continue;
		if (section->run)
			section->run();
		else
			section->run_beside(&peers);
	}
	return 0;
}
