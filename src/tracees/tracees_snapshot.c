// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "tracees/tracees_private.h"
#include "code/other_code.h"
#include "util/cleanup.h"

/* May the process have code or names that the kernel has not reported? Reading the
 * mappings of thousands of processes takes seconds, so many processes are not suspect.
 * Nor is one without a new stack, unless a compiler in the process may have given another
 * function the address of an older one. */
static bool is_suspect(const struct tracees *ts, const struct tracee *t)
{
	if (!ts->watch)
		return true;
	if (tracer_is_quiet(ts->tracer))
		return false;
	return t->has_loaded ||
	       (ts->list.len <= TRACEES_MANY &&
		(tracer_has_new_stacks(ts->tracer) || tracee_may_compile(t)));
}

struct error *tracees_snapshot(struct tracees *ts, struct snapshot *snap)
{
	_cleanup_(families_deinit) struct families families = {0};
	_cleanup_(freep) uint32_t *slots = calloc(ts->list.len + 1, sizeof(*slots));
	struct error *err = NULL;

	if (!slots)
		return error_no_memory();
	for (size_t i = 0; i < ts->list.len; i++) {
		const struct tracee *t = ts->list.data[i];
		struct snapshot_process *process = snapshot_add_process(snap, t->pid);

		if (!process)
			return error_no_memory();
		process->exited = t->exited;
		slots[i] = t->is_traced ? t->slot : UINT32_MAX;
		process->since_ns =
			t->is_traced ? tracer_slot_since_ns(ts->tracer, t->slot) : 0;
	}
	if (!ts->is_cut_off)
		err = tracees_remove_orphans(ts);
	if (!err)
		err = tracees_choose_families(ts, &families);
	if (!err)
		err = tracer_snapshot(ts->tracer, slots, &families, snap);
	if (!err && !ts->is_cut_off)
		err = tracees_recall(ts, &families);
	snap->losses[LOSS_PROCESSES_DROPPED] += ts->unshown;
	snap->losses[LOSS_PROCESSES_FULL] += ts->left_out;
	snap->losses[LOSS_FILES_UNTRACED] += ts->untraced.count;
	/* After the blocks, because a library that was loaded meanwhile may be on their
	 * stacks. */
	for (size_t i = 0; i < ts->list.len && !err; i++) {
		struct tracee *t = ts->list.data[i];

		t->maps_changed |= is_suspect(ts, t);
		if (tracees_may_name(&families, t, i))
			err = tracee_try_symbols(t, ts->options, ts->reading.reader);
		if (!err && !ts->is_cut_off)
			err = tracees_refresh(ts, t);
		if (!err)
			err = tracee_describe(t, &snap->processes.data[i]);
		t->reported = t->exited;
		/* The kernel does not report when it unmaps files. */
		t->wants_plan |= t->has_loaded && tracee_has_other_code(t);
	}
	/* After the loop, which may have counted some. */
	snap->losses[LOSS_MAPPINGS_UNREAD] += ts->unread_maps;
	snap->losses[LOSS_PROCESSES_UNCHECKED] +=
		ts->others ? other_code_unread(ts->others) : 0;
	return err;
}

/* For each process of the snapshot its slot now; for one that is gone, a number that no
 * block has. */
static uint32_t *slots_now(const struct tracees *ts, const struct snapshot *snap)
{
	uint32_t *slots = calloc(snap->processes.len + 1, sizeof(*slots));

	for (size_t i = 0; slots && i < snap->processes.len; i++) {
		int pid = snap->processes.data[i].pid;
		/* Usually the list has not changed since. */
		const struct tracee *t = i < ts->list.len && ts->list.data[i]->pid == pid
						 ? ts->list.data[i]
						 : tracees_find(ts, pid);

		/* After an exec the blocks of the old program stay in the table for a
		 * moment. */
		slots[i] = t && t->is_traced && !tracer_is_retired(ts->tracer, t->slot)
				   ? t->slot
				   : UINT32_MAX;
	}
	return slots;
}

struct error *tracees_find_same(const struct tracees *ts, const struct snapshot *snap,
				const uint32_t numbers[], size_t count, bool is_there[])
{
	_cleanup_(freep) uint32_t *slots = slots_now(ts, snap);

	return slots ? tracer_find_same(ts->tracer, slots, snap, numbers, count, is_there)
		     : error_no_memory();
}

bool tracees_cut_off(struct tracees *ts, bool are_named)
{
	ts->is_cut_off = true;
	if (ts->reading.reader)
		reader_cut_off(ts->reading.reader, are_named);
	return tracer_cut_off(ts->tracer);
}

struct error *tracees_reported(struct tracees *ts)
{
	_cleanup_(freep) uint32_t *slots = calloc(ts->list.len + 1, sizeof(*slots));
	size_t count = 0, kept = 0;
	struct error *err = NULL;

	if (!slots)
		return error_no_memory();
	vec_foreach (t, &ts->list)
		if ((*t)->reported && !err)
			err = tracees_pass_names(ts, *t);
	for (size_t i = 0; i < ts->list.len; i++) {
		struct tracee *t = ts->list.data[i];

		if (!t->reported) {
			ts->list.data[kept++] = t;
			continue;
		}
		if (t->is_traced)
			slots[count++] = t->slot;
		tracee_destroy(t);
	}
	ts->list.len = kept;
	return err || !count ? err : tracer_remove(ts->tracer, slots, count, NULL);
}
