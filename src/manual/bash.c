// SPDX-License-Identifier: Apache-2.0
#include "manual/parts.h"
#include "manual/rows.h"

/* The functions of the template that make completions. */
static const char *const functions[] = {
	[OFFER_PROCESSES] = "_memtrace_processes",
	[OFFER_FILES] = "_memtrace_files",
	[OFFER_DIRECTORIES] = "_memtrace_directories",
	[OFFER_SNAPSHOTS] = "_memtrace_snapshots",
};

/* The long names, a group on each line. */
static void write_options(struct strbuf *to)
{
	for (size_t i = 0; i < OPTION_ID_COUNT; i++) {
		const struct option_row *row = &option_rows[i];
		bool first = !i || row[-1].group != row->group;

		strbuf_append(to, !first ? " --" : i ? "\n\t--" : "\t--");
		strbuf_append(to, row->name);
		if (row->alias)
			strbuf_appendf(to, " --%s", row->alias);
	}
	strbuf_append_char(to, '\n');
}

static void write_names(const struct option_row *row, struct strbuf *to)
{
	struct row_names names;

	row_names(row, &names);
	for (size_t i = 0; i < names.count; i++)
		strbuf_appendf(to, "%s%s", i ? " | " : "", names.names[i]);
}

/* A branch of a case statement for each option with a value. */
static void write_values(struct strbuf *to)
{
	for (size_t i = 0; i < OPTION_ID_COUNT; i++) {
		const struct option_row *row = &option_rows[i];
		enum option_offer offer = row_offer(row);

		if (!row->argument)
			continue;
		strbuf_append_char(to, '\t');
		write_names(row, to);
		strbuf_append(to, ")\n");
		if (row->choices) {
			strbuf_append(to, "\t\t_memtrace_words ");
			row_append_choices(row, to);
			strbuf_append_char(to, '\n');
		}
		if (offer != OFFER_NOTHING)
			strbuf_appendf(to, "\t\t%s\n", functions[offer]);
		strbuf_append(to, "\t\t;;\n");
	}
}

/* The options that take two values, as a pattern of a case statement. */
static void write_pairs(struct strbuf *to)
{
	const char *between = "";

	for (size_t i = 0; i < OPTION_ID_COUNT; i++) {
		if (option_rows[i].kind != KIND_PAIR)
			continue;
		strbuf_append(to, between);
		write_names(&option_rows[i], to);
		between = " | ";
	}
}

const struct template_part bash_parts[] = {
	{"OPTIONS", write_options},
	{"VALUES", write_values},
	{"PAIRS", write_pairs},
	{NULL, NULL},
};
