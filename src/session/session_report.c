// SPDX-License-Identifier: Apache-2.0
#include "session/session_private.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "output/stripped_note.h"
#include "tracees/runtimes.h"
#include "report/name_book.h"
#include "report/recorded.h"
#include "report/view.h"
#include "util/cleanup.h"
#include "util/clock.h"

DEFINE_CLEANUP(struct snapshot *, snapshot_destroy);
DEFINE_CLEANUP(struct report *, report_destroy);

static struct error *add_kernel(struct session *s, struct snapshot *snap)
{
	_cleanup_(snapshot_destroyp) struct snapshot *kernel = snapshot_create();
	struct error *err = kernel ? tracer_snapshot(s->kernel_tracer, NULL, NULL, kernel)
				   : error_no_memory();

	if (!err && !snapshot_join(&s->join, snap, kernel))
		err = error_no_memory();
	return err;
}

static struct error *take_snapshot(struct session *s, bool sums_only,
				   struct snapshot **ret)
{
	_cleanup_(snapshot_destroyp) struct snapshot *snap = snapshot_create();
	struct timespec now;
	struct error *err;

	if (!snap)
		return error_no_memory();
	snap->sums_only = sums_only;
	snap->wants_moving = s->search;
	clock_gettime(CLOCK_REALTIME, &now);
	snap->wall_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	if (s->options->library && s->tracees.scope == SCOPE_ALL) {
		snap->library = strdup(s->options->library);
		if (!snap->library)
			return error_no_memory();
	}
	snap->launched = s->options->command;
	snap->ages_unknown =
		s->options->trace.combined_only && !s->options->trace.traffic;
	err = tracees_snapshot(&s->tracees, snap);
	if (!err && s->kernel_tracer)
		err = add_kernel(s, snap);
	if (!err)
		*ret = take(snap);
	return err;
}

/* Does the saved or served snapshot differ from the reported one? Not with one process,
 * because then there is nothing to merge. */
static bool saves_apart(const struct session *s)
{
	return (s->options->files[OUTPUT_SAVE] || s->serve || s->screen) &&
	       s->options->group_by != REPORT_GROUP_PROCESS && !session_traces_one(s);
}

/* Group the snapshot as --group-by says, and add the trends of its call paths. The
 * snapshot to be saved stays ungrouped, with its own trends. */
static struct error *make_snapshot(struct session *s, struct snapshot *snap,
				   struct snapshot_made *ret)
{
	bool keeps = s->options->files[OUTPUT_SAVE] || s->screen;
	struct error *err = NULL;

	if (s->options->group_by == REPORT_GROUP_PROCESS) {
		err = timeline_add(s->timeline, snap);
		if (!err && !snapshot_split(snap, keeps, ret))
			err = error_no_memory();
		return err;
	}
	if (!snapshot_merge(s->merge, snap, saves_apart(s), ret))
		return error_no_memory();
	err = timeline_add(s->timeline, ret->snap);
	return err || !saves_apart(s) ? err : timeline_add(s->saved_timeline, snap);
}

/* Record what the next saved snapshot must know about this one. */
static struct error *remember_saved(struct session *s, const struct snapshot *snap,
				    const struct report_options *options)
{
	_cleanup_(freep) struct frame_cache **none =
		calloc(snap->processes.len + 1, sizeof(*none));
	const struct report_options sums_only = {
		.top = 1,
		.older_ns = options->older_ns,
		.combined_only = options->combined_only,
		.group_by_process = true,
	};
	struct report *report = NULL;
	struct error *err;

	if (!none)
		return error_no_memory();
	err = report_build(snap, s->saved_history, none, &sums_only, REPORT_INTERVAL,
			   &report);
	report_destroy(report);
	return err;
}

/* The frame caches of the processes, for a snapshot of them; owned, with a last NULL. */
static struct frame_cache **frames_of(const struct session *s)
{
	size_t count = s->tracees.list.len;
	struct frame_cache **frames = calloc(count + 1, sizeof(*frames));

	for (size_t i = 0; frames && i < count; i++)
		frames[i] = s->tracees.list.data[i]->frames;
	return frames;
}

/* Add the names of frames. Screens and clients ask again and again, so the names for them
 * are kept. */
static struct error *record_kept_names(struct session *s, struct snapshot *snap,
				       struct frame_cache *const frames[])
{
	if (!s->names)
		s->names = name_book_create();
	return s->names ? report_record_kept_names(snap, frames, s->names)
			: error_no_memory();
}

/* With `is_saved`, add to the snapshot what --save and --replay need. */
static struct error *build_report(struct session *s, struct snapshot *snap,
				  struct snapshot_made *made,
				  const struct report_options *options,
				  enum report_cause cause, bool is_saved,
				  struct report **ret)
{
	_cleanup_(freep) struct frame_cache **frames = frames_of(s);
	struct error *err = NULL;

	if (!frames)
		return error_no_memory();
	trim_note(&s->trim, snap);
	err = make_snapshot(s, snap, made);
	if (!err && is_saved)
		err = report_record_before(
			snap, saves_apart(s) ? s->saved_history : s->history, cause);
	if (!err && is_saved)
		err = s->screen ? record_kept_names(s, snap, frames)
				: report_record_names(snap, frames, progress_show,
						      &s->progress);
	if (!err && saves_apart(s))
		err = remember_saved(s, snap, options);
	return err ? err
		   : report_build(made->snap, s->history, frames, options, cause, ret);
}

static struct error *write_report(struct session *s, const struct report *shown)
{
	struct error *err = s->renderer->render(shown, s->output.file);

	return err ? err : output_flush(&s->output);
}

/* Has the reader of the reports closed the pipe, and is nothing else written? */
static bool is_unread(const struct session *s, const struct error *err)
{
	return err->saved_errno == EPIPE && !s->output.path &&
	       !outputs_are_wanted(&s->outputs);
}

/* Is a search for unreachable blocks due? Not after the exit of all processes. */
static bool is_search_due(const struct session *s, enum report_cause cause)
{
	uint64_t every = s->options->unreachable_every;

	if (!s->search || cause == REPORT_EXITED)
		return false;
	return cause != REPORT_INTERVAL || (every && s->intervals % every == 0);
}

static void freeze(struct session *s)
{
	tracer_freeze(s->tracer);
	if (s->kernel_tracer)
		tracer_freeze(s->kernel_tracer);
}

static struct error *find_same(void *arg, const struct snapshot *snap,
			       const uint32_t numbers[], size_t count, bool is_there[])
{
	const struct session *s = arg;

	return tracees_find_same(&s->tracees, snap, numbers, count, is_there);
}

/* While processes are stopped: verify what may be lost. *ret is the snapshot of this
 * moment, if the search needs it. */
static struct error *verify(struct session *s, const struct snapshot *before,
			    struct snapshot **ret)
{
	struct error *err = reach_search_recheck(s->search, before, find_same, s);

	if (!err && reach_search_wants_all(s->search))
		err = take_snapshot(s, false, ret);
	if (!err)
		return reach_search_verify(s->search, before, *ret);
	reach_search_give_up(s->search);
	return err;
}

/* Search for lost blocks. *ret is a snapshot taken at the stop, or right after it. */
static struct error *search(struct session *s, bool is_final, struct snapshot **ret)
{
	_cleanup_(snapshot_destroyp) struct snapshot *before = NULL;
	_cleanup_(snapshot_destroyp) struct snapshot *snap = NULL;
	struct error *err = take_snapshot(s, false, &before);

	if (!err)
		err = reach_search_look(s->search, before);
	if (err)
		return err;
	reach_search_stop(s->search);
	/* What is freed from now on has been unreachable when the process was stopped, or
	 * was not looked at. */
	if (is_final)
		freeze(s);
	err = verify(s, before, &snap);
	if (!err && !snap)
		err = take_snapshot(s, false, &snap);
	if (!err)
		*ret = take(snap);
	return err;
}

static struct error *look(struct session *s, enum report_cause cause,
			  struct snapshot **ret)
{
	bool is_final = report_cause_is_final(cause);
	struct error *err;

	if (is_search_due(s, cause)) {
		err = search(s, is_final, ret);
	} else {
		if (is_final)
			freeze(s);
		err = take_snapshot(s, false, ret);
	}
	return err || !s->search ? err : reach_search_tell(s->search, *ret);
}

/* Kept for the next report: getting pages back costs more than a small report. */
#define TRIM_PAD_BYTES (512u << 10)

void session_trim(struct session *s)
{
	if (trim_is_due(&s->trim, tracer_is_quiet(s->tracer), clock_now_ns()))
		malloc_trim(TRIM_PAD_BYTES);
}

struct error *session_report(struct session *s, enum report_cause cause)
{
	_cleanup_(snapshot_destroyp) struct snapshot *snap = NULL;
	_cleanup_(snapshot_made_deinit) struct snapshot_made made = {.snap = NULL};
	_cleanup_(report_destroyp) struct report *report = NULL;
	bool is_final = report_cause_is_final(cause);
	bool is_given = session_screen_wants(s);
	bool is_shown = is_given || (s->screen && cause == REPORT_EXITED);
	struct report_options options;
	struct report shown;
	struct error *err;

	report_setup_measure(&s->setup);
	reading_begin_report(&s->tracees.reading);
	options = outputs_report_options(&s->outputs, &s->setup.options, is_final);
	err = look(s, cause, &snap);
	if (!err)
		err = build_report(s, snap, &made, &options, cause,
				   is_shown || outputs_save_is_due(&s->outputs, is_final),
				   &report);
	if (!err && is_given)
		err = session_screen_give(s, report->snapshot);
	if (!err && is_final)
		err = session_screen_end(s, cause, is_given ? NULL : report->snapshot);
	if (!err)
		err = report_view(report, &s->setup.options, &shown);
	if (err)
		return err;
	progress_clear(&s->progress);
	if (cause == REPORT_STOPPED)
		progress_erase_echo(&s->progress);
	if (!s->options->quiet)
		reading_say_lost(&s->tracees.reading);
	if (s->options->verbose && is_final)
		session_say_walks(s);
	if (s->options->verbose && is_search_due(s, cause))
		session_say_pause(s);
	for (size_t i = 0; s->options->verbose && i < s->tracees.list.len; i++)
		reading_say_missing(s->tracees.list.data[i]->user);
	if (!s->options->quiet)
		runtime_say_jit(s->tracees.list.data, s->tracees.list.len, report);
	if (!s->options->quiet && !s->has_said_stripped)
		s->has_said_stripped = stripped_note_say(
			&(struct stripped_note){.is_of_here = tracees_have_our_root,
						.arg = &s->tracees},
			&shown);
	if (is_final)
		waiter_begin_last(&s->waiter);
	if (!s->options->prints_nothing && (is_final || !s->prints_final_only))
		err = write_report(s, &shown);
	if (err && !is_final && is_unread(s, err))
		return err;
	/* If one output fails, the others are still written. */
	err = outputs_write(&s->outputs, report, err, is_final);
	if (!err && !is_final && s->outputs.is_failing[OUTPUT_KIND_COUNT])
		err = output_discard(&s->output);
	if (!err && !is_final)
		err = tracees_reported(&s->tracees);
	if (!err && !is_final && (s->prints_final_only || s->output.path))
		progress_report(&s->progress, report, s->options->duration_ns);
	return err;
}

/* Sums have neither trends nor growth. */
static struct error *take_observation(struct session *s, bool has_blocks,
				      struct snapshot **ret)
{
	_cleanup_(snapshot_destroyp) struct snapshot *snap = NULL;
	_cleanup_(freep) struct frame_cache **frames = NULL;
	bool apart = saves_apart(s);
	struct error *err;

	reading_begin_observation(&s->tracees.reading);
	err = take_snapshot(s, !has_blocks, &snap);

	if (!err && has_blocks)
		err = timeline_show(apart ? s->saved_timeline : s->timeline, snap);
	if (!err && has_blocks)
		err = report_record_before(snap, apart ? s->saved_history : s->history,
					   REPORT_INTERVAL);
	if (!err && !(frames = frames_of(s)))
		err = error_no_memory();
	if (!err)
		err = record_kept_names(s, snap, frames);
	if (!err)
		*ret = take(snap);
	return err;
}

void session_observe(struct session *s)
{
	_cleanup_(snapshot_destroyp) struct snapshot *snap = NULL;
	uint64_t begun_ns = clock_now_ns();
	bool has_blocks;
	struct error *err;

	if (!serve_is_asked(s->serve, &has_blocks))
		return;
	err = take_observation(s, has_blocks, &snap);
	if (err)
		serve_refuse(s->serve, err->message);
	else
		serve_answer(s->serve, snap, has_blocks, clock_now_ns() - begun_ns);
	error_destroy(err);
	if (snap)
		trim_note(&s->trim, snap);
	snapshot_destroy(take(snap));
	session_trim(s);
}
