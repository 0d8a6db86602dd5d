// SPDX-License-Identifier: Apache-2.0
#include "manual/rows.h"

static void add_long(const char *name, struct row_names *names)
{
	if (name)
		snprintf(names->names[names->count++], sizeof(*names->names), "--%s",
			 name);
}

static void add_letter(char letter, struct row_names *names)
{
	if (letter)
		snprintf(names->names[names->count++], sizeof(*names->names), "-%c",
			 letter);
}

void row_names(const struct option_row *row, struct row_names *ret)
{
	ret->count = 0;
	add_long(row->name, ret);
	add_long(row->alias, ret);
	add_letter(row->letter, ret);
	add_letter(row->alias_letter, ret);
}

enum option_offer row_offer(const struct option_row *row)
{
	switch (row->kind) {
	case KIND_PIDS:
		return OFFER_PROCESSES;
	case KIND_PATTERN:
		return OFFER_FILES;
	default:
		return row->offer;
	}
}

bool row_repeats(const struct option_row *row)
{
	return row->kind == KIND_PIDS || row->kind == KIND_LIST ||
	       row->kind == KIND_REPEATED;
}

/* Values are not cut off: they can be most of the help, as in "text (the default) or". */
static size_t summary_length(const struct option_row *row)
{
	const char *remark = row->choices ? NULL : strstr(row->help, " (");
	size_t len = strcspn(row->help, ";");

	return remark && remark < row->help + len ? (size_t)(remark - row->help) : len;
}

void row_append_summary(const struct option_row *row, const char *special,
			const char *quote, struct strbuf *to)
{
	size_t len = summary_length(row);

	for (size_t i = 0; i < len; i++) {
		if (row->help[i] == '\'') {
			strbuf_append(to, quote);
			continue;
		}
		if (strchr(special, row->help[i]))
			strbuf_append_char(to, '\\');
		strbuf_append_char(to, row->help[i]);
	}
}

void row_append_choices(const struct option_row *row, struct strbuf *to)
{
	for (size_t i = 0; row->choices && row->choices[i]; i++) {
		if (i)
			strbuf_append_char(to, ' ');
		strbuf_append(to, row->choices[i]);
	}
}
