// SPDX-License-Identifier: Apache-2.0
#include "attach/attach_events.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/perf_event.h>

#include "attach/attach_wide.h"
#include "bpf/late_close.h"
#include "bpf/link.h"
#include "bpf/shield.h"
#include "process/live_thread.h"
#include "util/cleanup.h"

#define PMU_DIR "/sys/bus/event_source/devices/uprobe"

/* PERF_UPROBE_REF_CTR_OFFSET_SHIFT, include/linux/trace_events.h. */
#define REF_CTR_SHIFT 32

/* Read a number such as "7" or "config:0" from a file of the PMU. Returns -1 on
 * failure. */
static int pmu_number(const char *path, const char *format)
{
	_cleanup_(fclosep) FILE *f = fopen(path, "re");
	int n;

	return f && fscanf(f, format, &n) == 1 ? n : -1;
}

struct error *uprobe_pmu_find(struct uprobe_pmu *ret)
{
	ret->type = pmu_number(PMU_DIR "/type", "%d");
	ret->return_bit = pmu_number(PMU_DIR "/format/retprobe", "config:%d");
	return ret->type >= 0 && ret->return_bit >= 0
		       ? NULL
		       : error_create(ERROR_UNSUPPORTED,
				      "this kernel has no uprobes (" PMU_DIR
				      " is missing: CONFIG_UPROBE_EVENTS)");
}

/* An event to be opened. `result` is the descriptor or -errno. */
struct opening {
	struct perf_event_attr attr;
	int task, result;
};

static void open_event(void *arg, size_t i)
{
	struct opening *o = arg;

	(void)i;
	/* An event for all processes must name one processor, but its program runs on all
	 * (kernel/trace/trace_uprobe.c, __uprobe_perf_func()). */
	long fd = syscall(SYS_perf_event_open, &o->attr, o->task ? o->task : -1,
			  o->task ? -1 : 0, -1, PERF_FLAG_FD_CLOEXEC);

	o->result = fd < 0 ? -errno : (int)fd;
}

int uprobe_event_open(const struct uprobe_pmu *pmu, int task, bool is_disabled,
		      const struct attach_probe *probe)
{
	const struct perf_event_attr attr = {
		.type = (uint32_t)pmu->type,
		.size = sizeof(attr),
		.config = (probe->is_return ? UINT64_C(1) << pmu->return_bit : 0) |
			  probe->ref_ctr << REF_CTR_SHIFT,
		.disabled = is_disabled,
		.uprobe_path = (uint64_t)(uintptr_t)probe->path,
		.probe_offset = probe->offset,
		.sample_period = 1,
		.wakeup_events = 1,
	};
	struct opening opening = {.attr = attr, .task = task};

	shield_run(1, open_event, &opening);
	return opening.result;
}

/* Stop the programs at once: removing each breakpoint takes the kernel 0.1 s. */
static void disable(const struct attached events[], size_t count)
{
	for (size_t i = 0; i < count; i++)
		ioctl(events[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}

void uprobe_events_close(const struct attached events[], size_t count)
{
	_cleanup_(freep) int *fds = calloc(count + 1, sizeof(*fds));

	disable(events, count);
	for (size_t i = 0; fds && i < count; i++)
		fds[i] = events[i].fd;
	if (!count || (fds && late_close(fds, count)))
		return;
	for (size_t i = 0; i < count; i++)
		link_close_all(&events[i].fd, 1);
}

static void close_from(struct attachment *self, size_t first)
{
	if (self->list.len <= first)
		return;
	uprobe_events_close(&self->list.data[first], self->list.len - first);
	self->list.len = first;
}

static void perf_detach(struct attachment *self)
{
	close_from(self, 0);
	vec_deinit(&self->list);
}

static void perf_detach_process(struct attachment *self, int pid)
{
	close_from(self, attachment_sort_out(self, pid));
}

/* poll() reports POLLHUP for an event whose task has exited, and for an event without a
 * ring, so map one (perf_poll(), kernel/events/core.c). It never does for a link. */
bool uprobe_event_has_ended(int event)
{
	size_t bytes = 2 * (size_t)sysconf(_SC_PAGESIZE);
	void *ring = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, event, 0);
	struct pollfd fd = {.fd = event};
	bool has_ended;

	/* No ring, since no more memory may be locked: the answer is unknown. */
	if (ring == MAP_FAILED && (errno == EPERM || errno == ENOMEM))
		return false;
	has_ended = poll(&fd, 1, 0) > 0 && fd.revents & POLLHUP;
	if (ring != MAP_FAILED)
		munmap(ring, bytes);
	return has_ended;
}

static bool perf_is_dead(const struct attached *at)
{
	return at->pid && uprobe_event_has_ended(at->fd);
}

struct error *uprobe_event_refused(int error, const struct attach_probe *probe)
{
	return error_errno(error == -EPERM || error == -EACCES ? ERROR_PERMISSION
							       : ERROR_UNSUPPORTED,
			   -error, "cannot probe %s in %s (perf uprobe at %#lx)",
			   probe->function, probe->module, (unsigned long)probe->offset);
}

static struct error *attach_one(struct attachment *self, const struct uprobe_pmu *pmu,
				int pid, const struct attach_probe *probe, bool cookies)
{
	int event = -ESRCH;

	/* Do not even try: a refused attempt also takes the kernel 0.1 s. */
	if (!pid || !live_thread_has_lost_first(pid))
		event = uprobe_event_open(pmu, pid, false, probe);
	/* An event for another thread would end with that thread; only an event for all
	 * processes is sure to stay. Its program ignores hits of other processes. */
	if (event == -ESRCH && pid && live_thread_has_lost_first(pid)) {
		const char *doubt = attach_wide_doubt(self, probe);

		if (doubt)
			return attach_wide_refused(probe, doubt);
		event = uprobe_event_open(pmu, 0, false, probe);
		self->is_wide = true;
	}
	if (event < 0)
		return uprobe_event_refused(event, probe);
	if (!vec_push(&self->list, ((struct attached){event, pid, probe->file}))) {
		link_close_all(&event, 1);
		return error_no_memory();
	}

	int err;

	if (cookies) {
		int link = link_perf_event(probe->program, event, probe->cookie);

		err = link < 0 ? -link : 0;
		if (link >= 0 &&
		    !vec_push(&self->list, ((struct attached){link, pid, probe->file}))) {
			link_close_all(&link, 1);
			err = ENOMEM;
		}
	} else {
		err = ioctl(event, PERF_EVENT_IOC_SET_BPF, probe->program) ? errno : 0;
	}
	if (!err && ioctl(event, PERF_EVENT_IOC_ENABLE, 0))
		err = errno;
	return err ? error_errno(ERROR_UNSUPPORTED, err, "cannot attach to %s in %s",
				 probe->function, probe->module)
		   : NULL;
}

static struct error *perf_attach(struct attachment *self, int pid,
				 const struct attach_probe probes[], size_t count,
				 bool cookies)
{
	size_t before = self->list.len;
	struct uprobe_pmu pmu;
	struct error *err = uprobe_pmu_find(&pmu);

	if (!err)
		err = attachment_may_set(self);
	if (err)
		return err;
	for (int is_return = 1; is_return >= 0; is_return--) {
		for (size_t i = 0; i < count; i++) {
			if (probes[i].is_return == is_return)
				err = attach_one(self, &pmu, pid, &probes[i], cookies);
			if (err) {
				close_from(self, before);
				return err;
			}
		}
	}
	return NULL;
}

const struct attach_ops attach_perf_event = {
	.name = "perf events",
	.attach_type = 0,
	.attach = perf_attach,
	.is_dead = perf_is_dead,
	.detach_process = perf_detach_process,
	.detach = perf_detach,
};
