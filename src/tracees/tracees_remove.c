// SPDX-License-Identifier: Apache-2.0
/* Removes processes from the list, and frees their slots. */
#include <stdlib.h>

#include "tracees/tracees_private.h"
#include "util/cleanup.h"

bool *tracees_held_slots(const struct tracees *ts)
{
	bool *held = calloc(tracer_slot_count(ts->tracer), sizeof(*held));

	if (held)
		vec_foreach (t, &ts->list)
			if ((*t)->is_traced)
				held[(*t)->slot] = true;
	return held;
}

struct error *tracees_remove_orphans(struct tracees *ts)
{
	_cleanup_(freep) bool *held = NULL;
	VEC(uint32_t) orphans = {0};
	struct error *err = NULL;
	uint32_t cursor = 0, slot;

	while (!err && tracer_next_retired(ts->tracer, &cursor, &slot)) {
		if (!held)
			held = tracees_held_slots(ts);
		if (!held || (!held[slot] && !vec_push(&orphans, slot)))
			err = error_no_memory();
	}
	if (!err && orphans.len)
		err = tracer_remove(ts->tracer, orphans.data, orphans.len, NULL);
	vec_deinit(&orphans);
	return err;
}

struct error *tracees_sweep(struct tracees *ts)
{
	struct error *err = NULL;
	size_t kept = 0;

	vec_foreach (t, &ts->list)
		if ((*t)->dropped && !err)
			err = tracees_pass_names(ts, *t);

	vec_foreach (t, &ts->list) {
		if ((*t)->dropped)
			tracee_destroy(*t);
		else
			ts->list.data[kept++] = *t;
	}
	ts->list.len = kept;
	return err;
}

/* Is it kept only for the next report? Processes that the user asked for are always
 * shown. */
static bool waits_for_report(const struct tracee *t)
{
	return t->exited && !t->asked_for && !t->dropped;
}

/* At most this many exited processes are kept for the next report. The other three
 * quarters of the slots are for running processes. */
static size_t exited_max(const struct tracees *ts)
{
	return tracer_slot_count(ts->tracer) / 4;
}

struct error *tracees_drop_exited(struct tracees *ts)
{
	_cleanup_(freep) uint32_t *slots = NULL;
	size_t exited = 0, count = 0, too_many;

	vec_foreach (t, &ts->list)
		exited += waits_for_report(*t);
	if (exited <= exited_max(ts))
		return NULL;
	too_many = exited - exited_max(ts) / 2;
	slots = calloc(too_many, sizeof(*slots));
	if (!slots)
		return error_no_memory();
	for (size_t i = 0; i < ts->list.len && too_many; i++) {
		struct tracee *t = ts->list.data[i];

		if (!waits_for_report(t))
			continue;
		if (t->is_traced)
			slots[count++] = t->slot;
		t->dropped = true;
		too_many--;
	}
	return error_first(tracees_sweep(ts),
			   tracer_remove(ts->tracer, slots, count, &ts->unshown));
}
