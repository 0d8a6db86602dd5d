// SPDX-License-Identifier: Apache-2.0
#include "cli/options.h"

#include <string.h>

#include "cli/option_table.h"

#define HELP_COLUMN 30
#define LINE_WIDTH  80

/* Print `text` starting at column `at`, wrapped at spaces. Further lines begin at
 * HELP_COLUMN. */
static void print_wrapped(FILE *out, const char *text, int at)
{
	while (*text) {
		int len = (int)strcspn(text, " ");

		if (at > HELP_COLUMN && at + 1 + len > LINE_WIDTH) {
			fputc('\n', out);
			at = 0;
		}
		if (at < HELP_COLUMN)
			at += fprintf(out, "%*s", HELP_COLUMN - at, "");
		else
			at += fprintf(out, " ");
		at += fprintf(out, "%.*s", len, text);
		text += len;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}

static void print_row(FILE *out, const struct option_row *row)
{
	int at;

	if (row->letter)
		at = fprintf(out, "  -%c, --%s", row->letter, row->name);
	else
		at = fprintf(out, "      --%s", row->name);
	if (row->argument)
		at += fprintf(out, " %s", row->argument);
	print_wrapped(out, row->help, at);
	if (row->alias && row->alias_letter)
		fprintf(out, "%*s(also -%c, --%s)\n", HELP_COLUMN, "", row->alias_letter,
			row->alias);
	else if (row->alias)
		fprintf(out, "%*s(also --%s)\n", HELP_COLUMN, "", row->alias);
}

void options_help(FILE *out)
{
	fputs("Usage: memtrace --pid PID [OPTION]...\n"
	      "       memtrace [OPTION]... -- COMMAND [ARGUMENT]...\n"
	      "       memtrace [OPTION]... --program FILE [-- NAME [ARGUMENT]...]\n"
	      "       memtrace --replay FILE [OPTION]...\n"
	      "       memtrace --diff OLD NEW [OPTION]...\n"
	      "Show which call paths hold the heap memory of a running process.\n",
	      out);
	for (int group = 0; group < GROUP_COUNT; group++) {
		fprintf(out, "\n%s:\n", option_group_name((enum option_group)group));
		for (size_t i = 0; i < OPTION_ID_COUNT; i++) {
			if ((int)option_rows[i].group == group)
				print_row(out, &option_rows[i]);
		}
	}
	fputs("\nTIME takes us, ms, s, m or h; SIZE takes K, M, G or T (powers of "
	      "1024).\n"
	      "Ctrl-C prints a final report and ends; SIGUSR1 prints a report at once.\n"
	      "Exit status: 0 when done, 1 when tracing or a file failed, 2 for a wrong "
	      "command\nline.\n"
	      "\nExamples:\n"
	      "  memtrace --pid 1234\n"
	      "      a report every 5 seconds until Ctrl-C\n"
	      "  memtrace -p 1234 -i 1 -n 3 -T 20\n"
	      "      three reports, a second apart, with the 20 largest stacks\n"
	      "  memtrace -p 1234 --older 1m --min-size 4K\n"
	      "      only blocks of 4 KiB and more that are older than a minute\n"
	      "  memtrace -p 1234 -d 10m --format json -o leaks.json\n"
	      "      ten minutes, a JSON object per report, into a file\n"
	      "  memtrace -p 1234 -d 10m --html heap.html --pprof heap-%p.pb.gz\n"
	      "      and at the end a summary for a browser and a profile for pprof\n"
	      "  memtrace -p 1234 --view traffic --exclude 'mod:libxml2*' -T 20\n"
	      "      the 20 stacks that allocated most, but not those through libxml2\n"
	      "  memtrace -p 1234 -d 10m --save heap.mts\n"
	      "      keep everything after ten minutes in a snapshot\n"
	      "  memtrace --replay heap.mts --top 50\n"
	      "      any report of it, later or elsewhere, without root\n"
	      "  memtrace --diff before.mts after.mts --flame change.svg\n"
	      "      which stacks hold more, or less, than in another snapshot\n"
	      "  memtrace -p 1234,1240 --follow-forks\n"
	      "      two processes, and the children that they fork\n"
	      "  memtrace --lib /usr/lib/x86_64-linux-gnu/libjemalloc.so.2 -s 100\n"
	      "      every process that maps this allocator, one allocation in 100\n"
	      "  memtrace -p 1234 --sample-every 100\n"
	      "      one allocation in a hundred, for a busy process\n"
	      "  memtrace -o leaks.txt -- ./program --its-option\n"
	      "      start a program and trace it from its first instruction\n",
	      out);
}
