// SPDX-License-Identifier: Apache-2.0
#include "output/report_setup.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "output/terminal.h"
#include "render/format.h"
#include "render/views/views.h"
#include "frames/filter.h"

/* Number of single blocks in a format of all views if --top does not limit the rows. */
#define SINGLES_DEFAULT 10

/* The brief report groups so many call paths, those that hold most. Naming them all could
 * take long. */
#define BRIEF_STACKS 1000

static bool is_set(const char *variable)
{
	const char *value = getenv(variable);

	return value && *value;
}

/* See https://no-color.org. A dumb terminal prints escape sequences literally. */
static bool wants_color(enum color_choice choice, bool is_terminal)
{
	const char *terminal = getenv("TERM");

	if (choice != COLOR_AUTO)
		return choice == COLOR_ALWAYS;
	return is_terminal && !is_set("NO_COLOR") && terminal && strcmp(terminal, "dumb");
}

/* In the order of POSIX (XBD 8.2). The locale itself is not loaded, so the format of
 * numbers does not change. */
static bool locale_is_utf8(void)
{
	static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
	const char *value = "";

	for (size_t i = 0; i < 3 && !*value; i++)
		value = is_set(variables[i]) ? getenv(variables[i]) : "";
	return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
}

static struct error *add_patterns(struct report_filter *filter, const char *option,
				  enum filter_use use, const struct option_list *list)
{
	struct error *err = NULL;

	for (size_t i = 0; !err && list->values[i]; i++)
		err = report_filter_add(filter, use, list->values[i]);
	return error_prefix(err, "%s", option);
}

static struct error *fill_filter(const struct options *options,
				 struct report_filter *filter)
{
	struct error *err =
		add_patterns(filter, "--filter", FILTER_KEEP, &options->filters);

	if (!err)
		err = add_patterns(filter, "--exclude", FILTER_EXCLUDE,
				   &options->excludes);
	for (size_t i = 0; !err && options->suppressions.values[i]; i++)
		err = error_prefix(report_filter_read(filter, FILTER_SUPPRESS,
						      options->suppressions.values[i]),
				   "--suppressions");
	if (err || !strcmp(options->hide_frames, "none"))
		return err;
	if (!strcmp(options->hide_frames, "default"))
		return report_filter_hide_noise(filter);
	return error_prefix(report_filter_read(filter, FILTER_HIDE, options->hide_frames),
			    "--hide-frames");
}

struct error *report_setup_init(const struct options *options, bool is_terminal,
				struct report_setup *ret)
{
	const struct view_ops *view = view_find(options->view);
	const struct format *format = format_find(
		is_terminal && options->brief_on_terminal ? "brief" : options->format);
	bool has_all_views = format->able & FORMAT_ALL_VIEWS;

	*ret = (struct report_setup){
		.format = format->name,
		.is_terminal = is_terminal,
		.fits_terminal = !options->any_height,
		.options =
			{
				.sort = options->sort,
				.top = options->top,
				.older_ns = options->older_ns,
				.show_blocks = options->show_allocs,
				.combined_only = options->trace.combined_only,
				.names = options->names,
				.paths = options->paths,
				.addresses = options->addresses,
				.is_terminal = is_terminal,
				.group_by_process =
					options->group_by == REPORT_GROUP_PROCESS,
				.past = view_lists_past(view) || has_all_views,
				.skip_bytes = options->skip_bytes,
				.skip_count = options->skip_count,
				.skip_by_traffic = view->past,
				.view = options->view,
				.flame_of = options->flame_of,
				.color = wants_color(options->color, is_terminal),
				.utf8 = locale_is_utf8(),
				.group_by = options->group_by,
				.callees_first = options->reverse,
				.interval_ns = options->replay ? 0 : options->interval_ns,
				.whole_stacks = !strcmp(options->hide_frames, "none"),
			},
		.filter = report_filter_create(),
	};
	if (!ret->filter)
		return error_no_memory();
	if (format->able & FORMAT_CAUSES) {
		ret->options.entries = options->top;
		if (options->top && options->top < BRIEF_STACKS)
			ret->options.top = BRIEF_STACKS;
	}
	report_setup_measure(ret);
	if (view->all_rows &&
	    format->able & (view->is_tree ? FORMAT_TREES : FORMAT_GROUPS)) {
		ret->options.entries = options->top;
		ret->options.top = 0;
		ret->options.gone = true;
	}
	if (view->singles)
		ret->options.singles = options->top ? options->top : UINT64_MAX;
	else if (has_all_views)
		ret->options.singles = options->top ? options->top : SINGLES_DEFAULT;
	ret->options.filter = ret->filter;
	return fill_filter(options, ret->filter);
}

void report_setup_measure(struct report_setup *setup)
{
	if (!setup->is_terminal)
		return;
	terminal_size(STDOUT_FILENO, &setup->options.columns, &setup->options.lines);
	if (!setup->fits_terminal)
		setup->options.lines = 0;
}

void report_setup_deinit(struct report_setup *setup)
{
	report_filter_destroy(setup->filter);
	setup->filter = NULL;
}
