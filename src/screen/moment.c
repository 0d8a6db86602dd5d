// SPDX-License-Identifier: Apache-2.0
#include "screen/moment.h"

#include <stdlib.h>
#include <string.h>

#include "frames/own_code.h"
#include "report/recorded.h"
#include "report/view.h"
#include "screen/moment_known.h"
#include "screen/moment_steps.h"
#include "util/cleanup.h"
#include "util/mix.h"
#include "util/text_hash.h"

static uint64_t hash_text(uint64_t hash, const char *text)
{
	return mix(text_hash_more(hash, text ? text : ""), text != NULL);
}

/* Addresses differ from run to run, and with merged processes also in one run. */
static uint64_t frame_key(const struct report_frame *frame)
{
	uint64_t hash = hash_text(TEXT_HASH_BEGIN, frame->symbol);

	if (frame->is_gap)
		return hash;
	hash = hash_text(hash, frame->module);
	if (!frame->symbol && !frame->module)
		return mix(hash, frame->address);
	if (frame->inlined)
		return mix(mix(hash, frame->line), frame->column);
	return mix(hash, frame->offset);
}

static uint64_t path_key(struct moment *moment, const struct report_row *row)
{
	uint64_t hash = mix(row->depth, row->end);

	if (moment->report->options.group_by_process && row->process)
		hash = mix(hash, (uint64_t)row->process->pid);
	for (size_t i = 0; i < row->depth; i++) {
		uint64_t *key = &moment->frame_keys[row->frames[i]->index];

		/* 0: not made yet. */
		if (!*key)
			*key = frame_key(row->frames[i]) | 1;
		hash = mix(hash, *key);
	}
	return hash;
}

static bool add_paths(struct moment *moment, size_t index)
{
	struct moment_section *to = &moment->sections[index];
	const struct report_section *section = &moment->report->sections[index];
	size_t stacks = moment->report->snapshot->stacks.len;

	to->section = section;
	to->causes = &moment->judgement.causes[index];
	to->by_stack = malloc((stacks + 1) * sizeof(*to->by_stack));
	if (!to->by_stack || !vec_reserve(&to->paths, section->row_count))
		return false;
	memset(to->by_stack, 0xff, (stacks + 1) * sizeof(*to->by_stack));
	for (size_t i = 0; i < section->row_count; i++) {
		const struct report_row *row = &section->rows[i];
		const struct moment_path *known = known_path(moment->base, index, row);
		struct moment_path path = {
			.row = row, .key = known ? known->key : path_key(moment, row)};

		moment->fresh_count += !known;
		moment->path_count++;
		if (!vec_push(&to->paths, path))
			return false;
		to->by_stack[row->stack < stacks ? row->stack : stacks] = (uint32_t)i;
	}
	return true;
}

uint32_t moment_path_of(const struct moment *moment, size_t section,
			const struct report_row *row)
{
	size_t stacks = moment->report->snapshot->stacks.len;

	return moment->sections[section]
		.by_stack[row->stack < stacks ? row->stack : stacks];
}

static struct error *group_snapshot(struct moment *moment, bool is_split)
{
	struct snapshot *snap = moment->file.snap;
	bool ok;

	/* The snapshot is kept whole, to be saved by the key "w". */
	if (is_split)
		return snapshot_split(snap, true, &moment->made) ? NULL
								 : error_no_memory();
	moment->merge = snapshot_merge_create();
	ok = moment->merge && snapshot_merge(moment->merge, snap, true, &moment->made);
	return ok ? NULL : error_no_memory();
}

/* Use the frames of the base, if their names are still the same. */
static bool find_known(struct moment *moment, const struct moment_options *options,
		       struct known *ret)
{
	struct moment *base = options->base;

	*ret = (struct known){.stacks = NULL};
	if (!base || options->is_split || options->report->filter ||
	    !known_is_valid(base, moment))
		return true;
	moment->base = moment_keep(base);
	return known_init(ret, base, moment);
}

/* The causes of the base, if it has the same sections. */
static const struct judgement *known_causes(const struct moment *moment)
{
	const struct moment *base = moment->base;
	bool is_same = base && base->section_count == moment->report->section_count;

	for (size_t i = 0; is_same && i < base->section_count; i++)
		is_same = base->report->sections[i].class ==
			  moment->report->sections[i].class;
	return is_same ? &base->judgement : NULL;
}

static struct error *build(struct moment *moment, const struct moment_options *options,
			   const struct known *known)
{
	struct report_options wanted = *options->report;
	struct snapshot *snap;
	struct error *err = report_recorded_history(moment->made.snap, &moment->history);

	if (err)
		return err;
	snap = moment->made.snap;
	wanted.top = 0;
	wanted.past = true;
	wanted.sums_only = true;
	wanted.group_by_process = options->is_split;
	wanted.known = moment->base ? &known->report : NULL;
	if (moment->file.snap->ages_unknown) {
		wanted.combined_only = true;
		wanted.older_ns = 0;
	}
	err = report_build(snap, moment->history, moment->file.frames, &wanted,
			   report_recorded_cause(moment->file.snap), &moment->report);
	if (err)
		return err;
	/* It is gone after this function. */
	moment->report->options.known = wanted.known = NULL;
	wanted.past = false;
	err = report_view(moment->report, &wanted, &moment->held);
	if (!err)
		err = judgement_init(&moment->judgement, &moment->held,
				     known_causes(moment));
	return err;
}

struct error *moment_create(struct snapshot_file *file,
			    const struct moment_options *options, struct moment **ret)
{
	_cleanup_(known_deinit) struct known known = {.stacks = NULL};
	struct moment *moment = calloc(1, sizeof(*moment));
	struct error *err;

	*ret = NULL;
	if (!moment) {
		snapshot_file_deinit(file);
		return error_no_memory();
	}
	moment->file = *file;
	*file = (struct snapshot_file){.snap = NULL};
	moment->uses = 1;
	err = snapshot_file_load(&moment->file, options->with_lines, options->store);
	if (!err)
		err = group_snapshot(moment, options->is_split);
	if (!err && !find_known(moment, options, &known))
		err = error_no_memory();
	if (!err)
		err = build(moment, options, &known);
	if (!err) {
		moment->frame_keys = calloc(moment->report->frame_count + 1,
					    sizeof(*moment->frame_keys));
		moment->section_count = moment->report->section_count;
		if (!moment->frame_keys)
			err = error_no_memory();
	}
	for (size_t i = 0; !err && i < moment->section_count; i++)
		if (!add_paths(moment, i))
			err = error_no_memory();
	if (!err && moment->base)
		moment->is_apart = known_is_little(
			&known, moment->report, moment->fresh_count, moment->path_count);
	if (!err && options->with_steps && !moment_take_steps(moment))
		err = error_no_memory();
	if (err)
		moment_destroy(moment);
	else
		*ret = moment;
	return err;
}

struct moment *moment_keep(struct moment *moment)
{
	__atomic_add_fetch(&moment->uses, 1, __ATOMIC_RELAXED);
	return moment;
}

void moment_release(struct moment *moment)
{
	if (!moment || __atomic_sub_fetch(&moment->uses, 1, __ATOMIC_ACQ_REL))
		return;
	for (size_t i = 0; i < BLOCK_CLASS_COUNT; i++) {
		free(moment->sections[i].by_stack);
		vec_deinit(&moment->sections[i].paths);
		vec_deinit(&moment->sections[i].steps);
	}
	if (moment->has_groups)
		groups_deinit(&moment->groups);
	shared_steps_destroy(moment->shared_steps);
	free(moment->frame_keys);
	judgement_deinit(&moment->judgement);
	report_destroy(moment->report);
	report_history_destroy(moment->history);
	snapshot_made_deinit(&moment->made);
	snapshot_merge_destroy(moment->merge);
	snapshot_file_deinit(&moment->file);
	moment_release(moment->base);
	free(moment);
}

/* A base needs names, stacks and causes only. */
void moment_destroy(struct moment *moment)
{
	struct snapshot *snap = moment ? moment->file.snap : NULL;

	/* A merged snapshot points to data of the snapshot of the file. */
	if (snap && moment->made.snap == snap) {
		for (size_t i = 0; i < BLOCK_CLASS_COUNT; i++)
			vec_deinit(&snap->blocks[i]);
		vec_deinit(&snap->traffic);
		vec_deinit(&snap->lifetimes);
		vec_deinit(&snap->path_sizes);
	}
	moment_release(moment);
}

uint64_t moment_group_key(const struct moment *moment, uint32_t index)
{
	const struct group *group = &moment->groups.list.data[index];
	uint64_t hash = mix(TEXT_HASH_BEGIN, group->kind);

	if (group->kind == GROUP_END)
		return mix(hash, group->row->end);
	hash = hash_text(hash, group_name(&moment->groups, group));
	return hash_text(hash, group_module(&moment->groups, group));
}

size_t moment_leaf(const struct report_row *row)
{
	const char *executable = row->frames_of ? row->frames_of->executable : NULL;
	_cleanup_(strbuf_deinit) struct strbuf scratch = {0};
	size_t last = row->depth;

	for (size_t i = 0; i < row->depth; i++) {
		if (!report_row_shows(row, i))
			continue;
		last = i;
		if (code_origin_of(row->frames[i], executable, &scratch).kind !=
		    CODE_ALLOCATOR)
			break;
	}
	return last;
}
