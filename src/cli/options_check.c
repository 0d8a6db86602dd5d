// SPDX-License-Identifier: Apache-2.0
#include "cli/options_check.h"

#include <string.h>

#include "cli/kernel.h"
#include "cli/new_file.h"
#include "render/views.h"
#include "report/filter.h"
#include "util/cleanup.h"
#include "util/escape.h"

/* The options that name an output file. */
static const enum option_id file_ids[] = {
	OPTION_OUTPUT, OPTION_FLAMEGRAPH, OPTION_FLAME, OPTION_PPROF,
	OPTION_CSV,    OPTION_JSON,       OPTION_HTML,  OPTION_SAVE,
};

static struct error *check_files(const struct options_given *given)
{
	const size_t count = sizeof(file_ids) / sizeof(*file_ids);
	bool any = false, any_stdout = false;

	for (size_t i = 0; i < count; i++) {
		const char *name = given->values[file_ids[i]];

		any = any || (name && file_ids[i] != OPTION_OUTPUT);
		if (!name || !strcmp(name, NEW_FILE_NULL))
			continue;
		any_stdout = any_stdout || !strcmp(name, NEW_FILE_STDOUT);
		for (size_t k = 0; k < i; k++) {
			const char *other = given->values[file_ids[k]];

			if (!other || strcmp(name, other))
				continue;

			_cleanup_(freep) char *shown = escape_dup(name);

			if (!shown)
				return error_no_memory();
			return error_create(ERROR_USAGE,
					    "--%s and --%s must name different files; "
					    "got '%s' for both",
					    option_rows[file_ids[i]].name,
					    option_rows[file_ids[k]].name, shown);
		}
	}
	/* A file takes standard output, so the reports are discarded. */
	if (any_stdout && !given->values[OPTION_OUTPUT])
		given->options->output = NEW_FILE_NULL;
	if (given->options->output_every && !any)
		return error_create(
			ERROR_USAGE,
			"--output-every: needs a file to write, such as --pprof FILE");
	if ((given->options->inverted || given->options->reverse) &&
	    !given->values[OPTION_FLAME] && !given->values[OPTION_HTML])
		return error_create(ERROR_USAGE,
				    "--%s: needs --flame FILE or --html FILE",
				    given->options->inverted ? "inverted" : "reverse");
	return NULL;
}

/* Reject options that make no sense when events are counted. */
static struct error *check_event(const struct options_given *given)
{
	static const enum option_id others[] = {
		OPTION_LIB,
		OPTION_SYMBOLS_PREFIX,
		OPTION_FUNCTION,
		OPTION_MAPPINGS,
		OPTION_OLDER,
		OPTION_MIN_SIZE,
		OPTION_MAX_SIZE,
		OPTION_SAMPLE_EVERY,
		OPTION_SAMPLE_BYTES,
		OPTION_SHOW_ALLOCS,
		OPTION_COMBINED_ONLY,
		OPTION_TRAFFIC,
		OPTION_VIEW,
		OPTION_HTML,
		OPTION_TEMPORARY_THRESHOLD,
		OPTION_SAVE,
		OPTION_REPLAY,
		OPTION_DIFF,
		OPTION_OTEL_MEMORY,
		OPTION_NO_RETURN_PROBES,
	};
	struct event_spec spec;
	struct error *err = event_spec_parse(given->options->event, &spec);

	if (err)
		return err;
	event_spec_deinit(&spec);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (given->values[others[i]])
			return error_create(ERROR_USAGE,
					    "--%s: expected without --%s, which is "
					    "about allocations; got both",
					    given->options->growth ? "growth" : "event",
					    option_rows[others[i]].name);
	if (report_sort_needs(given->options->sort) ||
	    given->options->sort == REPORT_SORT_AGE)
		return error_create(ERROR_USAGE,
				    "--sort: expected 'size', 'count' or 'growth' with "
				    "--%s, as nothing else is measured; got '%s'",
				    given->options->growth ? "growth" : "event",
				    given->values[OPTION_SORT]);
	given->options->older_ns = 0;
	given->options->traffic = false;
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

/* A view sets the default order; the view and the order may require --traffic. */
static struct error *check_view(const struct options_given *given)
{
	struct options *options = given->options;
	const struct view_ops *view = view_find(options->view);

	if (!given->values[OPTION_SORT])
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

/* With --replay or --diff, reject options that concern tracing. */
static struct error *check_offline(const struct options_given *given)
{
	struct options *options = given->options;
	const char *name = options->replay ? "replay" : "diff";
	unsigned offline = options->replay ? OFFLINE_REPLAY : OFFLINE_DIFF;

	if (!options->replay && !options->diff_old)
		return NULL;
	options->action = options->replay ? ACTION_REPLAY : ACTION_DIFF;
	for (size_t i = 0; i < OPTION_ID_COUNT; i++) {
		if (given->values[i] && !(option_rows[i].offline & offline))
			return error_create(ERROR_USAGE,
					    "--%s: expected without --%s, which reads "
					    "what --save has written and traces nothing; "
					    "got both",
					    option_rows[i].name, name);
	}
	if (options->diff_old && given->values[OPTION_SORT] &&
	    options->sort != REPORT_SORT_SIZE && options->sort != REPORT_SORT_COUNT &&
	    options->sort != REPORT_SORT_GROWTH)
		return error_create(ERROR_USAGE,
				    "--sort: expected 'size', 'growth' (which is the "
				    "same) or 'count' with --diff, which has nothing "
				    "else to compare; got '%s'",
				    given->values[OPTION_SORT]);
	if (options->command)
		return error_create(ERROR_USAGE,
				    "--%s: expected without a command after '--'; "
				    "nothing is traced",
				    name);
	return NULL;
}

/* Check the options that choose what to trace. */
static struct error *check_target(const struct options_given *given)
{
	const struct options *options = given->options;

	if (options->action != ACTION_TRACE)
		return NULL;
	if (options->pid_count && options->program)
		return error_create(ERROR_USAGE,
				    "--program: expected without --pid, which names a "
				    "process that runs already; got both");
	if (!options->pid_count && !options->command && !options->library &&
	    !options->event && !options->growth && !options->kernel)
		return error_create(ERROR_USAGE,
				    "no process to trace: use --pid PID ('pidof NAME' "
				    "prints it), '-- COMMAND' to start one, or --lib "
				    "FILE for all processes that map the file");
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

/* Check the options for sampling, recorded data and stack depth. */
static struct error *check_blocks(const struct options_given *given)
{
	struct options *options = given->options;

	if (options->sample_bytes && options->sample_every > 1)
		return error_create(ERROR_USAGE,
				    "--sample-bytes: expected without --sample-every, "
				    "which samples regardless of the size; got both");
	/* A snapshot should contain everything that a replay may ask for. */
	if (options->files[OUTPUT_SAVE] && options->action == ACTION_TRACE &&
	    !options->event && !options->growth && !options->kernel)
		options->traffic = true;
	/* Full stacks are deeper than stacks that end where frame pointers do. */
	if (options->unwind != UNWIND_CHOICE_FP && !given->values[OPTION_STACK_DEPTH])
		options->stack_depth = 127;
	return NULL;
}

static struct error *check_events(const struct options_given *given)
{
	struct options *options = given->options;

	if (options->growth && options->event)
		return error_create(ERROR_USAGE,
				    "--growth: expected without --event, since it counts "
				    "page faults; got both");
	if (options->growth)
		options->event = "software:page-faults:1";
	if (options->kernel_stacks && !options->event)
		return error_create(ERROR_USAGE,
				    "--kernel-stacks: needs --event SPEC or --growth");
	return options->event ? check_event(given) : NULL;
}

/* Reject `others` together with option `id`; `why` says what `id` traces. */
static struct error *check_without(const struct options_given *given, enum option_id id,
				   const enum option_id others[], size_t count,
				   const char *why)
{
	for (size_t i = 0; i < count; i++)
		if (given->values[others[i]])
			return error_create(
				ERROR_USAGE,
				"--%s: expected without --%s, which traces %s; "
				"got both",
				option_rows[others[i]].name, option_rows[id].name, why);
	return NULL;
}

/* --with-kernel: a process and the kernel. */
static struct error *check_with_kernel(const struct options_given *given)
{
	static const enum option_id others[] = {
		OPTION_KERNEL,       OPTION_EVENT,        OPTION_GROWTH,
		OPTION_FOLLOW_FORKS, OPTION_SAMPLE_BYTES,
	};
	const struct options *options = given->options;

	if (!options->with_kernel)
		return NULL;
	if (options->pid_count > 1 || (!options->pid_count && !options->command))
		return error_create(
			ERROR_USAGE,
			"--with-kernel: expected with one process or a command, since it "
			"traces what the kernel allocates for it; got %zu",
			options->pid_count);
	return check_without(given, OPTION_WITH_KERNEL, others,
			     sizeof(others) / sizeof(*others),
			     "the heap of one process and the kernel");
}

/* --kernel: only the kernel. */
static struct error *check_kernel(const struct options_given *given)
{
	static const enum option_id others[] = {
		OPTION_LIB,           OPTION_SYMBOLS_PREFIX,
		OPTION_FUNCTION,      OPTION_MAPPINGS,
		OPTION_EVENT,         OPTION_GROWTH,
		OPTION_FOLLOW_FORKS,  OPTION_SAMPLE_BYTES,
		OPTION_TRAFFIC,       OPTION_UNWIND,
		OPTION_MAX_THREADS,   OPTION_TEMPORARY_THRESHOLD,
		OPTION_OTEL_MEMORY,   OPTION_NO_RETURN_PROBES,
		OPTION_MAX_PROCESSES, OPTION_UNWIND_CPU,
		OPTION_UNWIND_MEMORY,
	};
	struct options *options = given->options;
	enum option_id by = given->values[OPTION_SORT] ? OPTION_SORT : OPTION_VIEW;
	struct error *err;

	if (!options->kernel)
		return check_with_kernel(given);
	err = check_without(given, OPTION_KERNEL, others,
			    sizeof(others) / sizeof(*others),
			    "what the kernel allocates and nothing else");
	if (err)
		return err;
	if (options->with_kernel)
		return check_with_kernel(given);
	if (options->pid_count > 1)
		return error_create(ERROR_USAGE,
				    "--pid: expected at most one process with --kernel; "
				    "got %zu",
				    options->pid_count);
	if (options->traffic)
		return error_create(ERROR_USAGE,
				    "--%s: expected without --kernel, which measures no "
				    "traffic of call paths; got '%s'",
				    option_rows[by].name, given->values[by]);
	options->unwind = UNWIND_CHOICE_FP;
	if (!given->values[OPTION_STACK_DEPTH])
		options->stack_depth = KERNEL_STACK_DEPTH;
	return NULL;
}

/* --otel-memory: reject options about allocation functions, which are then not traced. */
static struct error *check_otel(const struct options_given *given)
{
	static const enum option_id others[] = {OPTION_SYMBOLS_PREFIX, OPTION_FUNCTION,
						OPTION_MAPPINGS, OPTION_NO_RETURN_PROBES};

	if (!given->options->otel_memory)
		return NULL;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (given->values[others[i]])
			return error_create(ERROR_USAGE,
					    "--otel-memory: expected without --%s, which "
					    "is about functions; got both",
					    option_rows[others[i]].name);
	return NULL;
}

static struct error *check_sizes(const struct options_given *given)
{
	if (given->options->min_size_bytes > given->options->max_size_bytes)
		return error_create(
			ERROR_USAGE,
			"--min-size: expected at most the --max-size of '%s'; "
			"got '%s'",
			given->values[OPTION_MAX_SIZE], given->values[OPTION_MIN_SIZE]);
	return NULL;
}

static struct error *check_combined(const struct options_given *given)
{
	struct options *options = given->options;

	if (!options->combined_only)
		return NULL;
	if (options->show_allocs)
		return error_create(ERROR_USAGE,
				    "--show-allocs: expected without --combined-only, "
				    "which lists no single blocks; got both");
	if (given->values[OPTION_OLDER])
		return error_create(ERROR_USAGE,
				    "--older: expected without --combined-only, which "
				    "counts blocks of every age; got '%s' with it",
				    given->values[OPTION_OLDER]);
	options->older_ns = 0;
	return NULL;
}

/* The brief report has one view and one order, of live memory. */
static struct error *check_format(const struct options_given *given)
{
	static const enum option_id others[] = {
		OPTION_VIEW,        OPTION_SORT,        OPTION_GROUP_BY,
		OPTION_SHOW_ALLOCS, OPTION_EVENT,       OPTION_GROWTH,
		OPTION_KERNEL,      OPTION_WITH_KERNEL, OPTION_DIFF,
	};
	struct options *options = given->options;
	bool is_brief = !strcmp(options->format, "brief");

	options->any_height = given->values[OPTION_TOP];
	options->brief_on_terminal = !given->values[OPTION_FORMAT];
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		if (!given->values[others[i]])
			continue;
		options->brief_on_terminal = false;
		if (is_brief)
			return error_create(ERROR_USAGE,
					    "--format: expected 'text' or 'json' with "
					    "--%s, which the brief report does not show; "
					    "got 'brief'",
					    option_rows[others[i]].name);
	}
	return NULL;
}

struct error *options_check(const struct options_given *given)
{
	/* In this order: later checks rely on earlier ones. */
	static struct error *(*const checks[])(const struct options_given *given) = {
		check_offline,  check_view,   check_target, check_blocks,
		check_kernel,   check_events, check_otel,   check_sizes,
		check_combined, check_files,  check_format,
	};
	struct error *err = NULL;

	for (size_t i = 0; !err && i < sizeof(checks) / sizeof(*checks); i++)
		err = checks[i](given);
	return err;
}
