// SPDX-License-Identifier: Apache-2.0
#include "attach/attach_hold.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/attach_events.h"
#include "attach/attach_wide.h"
#include "bpf/link.h"
#include "process/live_thread.h"
#include "util/cleanup.h"

/* How many threads may end before their event is opened. Each try takes 0.1 s. */
#define TRIES_MAX 2

/* --- places ----------------------------------------------------------------------- */

static bool is_same_place(const struct attach_probe *a, const struct attach_probe *b)
{
	return a->offset == b->offset && !strcmp(a->path, b->path);
}

/* The index of the first probe in the same file as probes[i]. */
static size_t first_in_file(const struct attach_probe probes[], size_t i)
{
	size_t first = 0;

	while (strcmp(probes[first].path, probes[i].path) != 0)
		first++;
	return first;
}

struct error *attach_hold_note(struct attachment *self, int pid,
			       const struct attach_probe probes[], size_t count)
{
	size_t before = self->places.len;
	_cleanup_(freep) int *files = calloc(count, sizeof(*files));

	if (!files)
		return error_no_memory();
	for (size_t i = 0; i < count; i++) {
		size_t in_file = first_in_file(probes, i), same = 0;
		struct attached_place place = {.pid = pid,
					       .number = probes[i].file,
					       .offset = probes[i].offset,
					       .ref_ctr = probes[i].ref_ctr,
					       .is_private = probes[i].is_private,
					       .before = probes[i].before,
					       .hold = -1};

		while (same < i && !is_same_place(&probes[same], &probes[i]))
			same++;
		if (same < i)
			continue;
		place.owns_file = in_file == i;
		/* Open it now: the path may be invalid after its thread has exited. */
		files[i] = place.owns_file ? open(probes[i].path, O_PATH | O_CLOEXEC)
					   : files[in_file];
		place.file = files[i];
		if (vec_push(&self->places, place))
			continue;
		if (place.owns_file)
			closep(&place.file);
		attach_hold_remove_from(self, before);
		return error_no_memory();
	}
	return NULL;
}

void attach_hold_remove_from(struct attachment *self, size_t first)
{
	VEC(struct attached) holds = {0};

	for (size_t i = first; i < self->places.len; i++) {
		struct attached_place *place = &self->places.data[i];

		if (place->owns_file)
			closep(&place->file);
		/* Without memory for the list, close it here and wait. */
		if (place->hold >= 0 &&
		    !vec_push(&holds, ((struct attached){place->hold, place->pid, 0})))
			link_close_all(&place->hold, 1);
	}
	if (holds.len)
		uprobe_events_close(holds.data, holds.len);
	vec_deinit(&holds);
	if (self->places.len > first)
		self->places.len = first;
}

void attach_hold_remove(struct attachment *self, int pid)
{
	size_t others = 0;

	/* The order of the places does not matter. */
	vec_foreach (place, &self->places) {
		const struct attached_place kept = *place;

		if (!pid || kept.pid == pid)
			continue;
		*place = self->places.data[others];
		self->places.data[others++] = kept;
	}
	attach_hold_remove_from(self, others);
	if (!self->places.len)
		vec_deinit(&self->places);
}

bool attachment_take_file(struct attachment *self, int pid, uint64_t file,
			  struct attachment *to)
{
	size_t kept = 0;

	if (!vec_reserve(&to->list, to->list.len + self->list.len) ||
	    !vec_reserve(&to->places, to->places.len + self->places.len))
		return false;
	vec_foreach (at, &self->list) {
		if (at->pid == pid && at->file == file)
			(void)vec_push(&to->list, *at);
		else
			self->list.data[kept++] = *at;
	}
	self->list.len = kept;
	kept = 0;
	vec_foreach (place, &self->places) {
		if (place->pid == pid && place->number == file)
			(void)vec_push(&to->places, *place);
		else
			self->places.data[kept++] = *place;
	}
	self->places.len = kept;
	return true;
}

/* --- holding ---------------------------------------------------------------------- */

/* After the event's thread has ended, existing breakpoints stay, since memtrace's
 * programs return 0, but the kernel sets no new ones (handler_chain() and uprobe_mmap()
 * of kernel/events/uprobes.c). */
static bool is_held(const struct attached_place *place)
{
	return place->hold >= 0 && !uprobe_event_has_ended(place->hold);
}

/* Open the event. Returns its descriptor or -errno: -ESRCH if no thread is alive; -EXDEV
 * if the event would have to be in all processes and must not be, because of
 * *ret_doubt. */
static int open_hold(struct attachment *self, const struct uprobe_pmu *pmu, int pid,
		     const struct attach_probe *probe, const char **ret_doubt)
{
	struct live_thread live = live_thread_begin(pid);

	*ret_doubt = self->is_wide ? attach_wide_doubt(self, probe) : NULL;
	for (int i = 0; i < TRIES_MAX && (!self->is_wide || *ret_doubt); i++) {
		int event = uprobe_event_open(pmu, live.tid, true, probe);

		/* An event is only useful if its thread is still alive. */
		if ((event >= 0 && live_thread_is_there(&live)) ||
		    (event < 0 && event != -ESRCH))
			return event;
		closep(&event);
		live_thread_retry(&live);
	}
	if (!live_thread_is_there(&live) && !live_thread_retry(&live))
		return -ESRCH;
	if (!*ret_doubt)
		*ret_doubt = attach_wide_doubt(self, probe);
	if (*ret_doubt)
		return -EXDEV;
	self->is_wide = true;
	return uprobe_event_open(pmu, 0, true, probe);
}

static struct error *hold_place(struct attachment *self, const struct uprobe_pmu *pmu,
				struct attached_place *place)
{
	char path[32];
	const struct attach_probe probe = {
		.path = path,
		.module = path,
		.function = "functions",
		.offset = place->offset,
		.ref_ctr = place->ref_ctr,
		.is_private = place->is_private,
		.before = place->before,
	};
	const char *doubt;
	struct error *err = attachment_may_set(self);
	int event;

	if (err)
		return err;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", place->file);
	event = open_hold(self, pmu, place->pid, &probe, &doubt);
	if (event == -ESRCH)
		return error_create(ERROR_GONE, "process %d has exited", place->pid);
	if (event == -EXDEV)
		return attach_wide_refused(&probe, doubt);
	if (event < 0)
		return uprobe_event_refused(event, &probe);
	if (place->hold >= 0)
		uprobe_events_close(&(const struct attached){place->hold, place->pid, 0},
				    1);
	place->hold = event;
	return NULL;
}

struct error *attach_hold(struct attachment *self, int pid)
{
	struct uprobe_pmu pmu;
	struct error *err = uprobe_pmu_find(&pmu);

	vec_foreach (place, &self->places) {
		if (!err && place->pid == pid && place->file >= 0 && !is_held(place))
			err = hold_place(self, &pmu, place);
	}
	if (err && err->code == ERROR_PERMISSION) {
		error_destroy(err);
		return error_create(ERROR_PERMISSION,
				    "the main thread of process %d has exited: to probe "
				    "its other threads run as root or with CAP_SYS_ADMIN",
				    pid);
	}
	return err ? error_prefix(err,
				  "the main thread of process %d has exited, and its "
				  "other threads cannot be probed",
				  pid)
		   : NULL;
}
