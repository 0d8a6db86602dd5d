// SPDX-License-Identifier: Apache-2.0
#include "cli/diff.h"

#include "output/offline.h"
#include "output/outputs.h"
#include "output/snapshot_file.h"
#include "render/class_words.h"
#include "render/table/diff_renderers.h"
#include "util/cleanup.h"
#include "util/escape.h"
#include "util/say_note.h"

DEFINE_CLEANUP(struct debug_store *, debug_store_destroy);
DEFINE_CLEANUP(struct report_history *, report_history_destroy);
DEFINE_CLEANUP(struct report_diff *, report_diff_destroy);

/* One of the two snapshots that are compared. */
struct side {
	struct snapshot_file file;
	struct report *report;
};

static void side_deinit(struct side *side)
{
	report_destroy(side->report);
	snapshot_file_deinit(&side->file);
}

static struct error *build(struct side *side, const struct report_options *options)
{
	_cleanup_(report_history_destroyp) struct report_history *history =
		report_history_create();

	if (!history)
		return error_no_memory();
	return report_build(side->file.snap, history, side->file.frames, options,
			    REPORT_STOPPED, &side->report);
}

static struct error *write_text(const struct options *options, struct output *output,
				const struct report_diff *diff)
{
	struct report_diff shown = *diff;
	struct error *err;

	/* Only the text report is limited to --top; files have all rows. */
	for (size_t i = 0; options->top && i < shown.section_count; i++) {
		if (shown.sections[i].row_count > options->top)
			shown.sections[i].row_count = options->top;
	}
	err = diff_renderer_find(options->format)->render(&shown, output->file);
	return err ? err : output_flush(output);
}

/* Both snapshots must have the same main class. The other classes may be in one of them
 * only: mappings, or the kernel with --with-kernel. */
static struct error *check_classes(const struct snapshot *old, const struct snapshot *new)
{
	if (snapshot_main_class(old) == snapshot_main_class(new))
		return NULL;
	return error_create(ERROR_USAGE,
			    "--diff: the first snapshot shows %s, the second %s: compare "
			    "two of the same kind",
			    class_words_main(old)->name, class_words_main(new)->name);
}

/* Files in the wrong order turn growth into shrinkage. */
static void note_order(const struct options *options, const struct snapshot *old,
		       const struct snapshot *new)
{
	_cleanup_(freep) char *first = escape_dup(options->diff_old);
	_cleanup_(freep) char *second = escape_dup(options->diff_new);

	if (options->quiet || old->wall_ns <= new->wall_ns || !first || !second)
		return;
	say_note("--diff: %s was saved after %s: name the older file first to see what "
		 "has grown",
		 first, second);
}

static struct error *compare(const struct options *options,
			     const struct report_setup *setup, struct output *output)
{
	_cleanup_(debug_store_destroyp) struct debug_store *store = NULL;
	_cleanup_(side_deinit) struct side old = {.report = NULL}, new = {.report = NULL};
	_cleanup_(report_diff_destroyp) struct report_diff *diff = NULL;
	struct report_options report_options = setup->options;
	struct report_options diff_options = setup->options;
	struct outputs outputs;
	struct error *err = outputs_init(&outputs, options, output->writer);

	if (!err)
		err = snapshot_file_open("--diff", options->diff_old, &old.file);
	if (!err)
		err = snapshot_file_open("--diff", options->diff_new, &new.file);
	if (!err)
		err = offline_debug_store(options, &store);
	if (!err)
		err = offline_shed();
	if (!err)
		err = snapshot_file_load(&old.file, !options->no_lines, store);
	if (!err)
		err = snapshot_file_load(&new.file, !options->no_lines, store);
	if (err)
		return err;
	note_order(options, old.file.snap, new.file.snap);
	report_options.top = diff_options.top = 0;
	/* A diff matches stacks by command and function names, so rows are not merged. */
	report_options.group_by_process = diff_options.group_by_process = true;
	/* Rows are skipped by the sizes of both sides together, not of one. */
	report_options.skip_bytes = report_options.skip_count = 0;
	if (old.file.snap->ages_unknown || new.file.snap->ages_unknown) {
		report_options.combined_only = diff_options.combined_only = true;
		report_options.older_ns = diff_options.older_ns = 0;
	}
	err = build(&old, &report_options);
	if (!err)
		err = build(&new, &report_options);
	if (!err)
		err = check_classes(old.file.snap, new.file.snap);
	if (!err)
		err = report_diff_create(old.report, new.report, &diff_options, &diff);
	if (err)
		return err;
	err = write_text(options, output, diff);
	/* If one output fails, the others are still written. */
	return error_first(err, outputs_write_diff(&outputs, diff));
}

struct error *diff_run(const struct options *options)
{
	return offline_run(options, compare);
}
