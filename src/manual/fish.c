// SPDX-License-Identifier: Apache-2.0
#include "manual/parts.h"
#include "manual/rows.h"

/* Options of complete(1) of fish: what the value is completed to. -x takes a value and
 * offers no files, -F offers them, -k keeps the order. */
static const char *const values[] = {
	[OFFER_NOTHING] = " -x",
	[OFFER_PROCESSES] = " -x -a '(__memtrace_processes)'",
	[OFFER_FILES] = " -r -F",
	[OFFER_DIRECTORIES] = " -x -a '(__fish_complete_directories)'",
	[OFFER_SNAPSHOTS] = " -x -k -a '(__fish_complete_suffix .mts)'",
};

static void write_option(const struct option_row *row, struct strbuf *to)
{
	struct row_names names;

	row_names(row, &names);
	strbuf_append(to, "complete -c memtrace");
	for (size_t i = 0; i < names.count; i++) {
		const char *name = names.names[i];

		if (name[1] == '-')
			strbuf_appendf(to, " -l %s", name + 2);
		else
			strbuf_appendf(to, " -s %s", name + 1);
	}
	if (row->argument)
		strbuf_append(to, values[row_offer(row)]);
	if (row->choices) {
		strbuf_append(to, " -a '");
		/* After the tab comes a description of the value itself: none. */
		for (size_t i = 0; row->choices[i]; i++)
			strbuf_appendf(to, "%s%s\\t", i ? " " : "", row->choices[i]);
		strbuf_append_char(to, '\'');
	}
	strbuf_append(to, " -d '");
	row_append_summary(row, "\\", "\\'", to);
	strbuf_append(to, "'\n");
}

static void write_options(struct strbuf *to)
{
	for (size_t i = 0; i < OPTION_ID_COUNT; i++)
		write_option(&option_rows[i], to);
}

/* The second value of an option that takes two: for fish an argument of its own. */
static void write_pairs(struct strbuf *to)
{
	for (size_t i = 0; i < OPTION_ID_COUNT; i++) {
		const struct option_row *row = &option_rows[i];

		if (row->kind == KIND_PAIR)
			strbuf_appendf(
				to,
				"complete -c memtrace -n '__memtrace_is_second --%s'%s\n",
				row->name, values[row_offer(row)]);
	}
}

const struct template_part fish_parts[] = {
	{"OPTIONS", write_options},
	{"PAIRS", write_pairs},
	{NULL, NULL},
};
