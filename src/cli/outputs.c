// SPDX-License-Identifier: Apache-2.0
#include "cli/outputs.h"

#include "cli/file_name.h"
#include "render/flame.h"
#include "render/html.h"
#include "render/renderer.h"
#include "render/views.h"
#include "report/view.h"
#include "util/cleanup.h"

/* Of single blocks, however few the report shows. */
#define SINGLES_MIN 10

static const struct {
	const char *option, *renderer;
} kinds[OUTPUT_KIND_COUNT] = {
	[OUTPUT_FLAMEGRAPH] = {"--flamegraph", "collapsed"},
	[OUTPUT_FLAME] = {"--flame", "flame"},
	[OUTPUT_PPROF] = {"--pprof", "pprof"},
	[OUTPUT_CSV] = {"--csv", "csv"},
	[OUTPUT_JSON] = {"--json", "json"},
	[OUTPUT_HTML] = {"--html", "html"},
};

static bool is_due(const struct outputs *outputs, bool is_final)
{
	const struct options *options = outputs->options;

	for (size_t i = 0; i < OUTPUT_KIND_COUNT; i++) {
		if (options->files[i])
			return is_final || options->output_every;
	}
	return false;
}

/* Whether the name of the first file to be written is known before the run. */
static bool is_known(const struct options *options, const char *pattern)
{
	return !file_name_has(pattern, 't') &&
	       (options->output_every || !file_name_has(pattern, 'n')) &&
	       (options->pid_count || !file_name_has(pattern, 'p'));
}

static struct error *check(const struct options *options, size_t kind)
{
	const struct file_name_values values = {
		.pid = options->pid_count ? options->pids[0] : 0, .number = 1};
	const char *pattern = options->files[kind];
	_cleanup_(new_file_deinit) struct new_file file = NEW_FILE_NONE;
	_cleanup_(freep) char *path = NULL;
	bool in_place;
	struct error *err = file_name_expand(pattern, &values, &path);

	if (!err)
		err = new_file_open(kinds[kind].option, path, &file);
	if (!err && is_known(options, pattern))
		err = new_file_check(&file, options->force,
				     &(const struct file_identity){0}, &in_place);
	return err;
}

struct error *outputs_init(struct outputs *ret, const struct options *options)
{
	struct error *err = NULL;

	*ret = (struct outputs){.options = options};
	for (size_t i = 0; !err && i < OUTPUT_KIND_COUNT; i++) {
		if (options->files[i])
			err = check(options, i);
	}
	return err;
}

struct report_options outputs_report_options(const struct outputs *outputs,
					     const struct report_options *options,
					     bool is_final)
{
	struct report_options wanted = *options;

	if (is_due(outputs, is_final)) {
		wanted.top = 0;
		/* For histograms and labels. */
		wanted.show_blocks = true;
		wanted.past = true;
		if (wanted.singles < SINGLES_MIN)
			wanted.singles = SINGLES_MIN;
	}
	return wanted;
}

static struct error *render(const struct options *options, size_t kind,
			    const struct report *report, FILE *out)
{
	const struct flame_options flame = {.inverted = options->inverted,
					    .reverse = options->reverse};

	if (kind == OUTPUT_FLAME)
		return flame_render(report, &flame, out);
	if (kind == OUTPUT_HTML)
		return html_render(report, &flame, out);
	if (kind == OUTPUT_JSON || kind == OUTPUT_CSV) {
		struct report_options all = report->options;
		struct report view;
		struct error *err;

		/* Single blocks only where they were asked for. */
		if (kind == OUTPUT_JSON)
			all.show_blocks = options->show_allocs;
		else
			all.past = view_find(options->view)->past;
		err = report_view(report, &all, &view);
		return err ? err
			   : renderer_find(kinds[kind].renderer)->render(&view, out);
	}
	return renderer_find(kinds[kind].renderer)->render(report, out);
}

static struct error *write_file(struct outputs *outputs, size_t kind,
				const struct report *report)
{
	const struct options *options = outputs->options;
	const struct file_name_values values = {
		.pid = report->snapshot->processes.len
			       ? report->snapshot->processes.data[0].pid
			       : 0,
		.wall_ns = report->snapshot->wall_ns,
		.number = outputs->reports,
	};
	_cleanup_(new_file_deinit) struct new_file file = NEW_FILE_NONE;
	_cleanup_(freep) char *path = NULL;
	struct error *err = file_name_expand(options->files[kind], &values, &path);

	if (!err)
		err = new_file_open(kinds[kind].option, path, &file);
	if (!err)
		err = render(options, kind, report, file.stream);
	if (!err)
		err = new_file_publish(&file, options->force, &outputs->own[kind]);
	return err;
}

struct error *outputs_write(struct outputs *outputs, const struct report *report,
			    bool is_final)
{
	struct error *first = NULL;

	outputs->reports++;
	if (!is_due(outputs, is_final))
		return NULL;
	for (size_t i = 0; i < OUTPUT_KIND_COUNT; i++) {
		struct error *err = NULL;

		if (outputs->options->files[i])
			err = write_file(outputs, i, report);
		if (first)
			error_destroy(err);
		else
			first = err;
	}
	return first;
}
