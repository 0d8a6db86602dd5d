// SPDX-License-Identifier: Apache-2.0
#include "cli/options.h"

#include <stdlib.h>
#include <string.h>

#include "cli/file_name.h"
#include "cli/option_table.h"
#include "render/views.h"
#include "report/filter.h"
#include "util/cleanup.h"
#include "util/escape.h"
#include "util/units.h"

/* One run over argv. */
struct parse {
	int argc;
	char *const *argv;
	int at; /* index of the argument that is looked at */
	struct options *options;
	/* The value that counts for each option, "" for a flag; NULL: not given. */
	const char *given[OPTION_ID_COUNT];
	bool done;
};

/* `spelled` is the option as the user wrote it ("-i", "--sample-rate"). */
static struct error *bad_value(const struct option_row *row, const char *spelled,
			       const char *value)
{
	_cleanup_(freep) char *shown = escape_dup(value);

	if (!shown)
		return error_no_memory();
	return error_create(ERROR_USAGE, "%s: expected %s; got '%s'", spelled,
			    row->expected, shown);
}

static struct error *unknown_option(const char *dashes, const char *name, size_t len,
				    const char *whole)
{
	const char *nearest = option_nearest(name, len);
	_cleanup_(strbuf_deinit) struct strbuf text = {0};

	strbuf_append(&text, "unknown option '");
	strbuf_append(&text, dashes);
	escape_bytes(&text, name, len);
	strbuf_append_char(&text, '\'');
	if (whole) {
		/* A letter among others: what was written may mean a long name. */
		strbuf_append(&text, " in '");
		escape_text(&text, whole);
		strbuf_append_char(&text, '\'');
		nearest = option_nearest(whole + 1, strlen(whole + 1));
	}
	if (nearest)
		strbuf_appendf(&text, "; did you mean '--%s'?", nearest);
	else
		strbuf_append(&text, "; 'memtrace --help' lists them all");
	if (text.failed)
		return error_no_memory();
	return error_create(ERROR_USAGE, "%s", strbuf_text(&text));
}

static struct error *unexpected_argument(const char *arg)
{
	_cleanup_(freep) char *shown = escape_dup(arg);

	if (!shown)
		return error_no_memory();
	return error_create(ERROR_USAGE,
			    "unexpected argument '%s'; expected only options: a process "
			    "is given as --pid PID, the time between reports as "
			    "--interval TIME, a command to start after '--'",
			    shown);
}

/* Fields that hold numbers: bool, int, unsigned, an enum or uint64_t. */
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

/* The index of `value` in the row's choices, or that of the NULL behind them. */
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

/* False when there is no room. */
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

/* Add the numbers of a list such as "1,20"; false when it is none or too long. */
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

/* Store `value`; false when it is not what the row expects. */
static bool set_value(const struct option_row *row, struct options *options,
		      const char *value)
{
	uint64_t n;
	size_t choice;

	switch (row->kind) {
	case KIND_CHOICE:
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
		options->headers_dir = row->choices[choice] ? NULL : value;
		options->headers_mode =
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
		p->options->action = (enum option_action)row->min;
		p->done = true;
	} else if (row->kind == KIND_REPEATED) {
		++*(unsigned *)((char *)p->options + row->offset);
	} else {
		store_number(row, p->options, true);
	}
}

/* The other half of a pair is the next argument. */
static struct error *set_second(struct parse *p, const struct option_row *row,
				const char *spelled)
{
	const char *second = p->at + 1 < p->argc ? p->argv[p->at + 1] : NULL;

	if (!second || (second[0] == '-' && second[1]))
		return error_create(ERROR_USAGE, "%s: expected %s; there is only one",
				    spelled, row->expected);
	if (!*second)
		return bad_value(row, spelled, second);
	p->options->diff_new = second;
	p->at++;
	return NULL;
}

/* Apply one option. `value` is what was written in the same argument, or NULL: then it
 * is the next argument. */
static struct error *apply(struct parse *p, const struct option_row *row,
			   const char *spelled, const char *value)
{
	if (!row->argument) {
		p->given[row - option_rows] = "";
		set_flag(p, row);
		return NULL;
	}
	if (!value) {
		if (p->at + 1 >= p->argc)
			return error_create(ERROR_USAGE,
					    "%s: expected %s; nothing follows it",
					    spelled, row->expected);
		value = p->argv[++p->at];

		/* A forgotten file name must not swallow the next option. */
		bool any_text = row->kind == KIND_PATH || row->kind == KIND_PATTERN ||
				row->kind == KIND_HEADERS || row->kind == KIND_LIST ||
				row->kind == KIND_PAIR;

		if (any_text && value[0] == '-' && value[1]) {
			_cleanup_(freep) char *shown = escape_dup(value);

			if (!shown)
				return error_no_memory();
			return error_create(ERROR_USAGE,
					    "%s: expected %s; got '%s', which looks like "
					    "an option (if it is meant: --%s=%s)",
					    spelled, row->expected, shown, row->name,
					    shown);
		}
	}
	if (row->kind == KIND_LIST && *value && list_is_full(row, p->options))
		return error_create(ERROR_USAGE, "%s: expected at most %d times", spelled,
				    OPTION_LIST_MAX);
	if (!set_value(row, p->options, value))
		return bad_value(row, spelled, value);
	p->given[row - option_rows] = value;
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
		return unknown_option("--", name, len, NULL);
	snprintf(spelled, sizeof(spelled), "--%.*s", (int)len, name);
	if (!row->argument && *equals) {
		_cleanup_(freep) char *shown = escape_dup(equals + 1);

		if (!shown)
			return error_no_memory();
		return error_create(ERROR_USAGE, "%s: expected no value; got '%s'",
				    spelled, shown);
	}
	return apply(p, row, spelled, *equals ? equals + 1 : NULL);
}

/* Letters in one argument: flags, then at most one with a value. */
static struct error *parse_letters(struct parse *p, const char *arg)
{
	for (const char *at = arg + 1; *at && !p->done; at++) {
		const struct option_row *row = option_find_letter(*at);
		char spelled[] = {'-', *at, '\0'};

		if (!row)
			return unknown_option("-", at, 1, arg[2] ? arg : NULL);
		if (row->argument)
			return apply(p, row, spelled, at[1] ? at + 1 : NULL);

		struct error *err = apply(p, row, spelled, NULL);

		if (err)
			return err;
	}
	return NULL;
}

/* The options that name a file to be written. */
static const enum option_id file_ids[] = {
	OPTION_OUTPUT, OPTION_FLAMEGRAPH, OPTION_FLAME, OPTION_PPROF,
	OPTION_CSV,    OPTION_JSON,       OPTION_HTML,  OPTION_SAVE,
};

static struct error *check_files(const struct parse *p)
{
	const size_t count = sizeof(file_ids) / sizeof(*file_ids);
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		const char *name = p->given[file_ids[i]];

		any = any || (name && file_ids[i] != OPTION_OUTPUT);
		for (size_t k = 0; name && k < i; k++) {
			const char *other = p->given[file_ids[k]];

			if (!other || strcmp(name, other))
				continue;

			_cleanup_(freep) char *shown = escape_dup(name);

			if (!shown)
				return error_no_memory();
			return error_create(ERROR_USAGE,
					    "--%s: expected another file than that of "
					    "--%s; got '%s'",
					    option_rows[file_ids[i]].name,
					    option_rows[file_ids[k]].name, shown);
		}
	}
	if (p->options->output_every && !any)
		return error_create(ERROR_USAGE,
				    "--output-every: expected with a file to write, such "
				    "as --pprof FILE; there is none");
	if ((p->options->inverted || p->options->reverse) && !p->given[OPTION_FLAME] &&
	    !p->given[OPTION_HTML])
		return error_create(
			ERROR_USAGE,
			"--%s: expected with --flame or --html FILE, which it is about; "
			"there is none",
			p->options->inverted ? "inverted" : "reverse");
	return NULL;
}

/* What counting of events has no use for. */
static struct error *check_event(const struct parse *p)
{
	static const enum option_id others[] = {
		OPTION_LIB,         OPTION_SYMBOLS_PREFIX, OPTION_FUNCTION,
		OPTION_MAPPINGS,    OPTION_OLDER,          OPTION_MIN_SIZE,
		OPTION_MAX_SIZE,    OPTION_SAMPLE_EVERY,   OPTION_SAMPLE_BYTES,
		OPTION_SHOW_ALLOCS, OPTION_COMBINED_ONLY,  OPTION_TRAFFIC,
		OPTION_VIEW,        OPTION_HTML,           OPTION_TEMPORARY_THRESHOLD,
		OPTION_SAVE,        OPTION_REPLAY,         OPTION_DIFF,
	};
	struct event_spec spec;
	struct error *err = event_spec_parse(p->options->event, &spec);

	if (err)
		return err;
	event_spec_deinit(&spec);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (p->given[others[i]])
			return error_create(ERROR_USAGE,
					    "--%s: expected without --%s, which is "
					    "about allocations; got both",
					    p->options->growth ? "growth" : "event",
					    option_rows[others[i]].name);
	if (report_sort_needs(p->options->sort) || p->options->sort == REPORT_SORT_AGE)
		return error_create(ERROR_USAGE,
				    "--sort: expected 'size', 'count' or 'growth' with "
				    "--%s, whose hits have nothing else; got '%s'",
				    p->options->growth ? "growth" : "event",
				    p->given[OPTION_SORT]);
	p->options->older_ns = 0;
	p->options->traffic = false;
	return NULL;
}

static struct error *check_patterns(struct report_filter *filter,
				    const struct option_row *row,
				    const struct option_list *list)
{
	struct error *err = NULL;

	for (size_t i = 0; !err && list->values[i]; i++)
		err = report_filter_add(filter, FILTER_KEEP, list->values[i]);
	return error_prefix(err, "--%s", row->name);
}

static struct error *check_filters(const struct options *options)
{
	struct report_filter *filter = report_filter_create();
	struct error *err;

	if (!filter)
		return error_no_memory();
	err = check_patterns(filter, &option_rows[OPTION_FILTER], &options->filters);
	if (!err)
		err = check_patterns(filter, &option_rows[OPTION_EXCLUDE],
				     &options->excludes);
	report_filter_destroy(filter);
	return err;
}

/* A view brings its order with it, and view and order what has to be measured. */
static struct error *check_view(const struct parse *p)
{
	struct options *options = p->options;
	const struct view_ops *view = view_find(options->view);

	if (!p->given[OPTION_SORT])
		options->sort = view->sort;
	if ((view->needs | view->wants | report_sort_needs(options->sort)) &
	    (REPORT_DATA_TRAFFIC | REPORT_DATA_LIFETIMES))
		options->traffic = true;
	if (options->combined_only && options->sort == REPORT_SORT_AGE)
		return error_create(ERROR_USAGE,
				    "--sort: expected another than 'age' with "
				    "--combined-only, which measures no ages");
	return check_filters(options);
}

/* Where snapshots are read nothing is traced. */
static struct error *check_offline(const struct parse *p)
{
	struct options *options = p->options;
	const char *name = options->replay ? "replay" : "diff";
	unsigned offline = options->replay ? OFFLINE_REPLAY : OFFLINE_DIFF;

	if (!options->replay && !options->diff_old)
		return NULL;
	options->action = options->replay ? ACTION_REPLAY : ACTION_DIFF;
	for (size_t i = 0; i < OPTION_ID_COUNT; i++) {
		if (p->given[i] && !(option_rows[i].offline & offline))
			return error_create(ERROR_USAGE,
					    "--%s: expected without --%s, which reads "
					    "what --save has written and traces nothing; "
					    "got both",
					    option_rows[i].name, name);
	}
	if (options->diff_old && p->given[OPTION_SORT] &&
	    options->sort != REPORT_SORT_SIZE && options->sort != REPORT_SORT_COUNT &&
	    options->sort != REPORT_SORT_GROWTH)
		return error_create(ERROR_USAGE,
				    "--sort: expected 'size', 'growth' (which is the "
				    "same) or 'count' with --diff, which has nothing "
				    "else to compare; got '%s'",
				    p->given[OPTION_SORT]);
	if (options->command)
		return error_create(ERROR_USAGE,
				    "--%s: expected without a command after '--'; "
				    "nothing is traced",
				    name);
	return NULL;
}

/* What the process to trace is known by. */
static struct error *check_target(const struct parse *p)
{
	const struct options *options = p->options;

	if (options->action != ACTION_TRACE)
		return NULL;
	if (options->pid_count && options->program)
		return error_create(ERROR_USAGE,
				    "--program: expected without --pid, which names a "
				    "process that runs already; got both");
	if (!options->pid_count && !options->command && !options->library &&
	    !options->event && !options->growth)
		return error_create(ERROR_USAGE,
				    "--pid: expected %s; it is missing: name the process "
				    "to trace, such as 'memtrace --pid 1234', a command "
				    "to start, such as 'memtrace -- COMMAND', or a "
				    "library whose users are all traced, by --lib PATH",
				    option_rows[OPTION_PID].expected);
	if (options->pid_count && options->command)
		return error_create(ERROR_USAGE,
				    "--pid: expected without a command after '--', which "
				    "is started and traced; got both");
	if (options->follow_forks && !options->pid_count && !options->command)
		return error_create(ERROR_USAGE,
				    "--follow-forks: expected with --pid or a command; "
				    "%s alone traces every process anyway",
				    options->event || options->growth ? "--event"
								      : "--lib");
	return NULL;
}

/* What only shows when all options are known. */
static struct error *check_together(const struct parse *p)
{
	struct options *options = p->options;
	struct error *err = check_offline(p);

	if (!err)
		err = check_view(p);
	if (!err)
		err = check_target(p);
	if (err)
		return err;
	if (options->sample_bytes && options->sample_every > 1)
		return error_create(ERROR_USAGE,
				    "--sample-bytes: expected without --sample-every, "
				    "which draws regardless of the size; got both");
	/* A snapshot has all that can be asked of it later. */
	if (options->files[OUTPUT_SAVE] && options->action == ACTION_TRACE &&
	    !options->event && !options->growth)
		options->traffic = true;
	if (options->growth && options->event)
		return error_create(ERROR_USAGE,
				    "--growth: expected without --event, since it counts "
				    "page faults; got both");
	if (options->growth)
		options->event = "software:page-faults:1";
	if (options->kernel_stacks && !options->event)
		return error_create(
			ERROR_USAGE,
			"--kernel-stacks: expected with --event SPEC or --growth, which "
			"it is about; there is none");
	if (options->event) {
		err = check_event(p);
		if (err)
			return err;
	}
	/* Whole stacks are deeper than those that end where frame pointers do. */
	if (options->unwind != UNWIND_CHOICE_FP && !p->given[OPTION_STACK_DEPTH])
		options->stack_depth = 127;
	if (options->min_size_bytes > options->max_size_bytes)
		return error_create(
			ERROR_USAGE,
			"--min-size: expected at most the --max-size of '%s'; "
			"got '%s'",
			p->given[OPTION_MAX_SIZE], p->given[OPTION_MIN_SIZE]);
	if (!options->combined_only)
		return check_files(p);
	if (options->show_allocs)
		return error_create(ERROR_USAGE,
				    "--show-allocs: expected without --combined-only, "
				    "which lists no single blocks; got both");
	if (p->given[OPTION_OLDER])
		return error_create(ERROR_USAGE,
				    "--older: expected without --combined-only, which "
				    "counts blocks of every age; got '%s' with it",
				    p->given[OPTION_OLDER]);
	options->older_ns = 0;
	return check_files(p);
}

struct error *options_parse(int argc, char *const argv[], struct options *ret)
{
	struct parse p = {.argc = argc, .argv = argv, .options = ret};

	*ret = (struct options){
		.action = ACTION_TRACE,
		.interval_ns = 5 * UNITS_NS_PER_S,
		.top = 10,
		.older_ns = 500 * UNITS_NS_PER_MS,
		.max_size_bytes = UINT64_MAX,
		.sample_every = 1,
		.view = "leaks",
		.sort = REPORT_SORT_SIZE,
		.hide_frames = "default",
		.max_allocations = UINT64_C(1) << 20,
		.max_stacks = UINT64_C(1) << 16,
		.max_threads = UINT64_C(1) << 14,
		.stack_depth = 64,
		.unwind = UNWIND_CHOICE_AUTO,
		.format = "text",
		.headers_mode = HEADERS_AUTO,
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
			err = unexpected_argument(arg);
		}
		if (err)
			return err;
	}
	if (p.done)
		return NULL;
	if (ret->output && !strcmp(ret->output, "-"))
		ret->output = NULL;
	if (ret->program && !ret->command) {
		/* It is one of argv, whose strings may be written to. */
		ret->program_argv[0] = (char *)ret->program;
		ret->command = ret->program_argv;
	}
	return check_together(&p);
}
