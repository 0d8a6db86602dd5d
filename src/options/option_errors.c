// SPDX-License-Identifier: Apache-2.0
#include "options/option_errors.h"

#include <ctype.h>
#include <string.h>

#include "options/option_hints.h"
#include "util/cleanup.h"
#include "util/ends_with.h"
#include "util/escape.h"
#include "util/units.h"

/* The error with this text, or out of memory. */
static struct error *finish(const struct strbuf *text)
{
	if (text->failed)
		return error_no_memory();
	return error_create(ERROR_USAGE, "%s", strbuf_text(text));
}

static void append_quoted(struct strbuf *text, const char *value)
{
	strbuf_append_char(text, '\'');
	escape_text(text, value);
	strbuf_append_char(text, '\'');
}

/* --- one option --------------------------------------------------------------------- */

/* What users of other tools call our options, and an option whose name means something
 * else. */
static const struct {
	const char *word, *meant;
} meanings[] = {
	{"attach", "-p PID"},          {"brief", "--format brief"},
	{"c", "-- COMMAND"},           {"cmd", "-- COMMAND"},
	{"command", "-- COMMAND"},     {"json", "--format json"},
	{"no-color", "--color never"}, {"process", "--pid PID"},
	{"text", "--format text"},     {"tui", "--live"},
};

static bool is_word(const char *word, const char *name, size_t len)
{
	return strlen(word) == len && !memcmp(word, name, len);
}

/* Append the option that a name means which no option has, or a view. False: none. */
static bool append_other_name(const char *name, size_t len, struct strbuf *text)
{
	for (size_t i = 0; i < sizeof(meanings) / sizeof(*meanings); i++) {
		if (!is_word(meanings[i].word, name, len))
			continue;
		strbuf_append(text, meanings[i].meant);
		return true;
	}
	for (size_t i = 0; choice_view_names[i]; i++) {
		if (!is_word(choice_view_names[i], name, len) || option_find(name, len))
			continue;
		strbuf_appendf(text, "--view %s", choice_view_names[i]);
		return true;
	}
	return false;
}

static char other_case(char letter)
{
	int c = (unsigned char)letter;

	return (char)(islower(c) ? toupper(c) : tolower(c));
}

struct error *option_error_unknown(const char *dashes, const char *name, size_t len,
				   const char *whole)
{
	const char *nearest = option_nearest(name, len);
	const struct option_row *other = NULL;
	_cleanup_(strbuf_deinit) struct strbuf text = {0}, meant = {0};

	strbuf_append(&text, "unknown option '");
	strbuf_append(&text, dashes);
	escape_bytes(&text, name, len);
	strbuf_append_char(&text, '\'');
	if (whole) {
		/* A letter among others: perhaps the user meant a long name. */
		strbuf_append(&text, " in ");
		append_quoted(&text, whole);
		nearest = option_nearest(whole + 1, strlen(whole + 1));
	} else if (len == 1 && !dashes[1]) {
		other = option_find_letter(other_case(*name));
	}
	if (!whole && append_other_name(name, len, &meant))
		strbuf_appendf(&text, "; did you mean '%s'?", strbuf_text(&meant));
	else if (other)
		strbuf_appendf(&text, "; did you mean '-%c' (--%s)?", other_case(*name),
			       other->name);
	else if (nearest)
		strbuf_appendf(&text, "; did you mean '--%s'?", nearest);
	else
		strbuf_append(&text, "; 'memtrace --help all' lists all options");
	return meant.failed ? error_no_memory() : finish(&text);
}

/* Append "--NAME" or the like for the word NAME. False: no option has this name. */
static bool append_meaning(const char *word, struct strbuf *text)
{
	if (append_other_name(word, strlen(word), text))
		return true;
	if (!option_find(word, strlen(word)))
		return false;
	strbuf_appendf(text, "--%s", word);
	return true;
}

struct error *option_error_argument(const char *arg, size_t pid_count)
{
	const struct option_row *pid = &option_rows[OPTION_PID];
	_cleanup_(strbuf_deinit) struct strbuf text = {0}, meant = {0};
	uint64_t number;

	strbuf_append(&text, "unexpected argument ");
	append_quoted(&text, arg);
	if (ends_with(arg, strlen(arg), ".mts")) {
		strbuf_append(&text, "; did you mean --replay FILE or --diff OLD NEW?");
	} else if (append_meaning(arg, &meant)) {
		strbuf_appendf(&text, "; did you mean %s?", strbuf_text(&meant));
	} else if (!units_parse_integer(arg, pid->min, pid->max, &number)) {
		size_t before = text.len;

		if (*arg)
			option_hint(pid, "-p", arg, &text);
		if (text.len == before)
			strbuf_append(&text, "; a command to start stands after '--', "
					     "as in memtrace -- ./program");
	} else if (!pid_count) {
		strbuf_appendf(&text, "; did you mean -p %s?", arg);
	} else {
		/* memleak takes the interval and the number of reports like this. */
		strbuf_appendf(&text,
			       "; several processes are given as -p PID,PID, a time "
			       "between reports as -i %s, their number as -n %s",
			       arg, arg);
	}
	return meant.failed ? error_no_memory() : finish(&text);
}

struct error *option_error_value(const struct option_row *row, const char *spelled,
				 const char *value)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0}, hint = {0};

	option_hint(row, spelled, value, &hint);
	if (row->kind == KIND_PIDS && !hint.len && isalpha((unsigned char)*value))
		strbuf_append(&hint, "; no process has this name");
	strbuf_appendf(&text, "%s: ", spelled);
	if (!row->choices || !hint.len) {
		strbuf_append(&text, "expected ");
		option_append_expected(row, &text);
		strbuf_append(&text, "; got ");
	}
	append_quoted(&text, value);
	/* The nearest word says enough, and the others would take two lines. */
	strbuf_append(&text, row->choices && hint.len ? " is not known" : "");
	strbuf_append(&text, strbuf_text(&hint));
	if (row == &option_rows[OPTION_ATTACH] && isdigit((unsigned char)*value))
		strbuf_append(&text, "; --pid names the process");
	return hint.failed ? error_no_memory() : finish(&text);
}

struct error *option_error_no_value(const struct option_row *row, const char *spelled)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0};

	strbuf_appendf(&text, row->kind == KIND_PAIR ? "%s needs " : "%s needs a value: ",
		       spelled);
	option_append_expected(row, &text);
	return finish(&text);
}

struct error *option_error_dashes(const struct option_row *row, const char *spelled,
				  const char *value)
{
	_cleanup_(freep) char *shown = escape_dup(value);

	if (!shown)
		return error_no_memory();
	return error_create(ERROR_USAGE,
			    "%s needs a value; '%s' looks like an option (if it is meant "
			    "as the value: --%s=%s)",
			    spelled, shown, row->name, shown);
}

struct error *option_error_flag(const char *spelled, const char *value)
{
	_cleanup_(freep) char *shown = escape_dup(value);

	if (!shown)
		return error_no_memory();
	return error_create(ERROR_USAGE, "%s takes no value; got '%s'", spelled, shown);
}

struct error *option_error_twice(const char *spelled, const char *one, const char *other)
{
	_cleanup_(freep) char *first = escape_dup(one), *second = escape_dup(other);

	if (!first || !second)
		return error_no_memory();
	return error_create(
		ERROR_USAGE,
		"%s works once only; got '%s' and '%s': run memtrace once for "
		"each",
		spelled, first, second);
}

struct error *option_error_many(const char *spelled)
{
	return error_create(ERROR_USAGE, "%s works %d times at most", spelled,
			    OPTION_LIST_MAX);
}

struct error *option_error_one_of_two(const struct option_row *row, const char *spelled)
{
	return error_create(ERROR_USAGE, "%s needs %s; there is only one", spelled,
			    row->expected);
}

/* --- several options ---------------------------------------------------------------- */

struct error *option_error_clash_value(enum option_id a, const char *value,
				       enum option_id b, const char *why)
{
	const char *instead = option_rows[a].instead;
	_cleanup_(strbuf_deinit) struct strbuf text = {0};

	strbuf_appendf(&text, "--%s ", option_rows[a].name);
	if (value) {
		escape_text(&text, value);
		strbuf_append_char(&text, ' ');
	}
	strbuf_appendf(&text, "does not work with --%s, which %s", option_rows[b].name,
		       why);
	if (instead)
		strbuf_appendf(&text, "; %s", instead);
	return finish(&text);
}

struct error *option_error_clash(enum option_id a, enum option_id b, const char *why)
{
	return option_error_clash_value(a, NULL, b, why);
}

struct error *option_error_same_file(enum option_id a, enum option_id b, const char *name)
{
	_cleanup_(freep) char *shown = escape_dup(name);

	if (!shown)
		return error_no_memory();
	return error_create(ERROR_USAGE,
			    "--%s and --%s need different files; got '%s' for both",
			    option_rows[a].name, option_rows[b].name, shown);
}
