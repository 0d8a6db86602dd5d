// SPDX-License-Identifier: Apache-2.0
#include "output/outputs.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "files/file_name.h"
#include "render/format.h"
#include "render/table/diff_renderers.h"
#include "render/flame/flame.h"
#include "render/table/renderers.h"
#include "render/views/views.h"
#include "report/view.h"
#include "snapshot/file.h"
#include "util/cleanup.h"
#include "util/escape.h"
#include "util/say_error.h"
#include "util/say_note.h"
#include "util/units.h"

/* Files list at least this many single blocks, even if the report shows fewer. */
#define SINGLES_MIN 10

static bool is_due(const struct outputs *outputs, size_t kind, bool is_final)
{
	const struct options *options = outputs->options;
	const char *name = options->files[kind];

	return name &&
	       (is_final || (options->output_every && strcmp(name, NEW_FILE_STDOUT)));
}

bool outputs_save_is_due(const struct outputs *outputs, bool is_final)
{
	return is_due(outputs, OUTPUT_SAVE, is_final);
}

/* Is a report to be rendered into any file? */
static bool report_is_due(const struct outputs *outputs, bool is_final)
{
	for (size_t i = 0; i < OUTPUT_KIND_COUNT; i++) {
		if (i != OUTPUT_SAVE && is_due(outputs, i, is_final))
			return true;
	}
	return false;
}

/* Is the name of the first file known before the run? */
static bool is_known(const struct options *options, const char *pattern)
{
	return !file_name_has(pattern, 't') &&
	       (options->output_every || !file_name_has(pattern, 'n')) &&
	       (options->pid_count || !file_name_has(pattern, 'p'));
}

static struct error *check(const struct outputs *outputs, size_t kind)
{
	const struct options *options = outputs->options;
	const struct file_name_values values = {
		.pid = options->pid_count ? options->pids[0] : 0, .number = 1};
	const char *pattern = options->files[kind];
	_cleanup_(new_file_deinit) struct new_file file = NEW_FILE_NONE;
	_cleanup_(freep) char *path = NULL;
	bool in_place;
	struct error *err = file_name_expand(pattern, &values, &path);

	if (!err)
		err = writer_open(outputs->writer, kind, &values, path, &file);
	if (!err && is_known(options, pattern))
		err = new_file_check(&file, options->force,
				     &(const struct file_identity){0}, &in_place);
	return err;
}

struct error *outputs_init(struct outputs *ret, const struct options *options,
			   struct writer *writer)
{
	struct error *err = NULL;

	*ret = (struct outputs){.options = options, .writer = writer};
	for (size_t i = 0; !err && i < OUTPUT_KIND_COUNT; i++) {
		if (options->files[i])
			err = check(ret, i);
	}
	return err;
}

struct report_options outputs_report_options(const struct outputs *outputs,
					     const struct report_options *options,
					     bool is_final)
{
	struct report_options wanted = *options;

	if (report_is_due(outputs, is_final)) {
		wanted.top = 0;
		/* The files need all blocks, for histograms and labels. */
		wanted.show_blocks = true;
		wanted.past = true;
		if (wanted.singles < SINGLES_MIN)
			wanted.singles = SINGLES_MIN;
	}
	return wanted;
}

/* What to write: a report or a diff. */
struct subject {
	const struct report *report; /* of a diff: the new report */
	const struct report_diff *diff;
	const struct snapshot *saved; /* by --save */
};

static struct subject subject_of(const struct outputs *outputs,
				 const struct report *report)
{
	const struct snapshot *snap = report->snapshot;

	return (struct subject){
		.report = report,
		.saved = outputs->saved  ? outputs->saved
			 : snap->made_of ? snap->made_of
					 : snap,
	};
}

static struct error *render_diff(const struct format *format,
				 const struct flame_options *flame,
				 const struct report_diff *diff, FILE *out)
{
	const struct renderer *renderer = renderer_find(format->name);

	return renderer->render_graph
		       ? renderer->render_graph(&diff->graph, flame, out)
		       : diff_renderer_find(format->name)->render(diff, out);
}

/* Write a file that lists all stacks. The report may have stacks and blocks that the
 * format does not show: leave them out. */
static struct error *render_stacks(const struct options *options,
				   const struct format *format,
				   const struct report *report, FILE *out)
{
	struct report_options all = report->options;
	struct report view;
	struct error *err;

	all.entries = 0;
	if (format->able & FORMAT_BLOCKS)
		all.show_blocks = options->show_allocs;
	if (!(format->able & FORMAT_ALL_VIEWS))
		all.past = view_lists_past(view_find(options->view));
	err = report_view(report, &all, &view);
	return err ? err : renderer_find(format->name)->render(&view, out);
}

static struct error *render(const struct options *options, enum output_kind kind,
			    const struct subject *subject, FILE *out)
{
	const struct flame_options flame = {
		.inverted = options->inverted,
		.reverse = options->reverse,
		.old = subject->diff ? subject->diff->old : NULL,
	};
	const struct format *format = format_of_file(kind);
	const struct renderer *renderer;

	if (!format)
		return snapshot_write(subject->saved, out);
	if (subject->diff)
		return render_diff(format, &flame, subject->diff, out);
	if (format->able & FORMAT_STACKS)
		return render_stacks(options, format, subject->report, out);
	renderer = renderer_find(format->name);
	return renderer->render_graph
		       ? renderer->render_graph(subject->report, &flame, out)
		       : renderer->render(subject->report, out);
}

static void say_written(const struct outputs *outputs, const struct new_file *file)
{
	_cleanup_(freep) char *shown = escape_dup(file->path);
	struct stat st;

	if (file->is_direct || fstat(file->fd, &st))
		return;
	fprintf(outputs->said, "memtrace: wrote %s (%s)\n", shown ? shown : "?",
		units_format_bytes((uint64_t)st.st_size).s);
}

static struct error *write_file(struct outputs *outputs, size_t kind,
				const struct subject *subject, bool is_final)
{
	const struct options *options = outputs->options;
	const struct snapshot *snap = subject->report->snapshot;
	const struct file_name_values values = {
		.pid = snap->processes.len ? snap->processes.data[0].pid : 0,
		.wall_ns = snap->wall_ns,
		.number = subject->report->sequence,
	};
	_cleanup_(new_file_deinit) struct new_file file = NEW_FILE_NONE;
	_cleanup_(freep) char *path = NULL;
	struct error *err = file_name_expand(options->files[kind], &values, &path);

	if (!err)
		err = writer_open(outputs->writer, kind, &values, path, &file);
	if (!err)
		err = render(options, kind, subject, file.stream);
	if (!err)
		err = new_file_give_name(&file, options->force, &outputs->own[kind]);
	if (!err && is_final && outputs->said)
		say_written(outputs, &file);
	return err;
}

bool outputs_are_wanted(const struct outputs *outputs)
{
	for (size_t i = 0; i < OUTPUT_KIND_COUNT; i++)
		if (outputs->options->files[i])
			return true;
	return false;
}

/* Record the result of writing an output; takes ownership of `err`. Returns the first
 * error of the final report. */
static struct error *note(struct outputs *outputs, size_t kind, struct error *err,
			  bool is_final, struct error *first)
{
	bool was_failing = outputs->is_failing[kind];

	outputs->is_failing[kind] = err != NULL;
	if (is_final && !first)
		return err;
	if (err && is_final)
		say_error("", err, "");
	else if (err && !was_failing)
		say_error("", err, ": tracing goes on");
	error_destroy(err);
	return first;
}

static struct error *write_files(struct outputs *outputs, const struct subject *subject,
				 struct error *first, bool is_final)
{
	for (size_t i = 0; i < OUTPUT_KIND_COUNT; i++) {
		if (is_due(outputs, i, is_final))
			first = note(outputs, i,
				     write_file(outputs, i, subject, is_final), is_final,
				     first);
	}
	return first;
}

struct error *outputs_write(struct outputs *outputs, const struct report *report,
			    struct error *err, bool is_final)
{
	const struct subject subject = subject_of(outputs, report);
	bool is_whole = true;

	err = note(outputs, OUTPUT_KIND_COUNT, err, is_final, NULL);
	err = write_files(outputs, &subject, err, is_final);
	for (size_t i = 0; i <= OUTPUT_KIND_COUNT; i++)
		is_whole &= !outputs->is_failing[i];
	outputs->unwritten += !is_whole && !is_final;
	return err;
}

bool outputs_say_unwritten(const struct outputs *outputs)
{
	if (outputs->unwritten)
		say_note("%" PRIu64 " %s without one of the outputs", outputs->unwritten,
			 outputs->unwritten == 1 ? "report is" : "reports are");
	return outputs->unwritten;
}

struct error *outputs_write_diff(struct outputs *outputs, const struct report_diff *diff)
{
	const struct subject subject = {.report = diff->new, .diff = diff};

	return write_files(outputs, &subject, NULL, true);
}

/* Is the name free? */
static bool is_free(const struct new_file *file)
{
	bool exists = true;
	struct error *err =
		new_file_check(file, false, &(const struct file_identity){0}, &exists);
	bool is_checked = !err;

	error_destroy(err);
	return is_checked && !exists;
}

struct error *outputs_write_free(struct outputs *outputs, enum output_kind kind,
				 const struct report *report, uint64_t most,
				 char **ret_path)
{
	const struct subject subject = subject_of(outputs, report);
	const struct snapshot *snap = report->snapshot;
	struct file_name_values values = {
		.pid = snap->processes.len ? snap->processes.data[0].pid : 0,
		.wall_ns = snap->wall_ns,
		.number = 1,
	};
	struct error *err = NULL;

	for (; !err && values.number <= most; values.number++) {
		_cleanup_(new_file_deinit) struct new_file file = NEW_FILE_NONE;
		_cleanup_(freep) char *path = NULL;

		err = file_name_expand(outputs->options->files[kind], &values, &path);
		if (!err)
			err = writer_open(outputs->writer, kind, &values, path, &file);
		if (err || !is_free(&file))
			continue;
		err = render(outputs->options, kind, &subject, file.stream);
		if (!err)
			err = new_file_give_name(&file, false, &outputs->own[kind]);
		if (!err)
			*ret_path = take(path);
		return err;
	}
	return err ? err
		   : error_create(ERROR_IO, "%s: %" PRIu64 " such files exist already",
				  outputs->options->files[kind], most);
}
