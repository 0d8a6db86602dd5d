// SPDX-License-Identifier: Apache-2.0
/* Forked processes with the same code form a family: they share their stacks and the
 * names of the stacks' frames. */
#include "tracees/tracees_private.h"

#include <string.h>

static bool is_in(const struct tracee *t, uint64_t family)
{
	vec_foreach (each, &t->families)
		if (*each == family)
			return true;
	return false;
}

static uint64_t family_now(const struct tracee *t)
{
	return t->families.len ? t->families.data[t->families.len - 1] : 0;
}

bool tracees_name_family(const struct tracees *ts, uint64_t family)
{
	vec_foreach (t, &ts->list)
		if ((*t)->frames && is_in(*t, family))
			return true;
	return false;
}

struct error *tracees_note_family(struct tracees *ts, struct tracee *t)
{
	uint64_t family;

	if (!t->is_traced || !trace_mode_can(&ts->options->trace, MODE_PROCESSES))
		return NULL;
	family = tracer_family(ts->tracer, t->slot);
	if (family == family_now(t))
		return NULL;
	if (t->families.len == TRACEE_FAMILIES) {
		memmove(t->families.data, t->families.data + 1,
			(TRACEE_FAMILIES - 1) * sizeof(*t->families.data));
		t->families.len--;
	}
	if (!vec_push(&t->families, family))
		return error_no_memory();
	return ts->list.len >= TRACEES_MANY || tracees_name_family(ts, family)
		       ? NULL
		       : tracee_try_symbols(t, ts->options, ts->reading.reader);
}

/* How well a process can name the frames of a family that it is or was in; more is
 * better. */
static uint32_t rank_in(const struct tracee *t, uint64_t family)
{
	bool can_be_read = !t->exited && t->proc;

	if (family == family_now(t))
		return t->frames ? 5 : can_be_read ? 4 : 1;
	return t->frames ? 3 : can_be_read ? 2 : 0;
}

struct error *tracees_choose_families(struct tracees *ts, struct families *ret)
{
	struct error *err = NULL;

	for (size_t i = 0; i < ts->list.len && !err; i++) {
		struct tracee *t = ts->list.data[i];

		err = tracees_note_family(ts, t);
		vec_foreach (family, &t->families)
			if (!err &&
			    !families_add(ret,
					  (struct family){*family, rank_in(t, *family),
							  (uint32_t)i}))
				err = error_no_memory();
	}
	if (!err)
		families_settle(ret);
	return err;
}

bool tracees_may_name(const struct families *families, const struct tracee *t, size_t i)
{
	vec_foreach (family, &t->families)
		if (families_process(families, *family) == i)
			return true;
	return !t->families.len;
}

struct error *tracees_pass_names(struct tracees *ts, struct tracee *from)
{
	uint64_t family = family_now(from);
	struct tracee *heir = NULL;

	if (!from->frames || !family)
		return NULL;
	vec_foreach (t, &ts->list) {
		if (*t == from || (*t)->reported || (*t)->dropped || !is_in(*t, family))
			continue;
		if ((*t)->frames && family_now(*t) == family)
			return NULL;
		if (!(*t)->frames && (!heir || (*t)->exited))
			heir = *t;
	}
	if (!heir)
		return NULL;
	if (!heir->exited) {
		struct error *err =
			tracee_try_symbols(heir, ts->options, ts->reading.reader);

		/* No frames: it has just exited, and memtrace has not noticed yet. */
		if (err || heir->frames)
			return err;
	}
	tracee_take_names(heir, from);
	return NULL;
}
