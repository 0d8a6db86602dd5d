// SPDX-License-Identifier: Apache-2.0
/* Removes probes from files that processes have unloaded. */
#include "tracees/tracees_private.h"

/*
 * This many files keep their probes after the last process has unmapped them. A program
 * that loads the same libraries or executes the same programs repeatedly then finds the
 * probes in place.
 */
#define UNMAPPED_MAX 16

static struct probed_file *find(const struct tracees *ts, int pid, uint64_t number)
{
	vec_foreach (file, &ts->probed)
		if (file->number == number && file->pid == pid)
			return file;
	return NULL;
}

static int pid_of(const struct tracees *ts, const struct tracee *t)
{
	return ts->scope == SCOPE_PROCESSES ? t->pid : 0;
}

static void set_number(struct tracee *t, const struct plan_object *object,
		       uint64_t number)
{
	vec_foreach (file, &t->files)
		if (file->range.start == object->allocator.text_start)
			file->number = number;
}

struct error *tracees_note_files(struct tracees *ts, struct tracee *t,
				 const struct plan *plan)
{
	vec_foreach (object, &plan->objects) {
		uint64_t number = tracer_file(ts->tracer, object->allocator.file);
		const struct probed_file file = {pid_of(ts, t), number, 0};

		set_number(t, object, number);
		if (number && !find(ts, file.pid, number) && !vec_push(&ts->probed, file))
			return error_no_memory();
	}
	return NULL;
}

/* Are the mapped files of all processes known? Not while a process waits for a plan. */
static bool is_known(const struct tracees *ts)
{
	vec_foreach (t, &ts->list)
		if (!(*t)->exited && (*t)->wants_plan)
			return false;
	return true;
}

/* Update unused_since of all files. Returns how many are not mapped. */
static size_t look_for_unused(struct tracees *ts)
{
	size_t unused = 0;

	ts->releases++;
	vec_foreach (file, &ts->probed)
		if (!file->unused_since)
			file->unused_since = ts->releases;
	vec_foreach (t, &ts->list) {
		if ((*t)->exited)
			continue;
		vec_foreach (mapped, &(*t)->files) {
			struct probed_file *file =
				find(ts, pid_of(ts, *t), mapped->number);

			if (file)
				file->unused_since = 0;
		}
	}
	vec_foreach (file, &ts->probed)
		unused += file->unused_since != 0;
	return unused;
}

/* The file that has been unmapped for the longest time. There must be one. */
static struct probed_file *find_oldest(const struct tracees *ts)
{
	struct probed_file *oldest = NULL;

	vec_foreach (file, &ts->probed)
		if (file->unused_since &&
		    (!oldest || file->unused_since < oldest->unused_since))
			oldest = file;
	return oldest;
}

struct error *tracees_release_files(struct tracees *ts)
{
	struct error *err = NULL;
	size_t unused;

	if (!ts->may_release || ts->probed.len <= UNMAPPED_MAX || !is_known(ts))
		return NULL;
	ts->may_release = false;
	for (unused = look_for_unused(ts); unused > UNMAPPED_MAX && !err; unused--) {
		struct probed_file *file = find_oldest(ts);

		err = tracer_detach_file(ts->tracer, file->pid, file->number);
		*file = ts->probed.data[--ts->probed.len];
	}
	return err;
}
