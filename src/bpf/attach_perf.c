// SPDX-License-Identifier: Apache-2.0
#include "bpf/attach.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/perf_event.h>

#include "bpf/link.h"
#include "util/cleanup.h"

#define PMU_DIR "/sys/bus/event_source/devices/uprobe"

/* PERF_UPROBE_REF_CTR_OFFSET_SHIFT, include/linux/trace_events.h. */
#define REF_CTR_SHIFT 32

/* Read "7" or "config:0" from one of the PMU's files; the number, or -1. */
static int pmu_number(const char *path, const char *format)
{
	_cleanup_(fclosep) FILE *f = fopen(path, "re");
	int n;

	return f && fscanf(f, format, &n) == 1 ? n : -1;
}

static int open_event(int pmu, int return_bit, int pid, const struct attach_probe *probe)
{
	struct perf_event_attr attr = {
		.type = (uint32_t)pmu,
		.size = sizeof(attr),
		.config = (probe->is_return ? UINT64_C(1) << return_bit : 0) |
			  probe->ref_ctr << REF_CTR_SHIFT,
		.uprobe_path = (uint64_t)(uintptr_t)probe->path,
		.probe_offset = probe->offset,
		.sample_period = 1,
		.wakeup_events = 1,
	};
	/* An event of all processes wants one processor, and its program runs on all
	 * (kernel/trace/trace_uprobe.c, __uprobe_perf_func()). */
	long fd = syscall(SYS_perf_event_open, &attr, pid ? pid : -1, pid ? -1 : 0, -1,
			  PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

/* Let the programs stop at once: removing each breakpoint takes the kernel 0.1 s. */
static void disable_from(struct attachment *self, size_t first)
{
	for (size_t i = first; i < self->list.len; i++)
		ioctl(self->list.data[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}

/*
 * The last close of an event waits for the kernel. A grandchild that holds nothing but
 * the events does the waiting, so that memtrace can exit at once.
 */
static void close_from(struct attachment *self, size_t first)
{
	disable_from(self, first);

	pid_t child = self->list.len > first ? fork() : -1;

	if (child == 0) {
		if (fork() == 0) {
			setsid();
			signal(SIGINT, SIG_IGN);
			signal(SIGTERM, SIG_IGN);
			prctl(PR_SET_NAME, "memtrace-detach");
			/* Keep no one waiting for the end of our output. */
			for (int fd = 0; fd <= 2; fd++)
				close(fd);
			for (size_t i = first; i < self->list.len; i++)
				close(self->list.data[i].fd);
		}
		_exit(0);
	}
	if (child > 0)
		waitpid(child, NULL, 0);
	for (size_t i = first; i < self->list.len; i++)
		close(self->list.data[i].fd);
	if (self->list.len > first)
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

/* perf_poll() (kernel/events/core.c): an event hangs up when its task has exited. A link
 * never does. */
static bool perf_is_dead(const struct attached *at)
{
	struct pollfd fd = {.fd = at->fd};

	return at->pid && poll(&fd, 1, 0) > 0 && fd.revents & POLLHUP;
}

static struct error *attach_one(struct attachment *self, int pmu, int return_bit, int pid,
				const struct attach_probe *probe, bool cookies)
{
	int event = open_event(pmu, return_bit, pid, probe);

	if (event < 0)
		return error_errno(
			event == -EPERM || event == -EACCES ? ERROR_PERMISSION
							    : ERROR_UNSUPPORTED,
			-event, "cannot probe %s in %s (perf uprobe at %#lx)",
			probe->function, probe->path, (unsigned long)probe->offset);
	if (!vec_push(&self->list, ((struct attached){event, pid}))) {
		close(event);
		return error_no_memory();
	}

	int err;

	if (cookies) {
		int link = link_perf_event(probe->program, event, probe->cookie);

		err = link < 0 ? -link : 0;
		if (link >= 0 && !vec_push(&self->list, ((struct attached){link, pid}))) {
			close(link);
			err = ENOMEM;
		}
	} else {
		err = ioctl(event, PERF_EVENT_IOC_SET_BPF, probe->program) ? errno : 0;
	}
	if (!err && ioctl(event, PERF_EVENT_IOC_ENABLE, 0))
		err = errno;
	return err ? error_errno(ERROR_UNSUPPORTED, err, "cannot attach to %s in %s",
				 probe->function, probe->path)
		   : NULL;
}

static struct error *perf_attach(struct attachment *self, int pid,
				 const struct attach_probe probes[], size_t count,
				 bool cookies)
{
	int pmu = pmu_number(PMU_DIR "/type", "%d");
	int return_bit = pmu_number(PMU_DIR "/format/retprobe", "config:%d");
	size_t before = self->list.len;

	if (pmu < 0 || return_bit < 0)
		return error_create(ERROR_UNSUPPORTED,
				    "this kernel has no uprobes (" PMU_DIR " is missing: "
				    "CONFIG_UPROBE_EVENTS)");
	for (int is_return = 1; is_return >= 0; is_return--) {
		for (size_t i = 0; i < count; i++) {
			struct error *err = NULL;

			if (probes[i].is_return == is_return)
				err = attach_one(self, pmu, return_bit, pid, &probes[i],
						 cookies);
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
