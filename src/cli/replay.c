// SPDX-License-Identifier: Apache-2.0
#include "cli/replay.h"

#include <unistd.h>

#include "output/offline.h"
#include "output/outputs.h"
#include "output/snapshot_file.h"
#include "output/stripped_note.h"
#include "render/table/renderers.h"
#include "report/recorded.h"
#include "report/view.h"
#include "screen/screen.h"
#include "snapshot/merge.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct debug_store *, debug_store_destroy);
DEFINE_CLEANUP(struct report *, report_destroy);
DEFINE_CLEANUP(struct report_history *, report_history_destroy);
DEFINE_CLEANUP(struct snapshot_merge *, snapshot_merge_destroy);

static struct error *write_report(const struct report_setup *setup, struct output *output,
				  const struct report *shown)
{
	struct error *err = renderer_find(setup->format)->render(shown, output->file);

	return err ? err : output_flush(output);
}

/* Group as --group-by says. With --save the original snapshot is kept, to be saved
 * again. `ret` depends on *ret_merge (NULL: no merge), which the caller destroys. */
static struct error *make_snapshot(const struct options *options, struct snapshot *snap,
				   struct snapshot_merge **ret_merge,
				   struct snapshot_made *ret)
{
	bool keep = options->files[OUTPUT_SAVE];
	bool ok;

	if (options->group_by == REPORT_GROUP_PROCESS)
		return snapshot_split(snap, keep, ret) ? NULL : error_no_memory();
	*ret_merge = snapshot_merge_create();
	ok = *ret_merge && snapshot_merge(*ret_merge, snap, keep, ret);
	return ok ? NULL : error_no_memory();
}

/* With --save and --debug-dir: save the names and lines that were found, too. */
static struct error *rename_saved(const struct options *options,
				  const struct snapshot_file *file,
				  struct snapshot *renamed, struct outputs *outputs)
{
	if (!options->files[OUTPUT_SAVE] || !options->debug_dirs.values[0])
		return NULL;
	outputs->saved = renamed;
	return report_rename(file->snap, file->frames, renamed);
}

static struct error *replay(const struct options *options,
			    const struct report_setup *setup, struct output *output)
{
	_cleanup_(debug_store_destroyp) struct debug_store *store = NULL;
	_cleanup_(snapshot_file_deinit) struct snapshot_file file = {.snap = NULL};
	_cleanup_(snapshot_merge_destroyp) struct snapshot_merge *merge = NULL;
	_cleanup_(snapshot_made_deinit) struct snapshot_made made = {.snap = NULL};
	_cleanup_(report_history_destroyp) struct report_history *history = NULL;
	_cleanup_(report_destroyp) struct report *report = NULL;
	/* A path of the snapshot says nothing about this machine's packages. */
	const struct stripped_note stored = {.is_stored = true};
	_cleanup_(report_renamed_deinit) struct snapshot renamed = {.wall_ns = 0};
	struct report_options shown_options = setup->options, all;
	struct outputs outputs;
	struct report shown;
	struct error *err = snapshot_file_open("--replay", options->replay, &file);

	if (!err)
		err = offline_debug_store(options, &store);
	if (!err)
		err = offline_shed();
	if (!err)
		err = snapshot_file_load(&file, !options->no_lines, store);
	if (!err)
		err = outputs_init(&outputs, options, output->writer);
	if (!err)
		err = rename_saved(options, &file, &renamed, &outputs);
	if (!err)
		err = make_snapshot(options, file.snap, &merge, &made);
	if (!err)
		err = report_recorded_history(made.snap, &history);
	if (err)
		return err;
	/* The snapshot has no ages, so do not show any. */
	if (file.snap->ages_unknown) {
		shown_options.combined_only = true;
		shown_options.show_blocks = false;
		shown_options.older_ns = 0;
	}
	all = outputs_report_options(&outputs, &shown_options, true);
	err = report_build(made.snap, history, file.frames, &all,
			   report_recorded_cause(file.snap), &report);
	if (!err)
		err = report_view(report, &shown_options, &shown);
	if (!err && !options->quiet)
		stripped_note_say(&stored, &shown);
	if (!err)
		err = write_report(setup, output, &shown);
	/* If one output fails, the others are still written. */
	return report ? outputs_write(&outputs, report, err, true) : err;
}

/* With --live the user looks around first. */
static struct error *look_around(const struct options *options, bool *ret)
{
	_cleanup_(report_setup_deinit) struct report_setup setup;
	struct error *err = report_setup_init(options, isatty(STDOUT_FILENO), &setup);

	return err ? err : screen_replay(options, &setup, ret);
}

struct error *replay_run(const struct options *options)
{
	bool prints = true;
	struct error *err = options->live ? look_around(options, &prints) : NULL;

	return err || !prints ? err : offline_run(options, replay);
}
