// SPDX-License-Identifier: Apache-2.0
#include "options/options.h"

#include <string.h>

#include "options/option_table.h"
#include "options/option_texts.h"

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

/* Print the option and the name of its value. Returns the column after it. */
static int print_option(FILE *out, const struct option_row *row)
{
	int at;

	if (row->letter)
		at = fprintf(out, "  -%c, --%s", row->letter, row->name);
	else
		at = fprintf(out, "      --%s", row->name);
	if (row->argument)
		at += fprintf(out, " %s", row->argument);
	return at;
}

static void print_row(FILE *out, const struct option_row *row)
{
	print_wrapped(out, row->help, print_option(out, row));
	if (row->alias && row->alias_letter)
		fprintf(out, "%*s(also -%c, --%s)\n", HELP_COLUMN, "", row->alias_letter,
			row->alias);
	else if (row->alias)
		fprintf(out, "%*s(also --%s)\n", HELP_COLUMN, "", row->alias);
}

static void print_usages(FILE *out)
{
	for (size_t i = 0; option_usages[i]; i++)
		fprintf(out, "%s %s\n", i ? "      " : "Usage:", option_usages[i]);
	fputs("Show which call paths hold the heap memory of a running process.\n", out);
}

static void print_group(FILE *out, enum option_group group)
{
	fprintf(out, "%s:\n", option_group_name(group));
	for (size_t i = 0; i < OPTION_ID_COUNT; i++)
		if (option_rows[i].group == group)
			print_row(out, &option_rows[i]);
}

static void print_examples(FILE *out)
{
	fputs("Examples:\n", out);
	for (const struct option_example *e = option_examples; e->command; e++)
		fprintf(out, "  %s\n      %s\n", e->command, e->meaning);
}

static void print_notes(FILE *out)
{
	fputs("TIME takes us, ms, s, m or h; SIZE takes K, M, G or T (powers of 1024).\n"
	      "Ctrl-C prints a final report and ends; SIGUSR1 prints a report at once.\n",
	      out);
}

static void print_short(FILE *out)
{
	print_usages(out);
	fputc('\n', out);
	for (const struct option_brief *b = option_briefs; b->text; b++)
		print_wrapped(out, b->text, print_option(out, &option_rows[b->id]));
	fputc('\n', out);
	print_notes(out);
	fputs("All options: memtrace --help all. Of one topic: memtrace --help TOPIC, "
	      "that "
	      "is\ntarget, reports, unreachable, filter, limits, names, output, advanced "
	      "or\nexamples. See also man memtrace.\n",
	      out);
}

static void print_all(FILE *out)
{
	print_usages(out);
	for (int group = 0; group < GROUP_COUNT; group++) {
		fputc('\n', out);
		print_group(out, (enum option_group)group);
	}
	fputc('\n', out);
	print_notes(out);
	fputs("Exit status: 0 when done, 1 when tracing or a file failed, 2 for a wrong "
	      "command\nline.\n\n",
	      out);
	print_examples(out);
}

void options_help(FILE *out, enum help_topic topic)
{
	if (topic == HELP_SHORT)
		print_short(out);
	else if (topic == HELP_ALL)
		print_all(out);
	else if (topic == HELP_EXAMPLES)
		print_examples(out);
	else
		print_group(out, (enum option_group)(topic - HELP_GROUP));
}
