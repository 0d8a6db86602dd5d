// SPDX-License-Identifier: Apache-2.0
#include "options/options.h"

#include <stdlib.h>
#include <string.h>

#include "files/file_name.h"
#include "options/option_errors.h"
#include "options/option_table.h"
#include "options/options_check.h"
#include "util/cleanup.h"
#include "util/units.h"

/* The state of one pass over argv. */
struct parse {
	int argc;
	char *const *argv;
	int at; /* index of the current argument */
	struct options_given given;
	bool done;
};

/* Store into a numeric field: bool, int, unsigned, an enum or uint64_t. */
static void store_number(const struct option_row *row, struct options *options,
			 uint64_t value)
{
	char *field = (char *)options + row->offset;

	if (row->size == sizeof(bool))
		*(bool *)field = value;
	else if (row->size == sizeof(uint32_t))
		memcpy(field, &(uint32_t){(uint32_t)value}, sizeof(uint32_t));
	else
		memcpy(field, &value, sizeof(value));
}

static void store_text(const struct option_row *row, struct options *options,
		       const char *value)
{
	memcpy((char *)options + row->offset, &value, sizeof(value));
}

/* The index of `value` in the row's choices. If absent, the index of the NULL at the
 * end. */
static size_t find_choice(const struct option_row *row, const char *value)
{
	size_t i = 0;

	while (row->choices[i] && strcmp(row->choices[i], value))
		i++;
	return i;
}

static struct option_list *list_of(const struct option_row *row, struct options *options)
{
	return (struct option_list *)((char *)options + row->offset);
}

static bool list_is_full(const struct option_row *row, struct options *options)
{
	return list_of(row, options)->values[OPTION_LIST_MAX - 1];
}

/* Returns false if the list is full. */
static bool add_to_list(const struct option_row *row, struct options *options,
			const char *value)
{
	struct option_list *list = list_of(row, options);
	size_t i = 0;

	while (list->values[i])
		i++;
	if (i == OPTION_LIST_MAX)
		return false;
	list->values[i] = value;
	return true;
}

static bool parse_number(const struct option_row *row, const char *value, uint64_t *ret)
{
	uint64_t n;
	bool ok;

	switch (row->kind) {
	case KIND_QUANTITY:
		ok = units_parse_count(value, &n);
		break;
	case KIND_SIZE:
		ok = units_parse_size(value, &n);
		break;
	case KIND_DURATION:
		ok = units_parse_duration(value, row->unit_ns, &n);
		break;
	default:
		ok = units_parse_integer(value, 0, UINT64_MAX, &n);
		break;
	}
	if (!ok || n < row->min || n > row->max)
		return false;
	*ret = n;
	return true;
}

/* Add the numbers of a list such as "1,20". Returns false if the list is malformed or too
 * long. */
static bool add_pids(const struct option_row *row, struct options *options,
		     const char *value)
{
	while (*value) {
		const char *end = strchrnul(value, ',');
		char number[16];
		uint64_t pid;
		size_t i = 0;

		if ((size_t)(end - value) >= sizeof(number))
			return false;
		snprintf(number, sizeof(number), "%.*s", (int)(end - value), value);
		if (!units_parse_integer(number, row->min, row->max, &pid) ||
		    (*end && !end[1]))
			return false;
		while (i < options->pid_count && options->pids[i] != (int)pid)
			i++;
		if (i == OPTIONS_MAX_PIDS)
			return false;
		options->pids[i] = (int)pid;
		if (i == options->pid_count)
			options->pid_count++;
		value = *end ? end + 1 : end;
	}
	return options->pid_count;
}

/* Store `value`. Returns false if the row does not accept it. */
static bool set_value(const struct option_row *row, struct options *options,
		      const char *value)
{
	uint64_t n;
	size_t choice;

	switch (row->kind) {
	case KIND_CHOICE:
	case KIND_HELP:
		choice = find_choice(row, value);
		if (!row->choices[choice])
			return false;
		store_number(row, options, choice);
		return true;
	case KIND_NAME:
		choice = find_choice(row, value);
		if (!row->choices[choice])
			return false;
		store_text(row, options, row->choices[choice]);
		return true;
	case KIND_HEADERS:
		choice = find_choice(row, value);
		options->trace.headers_dir = row->choices[choice] ? NULL : value;
		options->trace.headers_mode =
			row->choices[choice] ? (enum headers_mode)choice : HEADERS_DIR;
		return *value;
	case KIND_PATH:
	case KIND_PAIR:
		store_text(row, options, value);
		return *value;
	case KIND_PATTERN:
		store_text(row, options, value);
		return file_name_is_valid(value);
	case KIND_PIDS:
		return *value && add_pids(row, options, value);
	case KIND_LIST:
		return *value && add_to_list(row, options, value);
	default:
		if (!parse_number(row, value, &n))
			return false;
		store_number(row, options, n);
		return true;
	}
}

static void set_flag(struct parse *p, const struct option_row *row)
{
	if (row->kind == KIND_ACTION) {
		p->given.options->action = (enum option_action)row->min;
		/* What stands beside --prime-cache is checked. */
		p->done = row->min != ACTION_PRIME_CACHE;
	} else if (row->kind == KIND_MODE) {
		/* choose_mode() finds it in `given`. */
	} else if (row->kind == KIND_REPEATED) {
		++*(unsigned *)((char *)p->given.options + row->offset);
	} else {
		store_number(row, p->given.options, true);
	}
}

/* --help, and its topic, if the next argument is one. */
static struct error *set_topic(struct parse *p, const struct option_row *row,
			       const char *spelled, const char *value)
{
	const char *next = p->at + 1 < p->argc ? p->argv[p->at + 1] : NULL;
	struct options *options = p->given.options;

	if (!value && next && next[0] != '-')
		value = next;
	if (value && !set_value(row, options, value))
		return option_error_value(row, spelled, value);
	options->action = ACTION_HELP;
	p->done = true;
	return NULL;
}

/* Take the next argument as the second value of a pair. */
static struct error *set_second(struct parse *p, const struct option_row *row,
				const char *spelled)
{
	const char *second = p->at + 1 < p->argc ? p->argv[p->at + 1] : NULL;

	if (!second || (second[0] == '-' && second[1]))
		return option_error_one_of_two(row, spelled);
	if (!*second)
		return option_error_value(row, spelled, second);
	p->given.options->diff_new = second;
	p->at++;
	return NULL;
}

/* If an option is repeated, the last value counts, so that users can override what a
 * script passes. But for events and libraries a second, different value is an error: the
 * first one would silently not be traced. */
static struct error *check_once(const struct parse *p, const struct option_row *row,
				const char *spelled, const char *value)
{
	const char *before = p->given.values[row - option_rows];

	if (!before || row->group != GROUP_TARGET || row->kind != KIND_PATH ||
	    !strcmp(before, value))
		return NULL;
	return option_error_twice(spelled, before, value);
}

/* Apply one option. `value` is the text in the same argument; NULL: the value is the next
 * argument. */
static struct error *apply(struct parse *p, const struct option_row *row,
			   const char *spelled, const char *value)
{
	if (row->kind == KIND_HELP)
		return set_topic(p, row, spelled, value);
	if (!row->argument) {
		p->given.values[row - option_rows] = "";
		set_flag(p, row);
		return NULL;
	}
	if (!value) {
		if (p->at + 1 >= p->argc)
			return option_error_no_value(row, spelled);
		value = p->argv[++p->at];

		/* If the user forgot a file name, do not take the next option as the file
		 * name. */
		bool any_text = row->kind == KIND_PATH || row->kind == KIND_PATTERN ||
				row->kind == KIND_HEADERS || row->kind == KIND_LIST ||
				row->kind == KIND_PAIR;

		if (any_text && value[0] == '-' && value[1])
			return option_error_dashes(row, spelled, value);
	}
	if (row->kind == KIND_LIST && *value && list_is_full(row, p->given.options))
		return option_error_many(spelled);
	if (!set_value(row, p->given.options, value))
		return option_error_value(row, spelled, value);

	struct error *err = check_once(p, row, spelled, value);

	if (err)
		return err;
	p->given.values[row - option_rows] = value;
	return row->kind == KIND_PAIR ? set_second(p, row, spelled) : NULL;
}

static struct error *parse_long(struct parse *p, const char *arg)
{
	const char *name = arg + 2;
	const char *equals = strchrnul(name, '=');
	size_t len = (size_t)(equals - name);
	const struct option_row *row = option_find(name, len);
	char spelled[64];

	if (!row)
		return option_error_unknown("--", name, len, NULL);
	snprintf(spelled, sizeof(spelled), "--%.*s", (int)len, name);
	if (!row->argument && *equals)
		return option_error_flag(spelled, equals + 1);
	return apply(p, row, spelled, *equals ? equals + 1 : NULL);
}

/* Parse letters in one argument: flags, then at most one option with a value. */
static struct error *parse_letters(struct parse *p, const char *arg)
{
	for (const char *at = arg + 1; *at && !p->done; at++) {
		const struct option_row *row = option_find_letter(*at);
		char spelled[] = {'-', *at, '\0'};

		if (!row)
			return option_error_unknown("-", at, 1, arg[2] ? arg : NULL);
		if (row->argument)
			return apply(p, row, spelled, at[1] ? at + 1 : NULL);

		struct error *err = apply(p, row, spelled, NULL);

		if (err)
			return err;
	}
	return NULL;
}

struct error *options_parse(int argc, char *const argv[], struct options *ret)
{
	struct parse p = {.argc = argc, .argv = argv, .given.options = ret};

	*ret = (struct options){
		.action = ACTION_TRACE,
		.interval_ns = 5 * UNITS_NS_PER_S,
		.top = 10,
		.older_ns = 500 * UNITS_NS_PER_MS,
		.trace =
			{
				.max_size_bytes = UINT64_MAX,
				.sampling.every = 1,
				.max_threads = UINT64_C(1) << 14,
				.max_processes = UINT64_C(1) << 14,
				.unwind_cpu_percent = 25,
				.unwind_memory_bytes = UINT64_C(32) << 20,
			},
		.view = "leaks",
		.sort = REPORT_SORT_SIZE,
		.hide_frames = "default",
		.max_pause_ns = UNITS_NS_PER_S,
		.format = "text",
	};
	for (p.at = 1; p.at < argc && !p.done; p.at++) {
		const char *arg = argv[p.at];
		struct error *err = NULL;

		if (!strcmp(arg, "--")) {
			if (p.at + 1 < argc)
				ret->command = argv + p.at + 1;
			p.at = argc;
		} else if (!strncmp(arg, "--", 2)) {
			err = parse_long(&p, arg);
		} else if (arg[0] == '-' && arg[1]) {
			err = parse_letters(&p, arg);
		} else {
			err = option_error_argument(arg, ret->pid_count);
		}
		if (err)
			return err;
	}
	if (p.done)
		return NULL;
	if (ret->output && !strcmp(ret->output, "-"))
		ret->output = NULL;
	if (ret->program && !ret->command) {
		/* The cast is safe: `program` points into argv, whose strings are
		 * writable. */
		ret->program_argv[0] = (char *)ret->program;
		ret->command = ret->program_argv;
	}
	return options_check(&p.given);
}
