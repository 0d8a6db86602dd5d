// SPDX-License-Identifier: Apache-2.0
#include "attach/attach.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/bpf.h>

#include "bpf/syscall.h"
#include "attach/attach_hold.h"
#include "bpf/link.h"
#include "process/live_thread.h"
#include "util/cleanup.h"

static void close_from(struct attachment *self, size_t first,
		       void (*close_all)(const int fds[], size_t count))
{
	size_t count = self->list.len > first ? self->list.len - first : 0;
	_cleanup_(freep) int *fds = calloc(count + 1, sizeof(*fds));

	for (size_t i = 0; i < count; i++) {
		int fd = self->list.data[first + i].fd;

		if (fds)
			fds[i] = fd;
		else
			close_all(&fd, 1);
	}
	if (fds)
		close_all(fds, count);
	self->list.len -= count;
}

/* To close a hold, this process forks. */
static bool has_holds(const struct attachment *self)
{
	vec_foreach (place, &self->places)
		if (place->hold >= 0)
			return true;
	return false;
}

static void multi_detach(struct attachment *self)
{
	close_from(self, 0,
		   self->is_last && !has_holds(self) ? link_close_begin : link_close_all);
	vec_deinit(&self->list);
	attach_hold_remove(self, 0);
}

static void multi_detach_process(struct attachment *self, int pid)
{
	close_from(self, attachment_sort_out(self, pid), link_close_all);
	attach_hold_remove(self, pid);
}

/* The members used here of struct bpf_link_info (include/uapi/linux/bpf.h, 6.8). */
struct link_info {
	uint32_t type, id, program, reserved;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t path_size, count, flags, pid;
};

static bool multi_is_dead(const struct attached *at)
{
	struct link_info info = {0};

	return at->pid &&
	       sys_bpf_info(at->fd, &info, sizeof(info)) == (int)sizeof(info) &&
	       info.pid == 0;
}

static struct error *refused(int err, const struct attach_probe *first)
{
	/* All tools share one reference counter per inode and offset, and Debian's
	 * memleak-bpfcc passes garbage for it. */
	if (err == EINVAL)
		return error_errno(
			ERROR_UNSUPPORTED, err,
			"cannot probe %s and others in %s (another tracer, such "
			"as memleak-bpfcc, may hold the same place: stop it first)",
			first->function, first->module);
	return error_errno(
		err == EPERM || err == EACCES ? ERROR_PERMISSION : ERROR_UNSUPPORTED, err,
		"cannot probe %s and others in %s", first->function, first->module);
}

/* Create one link for each program, file, rank and kind. Return probes come first: a
 * return without an entry is ignored, but an entry without a return would stay
 * pending. */
static struct error *attach_links(struct attachment *self, int pid,
				  const struct attach_probe probes[], size_t count)
{
	_cleanup_(freep) uint64_t *offsets = calloc(count, sizeof(*offsets));
	_cleanup_(freep) uint64_t *values = calloc(count, sizeof(*values));
	_cleanup_(freep) uint64_t *ref_ctrs = calloc(count, sizeof(*ref_ctrs));
	_cleanup_(freep) bool *done = calloc(count, sizeof(*done));

	if (!offsets || !values || !ref_ctrs || !done)
		return error_no_memory();
	for (int is_return = 1; is_return >= 0; is_return--) {
		for (size_t i = 0; i < count; i++) {
			size_t n = 0;
			bool has_ref_ctr = false;

			if (done[i] || probes[i].is_return != is_return)
				continue;
			for (size_t j = i; j < count; j++) {
				if (probes[j].is_return != is_return ||
				    probes[j].program != probes[i].program ||
				    probes[j].rank != probes[i].rank ||
				    strcmp(probes[j].path, probes[i].path))
					continue;
				offsets[n] = probes[j].offset;
				ref_ctrs[n] = probes[j].ref_ctr;
				has_ref_ctr = has_ref_ctr || probes[j].ref_ctr;
				values[n++] = probes[j].cookie;
				done[j] = true;
			}

			int fd = link_uprobe_multi(
				probes[i].program,
				probes[i].is_session ? ATTACH_TYPE_UPROBE_SESSION
						     : ATTACH_TYPE_UPROBE_MULTI,
				probes[i].path, offsets, has_ref_ctr ? ref_ctrs : NULL,
				values, n, is_return, pid);

			if (fd < 0 ||
			    !vec_push(&self->list,
				      ((struct attached){fd, pid, probes[i].file}))) {
				struct error *err = fd < 0 ? refused(-fd, &probes[i])
							   : error_no_memory();

				if (fd >= 0)
					link_close_all(&fd, 1);
				return err;
			}
		}
	}
	return NULL;
}

static struct error *multi_attach(struct attachment *self, int pid,
				  const struct attach_probe probes[], size_t count,
				  bool cookies)
{
	size_t links = self->list.len, places = self->places.len;
	struct error *err = attachment_may_set(self);

	(void)cookies; /* every kernel with uprobe_multi has them */
	if (!err && pid)
		err = attach_hold_note(self, pid, probes, count);
	if (!err)
		err = attach_links(self, pid, probes, count);
	/* The main thread may have exited only now; some of the links have set their
	 * breakpoints, others have not. */
	if (!err && pid && live_thread_has_lost_first(pid))
		err = attach_hold(self, pid);
	if (err) {
		close_from(self, links, link_close_all);
		attach_hold_remove_from(self, places);
	}
	return err;
}

const struct attach_ops attach_uprobe_multi = {
	.name = "uprobe_multi",
	.attach_type = ATTACH_TYPE_UPROBE_MULTI,
	.attach = multi_attach,
	.is_dead = multi_is_dead,
	.hold = attach_hold,
	.detach_process = multi_detach_process,
	.detach = multi_detach,
};
