// SPDX-License-Identifier: Apache-2.0
#include "options/options_check.h"

#include <string.h>

#include "files/file_name.h"
#include "files/new_file.h"
#include "plan/event.h"
#include "options/option_errors.h"
#include "render/format.h"
#include "render/views/views.h"
#include "trace/trace_mode.h"
#include "frames/filter.h"
#include "util/cleanup.h"
#include "util/strbuf.h"
#include "util/units.h"

/* --interval of --live. */
#define LIVE_INTERVAL_NS UNITS_NS_PER_S

/* Does the option name an output file? */
static bool names_file(size_t id)
{
	return id == OPTION_OUTPUT || option_rows[id].kind == KIND_PATTERN;
}

static struct error *check_files(const struct options_given *given)
{
	bool any_stdout = false;

	for (size_t i = 0; i < OPTION_ID_COUNT; i++) {
		const char *name = names_file(i) ? given->values[i] : NULL;

		if (!name || !strcmp(name, NEW_FILE_NULL))
			continue;
		any_stdout = any_stdout || !strcmp(name, NEW_FILE_STDOUT);
		for (size_t k = 0; k < i; k++) {
			const char *other = names_file(k) ? given->values[k] : NULL;

			if (!other || strcmp(name, other))
				continue;
			return option_error_same_file((enum option_id)i,
						      (enum option_id)k, name);
		}
	}
	for (const char *letter = "ptn"; given->values[OPTION_OUTPUT] && *letter;
	     letter++)
		if (file_name_has(given->values[OPTION_OUTPUT], *letter))
			return option_error(
				"--output writes all reports to one file, so %%%c "
				"does not work in its name; --json FILE "
				"--output-every writes a file for each report",
				*letter);
	/* A file takes standard output, so the reports are discarded. */
	if (any_stdout && !given->values[OPTION_OUTPUT])
		given->options->output = NEW_FILE_NULL;
	return NULL;
}

/* Of several modes the last one of mode_rows.h; options_check_abilities() rejects the
 * others. */
static struct error *choose_mode(const struct options_given *given)
{
	for (size_t i = 0; i < OPTION_ID_COUNT; i++)
		if (given->values[i] &&
		    option_rows[i].selects > given->options->trace.mode)
			given->options->trace.mode = option_rows[i].selects;
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

/* --group-by function and so on are kinds of --view functions. */
static struct error *check_group_by(const struct options_given *given)
{
	struct options *options = given->options;
	const char *name = given->values[OPTION_GROUP_BY];

	if (options->group_by <= REPORT_GROUP_PROCESS)
		return NULL;
	if (given->values[OPTION_VIEW] && strcmp(options->view, "functions") != 0)
		return option_error_clash_value(OPTION_VIEW, options->view,
						OPTION_GROUP_BY,
						"is for --view functions");
	if (!options_can(given, MODE_BLOCKS))
		return option_error_clash_value(OPTION_GROUP_BY, name,
						options_mode_option(given),
						"lists stacks only");
	options->view = "functions";
	return NULL;
}

/* Can the view be in this order? */
static struct error *check_sort(const struct options *options,
				const struct view_ops *view)
{
	const char *name = report_sort_name(options->sort);

	if (options->group_by == REPORT_GROUP_THREAD &&
	    options->sort == REPORT_SORT_GROWTH)
		return option_error("--sort growth does not work with --group-by thread, "
				    "which shows size and count");
	if (view->sorts && !(view->sorts & 1u << options->sort))
		return option_error(
			"--sort %s does not work with --view %s, which has %s", name,
			view->name, view->sorts_words);
	if (!view->sorts && options->sort == REPORT_SORT_CUMULATIVE)
		return option_error("--sort cumulative is for --view functions: a stack "
				    "holds nothing but its own size");
	return NULL;
}

/* A view sets the default order; the view and the order may require --traffic. */
static struct error *check_view(const struct options_given *given)
{
	struct options *options = given->options;
	const struct view_ops *view;
	struct error *err = check_group_by(given);

	if (err)
		return err;
	view = view_find(options->view);
	if (!given->values[OPTION_SORT])
		options->sort = view->sort;
	err = check_sort(options, view);
	if (err)
		return err;
	if ((view->needs | view->wants | report_sort_needs(options->sort)) &
	    (REPORT_DATA_TRAFFIC | REPORT_DATA_LIFETIMES))
		options->trace.traffic = true;
	if ((view->wants | report_sort_needs(options->sort)) & REPORT_DATA_AT_PEAK ||
	    options->flame_of == REPORT_FLAME_PEAK)
		options->trace.peak = true;
	if ((view->needs | report_sort_needs(options->sort)) & REPORT_DATA_UNREACHABLE ||
	    options->flame_of == REPORT_FLAME_LOST || options->unreachable_every)
		options->unreachable = true;
	if (options->trace.peak || options->flame_of == REPORT_FLAME_TRAFFIC)
		options->trace.traffic = true;
	/* The names of threads, also of those that have exited, come with it. */
	if (options->group_by == REPORT_GROUP_THREAD && options_can(given, MODE_TRAFFIC))
		options->trace.traffic = true;
	if (options->trace.combined_only && options->sort == REPORT_SORT_AGE)
		return option_error_clash_value(OPTION_SORT, "age", OPTION_COMBINED_ONLY,
						"measures no ages");
	return check_filters(options);
}

/* Reject options that a run without tracing does not accept. `by` asks for this run,
 * which `accepts` one of enum option_offline. `reads` completes the message about options
 * that other runs without tracing accept. */
static struct error *check_accepts(const struct options_given *given, enum option_id by,
				   unsigned accepts, const char *does, const char *reads)
{
	for (size_t i = 0; i < OPTION_ID_COUNT; i++) {
		unsigned offline = option_rows[i].offline;

		if (given->values[i] && i != by && !(offline & accepts))
			return option_error_clash((enum option_id)i, by,
						  offline ? reads : does);
	}
	return NULL;
}

static struct error *check_prime(const struct options_given *given)
{
	static const char does[] = "compiles for the usual kinds of runs and traces "
				   "nothing";
	struct error *err =
		check_accepts(given, OPTION_PRIME_CACHE, OFFLINE_PRIME, does, does);

	if (err || !given->options->command)
		return err;
	return option_error("--prime-cache does not work with a command after '--': it "
			    "traces nothing");
}

/* With --replay or --diff, reject options that concern tracing. */
static struct error *check_offline(const struct options_given *given)
{
	struct options *options = given->options;
	const enum option_id id = options->replay ? OPTION_REPLAY : OPTION_DIFF;
	struct error *err;

	if (!options->replay && !options->diff_old)
		return NULL;
	options->action = options->replay ? ACTION_REPLAY : ACTION_DIFF;
	err = check_accepts(given, id, options->replay ? OFFLINE_REPLAY : OFFLINE_DIFF,
			    "reads what --save has written and traces nothing",
			    options->replay ? "reads one snapshot"
					    : "compares two snapshots");
	if (err)
		return err;
	if (options->diff_old && given->values[OPTION_SORT] &&
	    options->sort != REPORT_SORT_SIZE && options->sort != REPORT_SORT_COUNT &&
	    options->sort != REPORT_SORT_GROWTH)
		return option_error_clash_value(
			OPTION_SORT, given->values[OPTION_SORT], OPTION_DIFF,
			"compares nothing but size, count and growth");
	if (options->command)
		return option_error("--%s does not work with a command after '--': it "
				    "reads what --save has written and traces nothing",
				    option_rows[id].name);
	return NULL;
}

/* Turn on what --listen, --save and --group-by use. */
static struct error *set_recorded(const struct options_given *given)
{
	struct options *options = given->options;

	/* Profiles that are scraped have alloc_space. */
	if (options->listen && options_can(given, MODE_TRAFFIC))
		options->trace.traffic = true;
	/* A snapshot should contain everything that a replay may ask for. */
	if (options->files[OUTPUT_SAVE] && options->action == ACTION_TRACE &&
	    options_can(given, MODE_TRAFFIC)) {
		options->trace.traffic = true;
		options->trace.peak |= !options->trace.sampling.mean_bytes;
	}
	options->trace.apart = options->group_by == REPORT_GROUP_PROCESS;
	return NULL;
}

/* --with-kernel: a process and the kernel. */
static struct error *check_with_kernel(const struct options_given *given)
{
	const struct options *options = given->options;

	if (!options->with_kernel)
		return NULL;
	if (options->pid_count > 1 || (!options->pid_count && !options->command))
		return option_error(
			"--with-kernel needs one process or a command, for "
			"which memtrace traces the kernel's allocations; there %s",
			options->pid_count ? "are several" : "is none");
	return NULL;
}

/* Reject values that the mode cannot honour. */
static struct error *check_mode_values(const struct options_given *given)
{
	struct options *options = given->options;
	enum option_id by = options_mode_option(given);
	enum option_id from = given->values[OPTION_SORT] ? OPTION_SORT : OPTION_VIEW;
	struct event_spec spec;
	struct error *err;

	if (options->event) {
		err = event_spec_parse(options->event, &spec);
		if (err)
			return err;
		event_spec_deinit(&spec);
	}
	if (!options_can(given, MODE_PROCESSES) && options->pid_count > 1)
		return option_error("--%s works with one process at most; got %zu",
				    option_rows[by].name, options->pid_count);
	if (!options_can(given, MODE_BLOCKS) &&
	    (report_sort_needs(options->sort) || options->sort == REPORT_SORT_AGE))
		return option_error_clash_value(
			OPTION_SORT, given->values[OPTION_SORT], by,
			"measures nothing but size, count and growth");
	if (!options_can(given, MODE_BLOCKS) || options->trace.combined_only)
		options->older_ns = 0;
	if (!options_can(given, MODE_TRAFFIC) && options->trace.traffic)
		return option_error_clash_value(from, given->values[from], by,
						"measures no traffic of call paths");
	return NULL;
}

static struct error *check_sizes(const struct options_given *given)
{
	if (given->options->trace.min_size_bytes > given->options->trace.max_size_bytes)
		return option_error(
			"--min-size %s is larger than --max-size %s: no block is both",
			given->values[OPTION_MIN_SIZE], given->values[OPTION_MAX_SIZE]);
	return NULL;
}

static struct error *check_live(const struct options_given *given)
{
	struct options *options = given->options;

	options->live_interval_ns =
		given->values[OPTION_INTERVAL] ? options->interval_ns : LIVE_INTERVAL_NS;
	if (!options->live)
		return NULL;
	if (options->command)
		return option_error(
			"--live does not work with a command after '--', which "
			"would write to the same terminal: start it elsewhere "
			"and use -p PID");
	return NULL;
}

/* Is the run about files, and not about the reports? */
static bool wants_files(const struct options_given *given)
{
	bool any = false;

	for (size_t i = 0; i < OPTION_ID_COUNT; i++) {
		if (given->values[i] && option_rows[i].is_of_reports)
			return false;
		any |= given->values[i] && option_rows[i].kind == KIND_PATTERN;
	}
	return any;
}

/* The option, if any, that asks for more than live memory of processes in one order. */
static enum option_id find_reshaping(const struct options_given *given)
{
	for (size_t i = 0; i < OPTION_ID_COUNT; i++)
		if (given->values[i] && option_rows[i].reshapes)
			return (enum option_id)i;
	return options_can(given, MODE_CALLS) ? OPTION_ID_COUNT
					      : options_mode_option(given);
}

static struct error *check_format(const struct options_given *given)
{
	struct options *options = given->options;
	enum option_id other = find_reshaping(given);

	options->any_height = given->values[OPTION_TOP];
	options->final_only_on_terminal = wants_files(given);
	options->brief_on_terminal =
		!given->values[OPTION_FORMAT] && other == OPTION_ID_COUNT;
	if (other != OPTION_ID_COUNT &&
	    !(format_find(options->format)->able & FORMAT_SHAPES))
		return option_error("--format %s does not show what --%s asks for; use "
				    "--format text or json",
				    options->format, option_rows[other].name);
	return NULL;
}

/* The other checks shall see a run with one process. */
static void expect_process(struct options *options)
{
	options_settle_supervisor(options);
	if (options->wait_for && !options->pid_count)
		options->pid_count = 1;
}

struct error *options_check(const struct options_given *given)
{
	/* In this order: later checks rely on earlier ones. */
	static struct error *(*const checks[])(const struct options_given *given) = {
		check_offline,        choose_mode,
		check_view,           options_check_target,
		set_recorded,         options_check_abilities,
		check_mode_values,    check_with_kernel,
		check_sizes,          check_files,
		check_format,         check_live,
		options_check_listen, options_check_unreachable,
	};
	struct error *err = NULL;

	if (given->options->action == ACTION_PRIME_CACHE)
		return check_prime(given);
	expect_process(given->options);
	for (size_t i = 0; !err && i < sizeof(checks) / sizeof(*checks); i++)
		err = checks[i](given);
	return err;
}
