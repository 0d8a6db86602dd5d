// SPDX-License-Identifier: Apache-2.0
#include "table.h"

#include <math.h>
#include <stdio.h>

/* About three significant digits, whatever the magnitude. */
static void print_number(int width, double n)
{
	if (isnan(n))
		printf("%*s", width, "-");
	else
		printf("%*.*f", width, n < 10 ? 2 : n < 100 ? 1 : 0, n);
}

static void print_ratio(int width, double a, double b)
{
	if (isnan(a) || isnan(b) || b == 0)
		printf("%*s", width, "");
	else
		print_number(width, a / b);
}

/* A figure of another tool, and its ratio to memtrace. */
static void print_peer(double peer, bool has_peer, double memtrace)
{
	putchar(' ');
	if (isnan(peer) && !has_peer)
		printf("%14s", "not available");
	else
		print_number(14, peer);
	putchar(' ');
	print_ratio(10, peer, memtrace);
}

void table_head(const char *title)
{
	printf("\n%s\n%-34s %10s %10s %9s %14s %9s  %s\n", title, "", "memtrace", "floor",
	       "m:floor", "memleak-bpfcc", "memleak:m", "the floor is");
	fflush(stdout);
}

void table_row(const struct row *row, bool has_peer)
{
	printf("%-34s ", row->name);
	print_number(10, row->memtrace);
	putchar(' ');
	print_number(10, row->floor);
	putchar(' ');
	print_ratio(9, row->memtrace, row->floor);
	print_peer(row->peer, has_peer, row->memtrace);
	printf("  %s\n", row->floor_name ? row->floor_name : "");
	fflush(stdout);
}

void table_tools_head(const char *title)
{
	printf("\n%s\n%-38s %10s %10s %9s %14s %10s %14s %10s  %s\n", title, "",
	       tool_name(TOOL_MEMTRACE), "floor", "m:floor", tool_name(TOOL_MEMLEAK),
	       "memleak:m", tool_name(TOOL_BPFTRACE), "bpftrace:m", "the floor is");
	fflush(stdout);
}

void table_tools_row(const struct tools_row *row, const struct peers *peers)
{
	double memtrace = row->of[TOOL_MEMTRACE];

	printf("%-38s ", row->name);
	print_number(10, memtrace);
	putchar(' ');
	print_number(10, row->floor);
	putchar(' ');
	print_ratio(9, memtrace, row->floor);
	print_peer(row->of[TOOL_MEMLEAK], peers->has[TOOL_MEMLEAK], memtrace);
	print_peer(row->of[TOOL_BPFTRACE], peers->has[TOOL_BPFTRACE], memtrace);
	printf("  %s\n", row->floor_name ? row->floor_name : "");
	fflush(stdout);
}

void table_comparison_head(const char *title, bool has_before)
{
	printf("\n%-28s %7s %7s %7s %7s %7s %7s %7s", title, "bare", "empty", "places",
	       "stepped", "memleak", "now", "now:emp");
	if (has_before)
		printf(" %7s %7s", "before", "now:bef");
	putchar('\n');
	fflush(stdout);
}

void table_comparison(const struct comparison *row)
{
	const double columns[] = {row->bare,    row->empty, row->inside,
				  row->stepped, row->peer,  row->now};

	printf("%-28s", row->name);
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
		putchar(' ');
		print_number(7, columns[i]);
	}
	putchar(' ');
	print_ratio(7, row->now, row->empty);
	if (row->has_before) {
		putchar(' ');
		print_number(7, row->before);
		putchar(' ');
		print_ratio(7, row->now, row->before);
	}
	putchar('\n');
	fflush(stdout);
}
