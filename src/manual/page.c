// SPDX-License-Identifier: Apache-2.0
#include <ctype.h>

#include "bpf/cache.h"
#include "options/option_texts.h"
#include "manual/parts.h"
#include "manual/rows.h"

/* Lines of the source are broken at the first space beyond this, in bytes. */
#define SOURCE_WIDTH 48

/* Append a character so that man(7) prints exactly it. */
static void append_char(struct strbuf *to, char c)
{
	static const char special[] = "-\\'`^~";
	static const char *const names[] = {"\\-",   "\\e",   "\\(aq",
					    "\\(ga", "\\(ha", "\\(ti"};
	const char *found = strchr(special, c);

	if (found && c)
		strbuf_append(to, names[found - special]);
	else
		strbuf_append_char(to, c);
}

static void append_bytes(struct strbuf *to, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		append_char(to, text[i]);
}

static void append_text(struct strbuf *to, const char *text)
{
	append_bytes(to, text, strlen(text));
}

static void append_bold(struct strbuf *to, const char *text, size_t len)
{
	strbuf_append(to, "\\fB");
	append_bytes(to, text, len);
	strbuf_append(to, "\\fR");
}

/* The length of "--name" at `text`, else 0. */
static size_t option_length(const char *text)
{
	size_t len = 2;

	if (strncmp(text, "--", 2) != 0 || !islower((unsigned char)text[2]))
		return 0;
	while (islower((unsigned char)text[len]) || text[len] == '-')
		len++;
	return len;
}

/* Append the space before `next`, or begin a new line of source if this one is long. A
 * '.' at the beginning of a line would make it a request. */
static void append_space(struct strbuf *to, const char *next)
{
	const char *newline = memrchr(to->data, '\n', to->len);

	if (!newline || to->data + to->len - newline <= SOURCE_WIDTH)
		strbuf_append_char(to, ' ');
	else
		strbuf_append(to, *next == '.' ? "\n\\&" : "\n");
}

/* Append a sentence, with the names of options in bold. */
static void append_sentence(struct strbuf *to, const char *text)
{
	while (*text) {
		size_t len = option_length(text);

		if (len)
			append_bold(to, text, len);
		else if (*text == ' ')
			append_space(to, text + 1);
		else
			append_char(to, *text);
		text += len ? len : 1;
	}
}

/* Is the first word of the help text a value, as in "text (the default) or json"? */
static bool begins_with_choice(const struct option_row *row)
{
	size_t len = strcspn(row->help, " ,:");

	for (size_t i = 0; row->choices && row->choices[i]; i++) {
		if (strlen(row->choices[i]) == len &&
		    !strncmp(row->choices[i], row->help, len))
			return true;
	}
	return false;
}

static void append_help(struct strbuf *to, const struct option_row *row)
{
	const char *help = row->help;

	if (!begins_with_choice(row))
		strbuf_append_char(to, (char)toupper((unsigned char)*help++));
	append_sentence(to, help);
	strbuf_append(to, ".\n");
}

/* What the value may be, unless the help text lists all values. */
static void append_expected(struct strbuf *to, const struct option_row *row)
{
	if (!row->argument || row->kind == KIND_CHOICE || row->kind == KIND_NAME ||
	    row->kind == KIND_HELP)
		return;
	strbuf_appendf(to, ".I %s\n%s\n", row->argument,
		       row->kind == KIND_PAIR ? "are" : "is");
	append_sentence(to, row->expected);
	strbuf_append(to, ".\n");
}

static void append_offline(struct strbuf *to, const struct option_row *row)
{
	bool replay = row->offline & OFFLINE_REPLAY, diff = row->offline & OFFLINE_DIFF;

	if (row->kind == KIND_ACTION || row->kind == KIND_HELP ||
	    row->group == GROUP_TARGET || !row->offline)
		return;
	if (replay && diff)
		strbuf_append(to, "Also with\n.B \\-\\-replay\nand\n.BR \\-\\-diff .\n");
	else
		strbuf_appendf(to, "Also with\n.BR \\-\\-%s .\n",
			       replay ? "replay" : "diff");
}

/* Append the spellings of one kind, each with a comma after it. */
static void append_names(struct strbuf *to, const struct row_names *names, bool letters)
{
	for (size_t i = 0; i < names->count; i++) {
		size_t len = strlen(names->names[i]);

		if ((len == 2) != letters)
			continue;
		append_bold(to, names->names[i], len);
		strbuf_append(to, ", ");
	}
}

static void append_option(struct strbuf *to, const struct option_row *row)
{
	struct row_names names;

	row_names(row, &names);
	strbuf_append(to, ".TP\n");
	append_names(to, &names, true);
	append_names(to, &names, false);
	/* Not the last comma. */
	to->len -= 2;
	if (row->argument)
		strbuf_appendf(to, " \\fI%s\\fR", row->argument);
	strbuf_append_char(to, '\n');
	append_help(to, row);
	append_expected(to, row);
	append_offline(to, row);
}

static void write_options(struct strbuf *to)
{
	for (int group = 0; group < GROUP_COUNT; group++) {
		strbuf_appendf(to, ".SS %s\n",
			       option_group_name((enum option_group)group));
		for (size_t i = 0; i < OPTION_ID_COUNT; i++) {
			if ((int)option_rows[i].group == group)
				append_option(to, &option_rows[i]);
		}
	}
}

/* Append a form of the command line: capitals are in italics, the rest but for brackets
 * and dots in bold. */
static void append_usage(struct strbuf *to, const char *usage)
{
	while (*usage) {
		size_t plain = strspn(usage, " []."), len;

		append_bytes(to, usage, plain);
		usage += plain;
		len = strcspn(usage, " [].");
		if (len && isupper((unsigned char)*usage))
			strbuf_appendf(to, "\\fI%.*s\\fR", (int)len, usage);
		else if (len)
			append_bold(to, usage, len);
		usage += len;
	}
	strbuf_append_char(to, '\n');
}

static void write_synopsis(struct strbuf *to)
{
	for (size_t i = 0; option_usages[i]; i++) {
		strbuf_append(to, i ? ".br\n" : "");
		append_usage(to, option_usages[i]);
	}
}

static void write_examples(struct strbuf *to)
{
	for (const struct option_example *e = option_examples; e->command; e++) {
		strbuf_append(to, ".TP\n");
		append_bold(to, e->command, strlen(e->command));
		strbuf_append_char(to, '\n');
		strbuf_append_char(to, (char)toupper((unsigned char)*e->meaning));
		append_text(to, e->meaning + 1);
		strbuf_append(to, ".\n");
	}
}

static void write_version(struct strbuf *to)
{
	strbuf_append(to, MEMTRACE_VERSION);
}

static void write_cache_path(struct strbuf *to)
{
	append_text(to, CACHE_PATH);
}

static void write_cache_env(struct strbuf *to)
{
	append_text(to, CACHE_ENV);
}

const struct template_part page_parts[] = {
	{"VERSION", write_version},
	{"SYNOPSIS", write_synopsis},
	{"OPTIONS", write_options},
	{"EXAMPLES", write_examples},
	{"CACHE_PATH", write_cache_path},
	{"CACHE_ENV", write_cache_env},
	{NULL, NULL},
};
