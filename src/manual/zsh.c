// SPDX-License-Identifier: Apache-2.0
#include "manual/parts.h"
#include "manual/rows.h"

/* The actions of _arguments. */
static const char *const actions[] = {
	[OFFER_NOTHING] = " ",
	[OFFER_PROCESSES] = "_memtrace_processes",
	[OFFER_FILES] = "_files",
	[OFFER_DIRECTORIES] = "_files -/",
	[OFFER_SNAPSHOTS] = "_files -g \"*.mts(-.)\"",
};

/* :NAME:ACTION for each value. The names of two values have a space between. */
static void write_value(const struct option_row *row, struct strbuf *to)
{
	const char *name = row->argument;
	enum option_offer offer = row_offer(row);

	while (name && *name) {
		size_t len = strcspn(name, " ");

		strbuf_appendf(to, ":%.*s:", (int)len, name);
		if (row->choices && offer != OFFER_NOTHING) {
			strbuf_append(to, "{compadd - ");
			row_append_choices(row, to);
			strbuf_appendf(to, "; %s}", actions[offer]);
		} else if (row->choices) {
			strbuf_append_char(to, '(');
			row_append_choices(row, to);
			strbuf_append_char(to, ')');
		} else {
			strbuf_append(to, actions[offer]);
		}
		name += len + strspn(name + len, " ");
	}
}

/* The spellings with a comma between, each with the sign that lets a value follow in the
 * same word: "-p+,--pid=". A pair never has its values there. */
static void write_spellings(const struct option_row *row, const struct row_names *names,
			    struct strbuf *to)
{
	bool joins = row->argument && row->kind != KIND_PAIR;

	for (size_t i = 0; i < names->count; i++) {
		const char *sign = names->names[i][1] == '-' ? "=" : "+";

		strbuf_appendf(to, "%s%s%s", i ? "," : "", names->names[i],
			       joins ? sign : "");
	}
}

static void write_option(const struct option_row *row, struct strbuf *to)
{
	struct row_names names;

	row_names(row, &names);
	strbuf_append(to, "\t\t'");
	if (row_repeats(row)) {
		strbuf_append_char(to, '*');
	} else {
		strbuf_append_char(to, '(');
		for (size_t i = 0; i < names.count; i++)
			strbuf_appendf(to, "%s%s", i ? " " : "", names.names[i]);
		strbuf_append_char(to, ')');
	}
	strbuf_append(to, names.count > 1 ? "'{" : "");
	write_spellings(row, &names, to);
	strbuf_append(to, names.count > 1 ? "}'[" : "[");
	row_append_summary(row, "[]\\:", "'\\''", to);
	strbuf_append_char(to, ']');
	write_value(row, to);
	strbuf_append(to, "'\n");
}

static void write_options(struct strbuf *to)
{
	for (size_t i = 0; i < OPTION_ID_COUNT; i++)
		write_option(&option_rows[i], to);
}

const struct template_part zsh_parts[] = {
	{"OPTIONS", write_options},
	{NULL, NULL},
};
