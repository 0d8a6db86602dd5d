// SPDX-License-Identifier: Apache-2.0
#include "options/option_hints.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "process/named.h"
#include "process/proc.h"
#include "util/escape.h"
#include "util/nearest.h"
#include "util/units.h"

/* Pids that a message lists, of one name and of similar names. */
#define PIDS_SHOWN    8
#define SIMILAR_SHOWN 2

/* Shorter parts of a name are in too many names. */
#define SIMILAR_MIN 3

/* Units as people write them, and ours: a number `factor` times as large in `unit`. */
struct spelling {
	const char *written;
	unsigned factor;
	const char *unit;
};

static const struct spelling times[] = {
	{"msec", 1, "ms"},   {"sec", 1, "s"}, {"secs", 1, "s"}, {"second", 1, "s"},
	{"seconds", 1, "s"}, {"min", 1, "m"}, {"mins", 1, "m"}, {"minute", 1, "m"},
	{"minutes", 1, "m"}, {"hr", 1, "h"},  {"hrs", 1, "h"},  {"hour", 1, "h"},
	{"hours", 1, "h"},   {"d", 24, "h"},  {"day", 24, "h"}, {"days", 24, "h"},
	{"M", 1, "m"},       {"S", 1, "s"},   {"H", 1, "h"},    {"us", 1, "us"},
	{NULL, 0, NULL},
};

static const struct spelling counts[] = {
	{"KB", 1, "K"}, {"MB", 1, "M"}, {"GB", 1, "G"},  {"kb", 1, "K"},
	{"mb", 1, "M"}, {"gb", 1, "G"}, {NULL, 0, NULL},
};

static bool is_accepted(const struct option_row *row, const char *value)
{
	uint64_t n;
	bool ok = row->kind == KIND_DURATION
			  ? units_parse_duration(value, row->unit_ns, &n)
			  : units_parse_count(value, &n);

	return ok && n >= row->min && n <= row->max;
}

/* "10min" and "10 min": 10m. */
static void hint_unit(const struct option_row *row, const struct spelling *spellings,
		      const char *value, struct strbuf *ret)
{
	size_t digits = strspn(value, "0123456789");
	const char *unit = value + digits + strspn(value + digits, " ");
	char meant[32];

	/* Longer numbers are out of every range. */
	if (!digits || digits > 9)
		return;
	for (; spellings->written; spellings++) {
		unsigned long n = 0;

		if (strcmp(unit, spellings->written))
			continue;
		for (size_t i = 0; i < digits; i++)
			n = 10 * n + (unsigned long)(value[i] - '0');
		snprintf(meant, sizeof(meant), "%lu%s", n * spellings->factor,
			 spellings->unit);
		if (is_accepted(row, meant))
			strbuf_appendf(ret, "; did you mean '%s'?", meant);
		return;
	}
}

/* The nearest choice, if one is near. */
static void hint_choice(const struct option_row *row, const char *value,
			struct strbuf *ret)
{
	struct nearest_choice choice = nearest_choice_begin(value, strlen(value));

	for (size_t i = 0; row->choices[i]; i++)
		nearest_choice_offer(&choice, row->choices[i]);
	if (choice.best)
		strbuf_appendf(ret, "; did you mean '%s'?", choice.best);
}

/* Pids as they are usually mistyped. True: `ret` has the suggestion. */
static bool hint_numbers(const char *spelled, const char *value, struct strbuf *ret)
{
	static const char digits[] = "0123456789", blanks[] = " \t\n";

	if (!*value) {
		strbuf_append(ret,
			      "; pidof and pgrep print nothing if they find no process");
		return true;
	}
	/* "-p=12": letters take their value without "=". */
	if (*value == '=' && value[1] && !value[1 + strspn(value + 1, "0123456789,")]) {
		strbuf_appendf(ret, "; did you mean '%s %s'?", spelled, value + 1);
		return true;
	}
	/* "12 34": the output of pidof or pgrep in quotes. */
	if (!isdigit((unsigned char)*value) || !strpbrk(value, blanks) ||
	    value[strspn(value, "0123456789 \t\n")])
		return false;
	strbuf_appendf(ret, "; did you mean '%s ", spelled);
	while (*value) {
		size_t len = strspn(value, digits);

		strbuf_append_bytes(ret, value, len);
		value += len;
		value += strspn(value, blanks);
		if (*value)
			strbuf_append_char(ret, ',');
	}
	strbuf_append(ret, "'?");
	return true;
}

/* Processes whose names contain `part`. */
static void hint_similar(const char *spelled, const char *part, struct strbuf *ret)
{
	int pids[SIMILAR_SHOWN + 1];
	size_t count = strlen(part) < SIMILAR_MIN
			       ? 0
			       : named_find_containing(part, pids, SIMILAR_SHOWN + 1);

	for (size_t i = 0; i < count && i < SIMILAR_SHOWN; i++) {
		char comm[PROC_COMM_SIZE];

		if (!proc_thread_name(pids[i], (uint32_t)pids[i], comm))
			continue;
		strbuf_append(ret, i ? ", " : "; no process has this name; similar: ");
		strbuf_appendf(ret, "%s %d (", spelled, pids[i]);
		escape_text(ret, comm);
		strbuf_append_char(ret, ')');
	}
	if (count > SIMILAR_SHOWN)
		strbuf_append(ret, ", ...");
}

/* The processes that have this name, or else a similar one. */
static void hint_pids(const char *spelled, const char *value, struct strbuf *ret)
{
	int pids[PIDS_SHOWN + 1];

	if (hint_numbers(spelled, value, ret))
		return;

	size_t count = named_find(value, pids, PIDS_SHOWN + 1);

	if (!count) {
		hint_similar(spelled, value, ret);
		return;
	}
	strbuf_append(ret, count > 1 ? ", the name of several processes: try "
				     : ", the name of a process: try ");
	strbuf_appendf(ret, "%s ", spelled);
	for (size_t i = 0; i < count && i < PIDS_SHOWN; i++)
		strbuf_appendf(ret, "%s%d", i ? "," : "", pids[i]);
	if (count > PIDS_SHOWN)
		strbuf_append(ret, " (and there are more)");
}

void option_hint(const struct option_row *row, const char *spelled, const char *value,
		 struct strbuf *ret)
{
	switch (row->kind) {
	case KIND_PIDS:
		hint_pids(spelled, value, ret);
		break;
	case KIND_DURATION:
		hint_unit(row, times, value, ret);
		break;
	case KIND_QUANTITY:
		hint_unit(row, counts, value, ret);
		break;
	case KIND_CHOICE:
	case KIND_NAME:
		hint_choice(row, value, ret);
		break;
	default:
		break;
	}
}
