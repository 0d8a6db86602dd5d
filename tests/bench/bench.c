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

/* Is the section to be run? Without arguments all are, else those that are named. */
static bool is_wanted(int argc, char *const argv[], const char *name)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], name))
			return true;
	return argc < 2;
}

int main(int argc, char *argv[])
{
	struct utsname kernel;
	char why[256];

	/* The replay section reads a file and traces nothing: it needs no root. */
	if (argc == 2 && !strcmp(argv[1], "replay")) {
		section_replay();
		return 0;
	}
	if (geteuid() != 0)
		die("tracing needs root");
	signal(SIGPIPE, SIG_IGN);
	uname(&kernel);
	printf("Linux %s, %s, %ld processors\n", kernel.release, kernel.machine,
	       sysconf(_SC_NPROCESSORS_ONLN));
	bool has_peer = tool_find_peer(why, sizeof(why));

	if (!has_peer)
		printf("memleak-bpfcc is not measured: %s\n", why);
	if (is_wanted(argc, argv, "start"))
		section_start(has_peer);
	if (is_wanted(argc, argv, "idle"))
		section_idle();
	if (is_wanted(argc, argv, "memory"))
		section_memory(has_peer);
	if (is_wanted(argc, argv, "report"))
		section_report(has_peer);
	if (is_wanted(argc, argv, "pairs"))
		section_pairs(has_peer);
	if (is_wanted(argc, argv, "allocators"))
		section_allocators(has_peer);
	if (is_wanted(argc, argv, "analysis"))
		section_analysis();
	if (is_wanted(argc, argv, "follow"))
		section_follow();
	if (is_wanted(argc, argv, "growth"))
		section_growth();
	if (is_wanted(argc, argv, "before"))
		section_before();
	if (is_wanted(argc, argv, "stacks"))
		section_stacks();
	if (is_wanted(argc, argv, "unwind"))
		section_unwind();
	if (is_wanted(argc, argv, "replay"))
		section_replay();
	return 0;
}
