// SPDX-License-Identifier: Apache-2.0
#include "kernel_heap/kernel_events.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/bpf.h>
#include <linux/mount.h>
#include <linux/perf_event.h>

#include <bpf/libbpf.h>

#include "kernel_heap/kernel_functions.h"
#include "util/cleanup.h"
#include "util/nearest.h"

#define KPROBE_PMU "/sys/bus/event_source/devices/kprobe"
#define SYMBOLS    "/proc/kallsyms"

uint32_t kernel_events_program_type(enum event_kind kind)
{
	switch (kind) {
	case EVENT_TRACEPOINT:
		return BPF_PROG_TYPE_TRACEPOINT;
	case EVENT_PROFILE:
	case EVENT_SOFTWARE:
	case EVENT_HARDWARE:
		return BPF_PROG_TYPE_PERF_EVENT;
	default:
		return BPF_PROG_TYPE_KPROBE;
	}
}

/* --- tracepoints ------------------------------------------------------------------ */

struct error *kernel_events_open_tracefs(int *ret)
{
	static const char *const paths[] = {"/sys/kernel/tracing/events",
					    "/sys/kernel/debug/tracing/events"};
	_cleanup_(closep) int context = -1, root = -1;

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		*ret = open(paths[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (*ret >= 0)
			return NULL;
	}
	/* By system call number: glibc has no wrappers before 2.36. */
	context = (int)syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC);
	if (context >= 0 &&
	    !syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		root = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, 0);
	*ret = root < 0 ? -1 : openat(root, "events", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return *ret < 0 ? error_errno(
				  ERROR_UNSUPPORTED, errno,
				  "cannot look for tracepoints: tracefs is not mounted "
				  "(mount -t tracefs tracefs /sys/kernel/tracing)")
			: NULL;
}

/* Offer the names in a directory as candidates for the name nearest to `wanted`. */
static void offer_names(int at, const char *path, struct nearest *nearest)
{
	int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(closedirp) DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (struct dirent *entry; (entry = readdir(dir));)
		if (entry->d_name[0] != '.')
			nearest_offer(nearest, entry->d_name, strlen(entry->d_name));
}

static struct error *no_such_tracepoint(const struct event_spec *spec, int events)
{
	_cleanup_(strbuf_deinit) struct strbuf near = {0};
	bool has_group = !faccessat(events, spec->group, F_OK, 0);
	struct nearest nearest = {.wanted = has_group ? spec->name : spec->group};

	offer_names(events, has_group ? spec->group : ".", &nearest);
	nearest_append(&nearest, &near);
	if (near.failed)
		return error_no_memory();
	if (has_group)
		return error_create(ERROR_NOT_FOUND,
				    "this kernel has no tracepoint %s:%s%s", spec->group,
				    spec->name, strbuf_text(&near));
	return error_create(ERROR_NOT_FOUND,
			    "this kernel has no tracepoints of a category %s%s",
			    spec->group, strbuf_text(&near));
}

static struct error *find_tracepoint(const struct event_spec *spec, uint64_t *ret)
{
	_cleanup_(closep) int events = -1;
	_cleanup_(freep) char *path = NULL;
	char text[32];
	struct error *err = kernel_events_open_tracefs(&events);

	if (err)
		return err;
	/* They must be plain names, not paths. */
	if (strchr(spec->group, '/') || strchr(spec->name, '/') ||
	    spec->group[0] == '.' || spec->name[0] == '.')
		return no_such_tracepoint(spec, events);
	if (asprintf(&path, "%s/%s/id", spec->group, spec->name) < 0) {
		path = NULL;
		return error_no_memory();
	}

	_cleanup_(closep) int fd = openat(events, path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd < 0 && errno != ENOENT && errno != ENOTDIR)
		return error_errno(errno == EACCES || errno == EPERM ? ERROR_PERMISSION
								     : ERROR_IO,
				   errno, "cannot look at the tracepoint %s:%s",
				   spec->group, spec->name);
	if (size <= 0)
		return no_such_tracepoint(spec, events);
	text[size] = '\0';
	*ret = strtoull(text, NULL, 10);
	return NULL;
}

/* --- functions of the kernel ------------------------------------------------------ */

static struct error *explain_kprobe(const struct event_spec *spec)
{
	_cleanup_(fclosep) FILE *symbols = fopen(SYMBOLS, "re");

	return kernel_functions_explain(symbols, spec->name);
}

static struct error *check_offset(const struct event_spec *spec)
{
	_cleanup_(fclosep) FILE *symbols = fopen(SYMBOLS, "re");

	return kernel_functions_check_offset(symbols, spec->name, spec->offset);
}

static int read_number(const char *path, const char *format)
{
	_cleanup_(fclosep) FILE *f = fopen(path, "re");
	int n;

	return f && fscanf(f, format, &n) == 1 ? n : -1;
}

/* The bit of `config` that makes the probe a return probe is found in the PMU's
 * format. */
static struct error *describe_kprobe(const struct event_spec *spec,
				     struct perf_event_attr *attr)
{
	int type = read_number(KPROBE_PMU "/type", "%d");
	int bit = read_number(KPROBE_PMU "/format/retprobe", "config:%d");

	if (type < 0 || bit < 0)
		return error_create(ERROR_UNSUPPORTED,
				    "this kernel has no kprobes (CONFIG_KPROBE_EVENTS)");
	attr->type = (uint32_t)type;
	attr->config = spec->kind == EVENT_KRETPROBE ? UINT64_C(1) << bit : 0;
	attr->kprobe_func = (uint64_t)(uintptr_t)spec->name;
	attr->probe_offset = spec->offset;
	return NULL;
}

/* --- all kinds -------------------------------------------------------------------- */

static struct error *describe(const struct event_spec *spec, struct perf_event_attr *ret)
{
	uint64_t id = 0;
	struct error *err;

	*ret = (struct perf_event_attr){.size = sizeof(*ret), .sample_period = 1};
	switch (spec->kind) {
	case EVENT_TRACEPOINT:
		err = find_tracepoint(spec, &id);
		if (err)
			return err;
		ret->type = PERF_TYPE_TRACEPOINT;
		ret->config = id;
		return NULL;
	case EVENT_PROFILE:
		ret->type = PERF_TYPE_SOFTWARE;
		ret->config = PERF_COUNT_SW_CPU_CLOCK;
		ret->freq = 1;
		ret->sample_freq = spec->number;
		return NULL;
	case EVENT_SOFTWARE:
	case EVENT_HARDWARE:
		ret->type = spec->kind == EVENT_SOFTWARE ? PERF_TYPE_SOFTWARE
							 : PERF_TYPE_HARDWARE;
		ret->config = spec->selector;
		ret->sample_period = spec->number;
		return NULL;
	default:
		return describe_kprobe(spec, ret);
	}
}

static bool is_for_each_processor(enum event_kind kind)
{
	return kernel_events_program_type(kind) == BPF_PROG_TYPE_PERF_EVENT;
}

static int open_event(struct perf_event_attr *attr, int processor)
{
	long fd = syscall(SYS_perf_event_open, attr, -1, processor, -1,
			  PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

static struct error *refused(int err, const struct event_spec *spec)
{
	if (err == EPERM || err == EACCES)
		return error_errno(ERROR_PERMISSION, err,
				   "the kernel does not allow %s: CAP_PERFMON is needed",
				   spec->text);
	if (spec->kind == EVENT_HARDWARE && (err == ENOENT || err == EOPNOTSUPP))
		return error_create(ERROR_UNSUPPORTED,
				    "this machine has no hardware counter %s (a virtual "
				    "machine may have none): try profile:hz:99",
				    spec->name);
	if (spec->kind == EVENT_PROFILE && err == EINVAL)
		return error_create(ERROR_UNSUPPORTED,
				    "the kernel refused %s: "
				    "/proc/sys/kernel/perf_event_max_sample_rate has the "
				    "highest frequency",
				    spec->text);
	/* arch_prepare_kprobe() of arch/x86/kernel/kprobes/core.c */
	if (err == EILSEQ)
		return error_create(
			ERROR_UNSUPPORTED,
			"%s+%lu of the kernel is not the start of an instruction",
			spec->name, (unsigned long)spec->offset);
	if (err == ENOENT || err == EINVAL || err == EADDRNOTAVAIL) {
		if (spec->kind == EVENT_KPROBE || spec->kind == EVENT_KRETPROBE)
			return explain_kprobe(spec);
	}
	return error_errno(ERROR_UNSUPPORTED, err, "cannot count %s", spec->text);
}

struct error *kernel_events_check(const struct event_spec *spec)
{
	struct perf_event_attr attr;
	struct error *err = describe(spec, &attr);
	int fd;

	if (err)
		return err;
	if (spec->kind == EVENT_KPROBE && spec->offset) {
		err = check_offset(spec);
		if (err)
			return err;
	}
	attr.disabled = 1;
	fd = open_event(&attr, 0);
	if (fd < 0)
		return refused(-fd, spec);
	close(fd);
	return NULL;
}

static struct error *attach_one(struct kernel_events *self, const struct event_spec *spec,
				struct perf_event_attr *attr, int processor, int program)
{
	int fd = open_event(attr, processor);

	/* This processor is not online. */
	if (fd == -ENODEV && processor > 0)
		return NULL;
	if (fd < 0)
		return refused(-fd, spec);
	if (!vec_push(&self->fds, fd)) {
		close(fd);
		return error_no_memory();
	}
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, program) ||
	    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		return refused(errno, spec);
	return NULL;
}

/* Disable all of them first: each close waits. */
static void close_from(struct kernel_events *self, size_t first)
{
	for (size_t i = first; i < self->fds.len; i++)
		ioctl(self->fds.data[i], PERF_EVENT_IOC_DISABLE, 0);
	for (size_t i = first; i < self->fds.len; i++)
		close(self->fds.data[i]);
	if (self->fds.len > first)
		self->fds.len = first;
}

struct error *kernel_events_attach(struct kernel_events *self,
				   const struct event_spec *spec, int program)
{
	int processors =
		is_for_each_processor(spec->kind) ? libbpf_num_possible_cpus() : 1;
	size_t before = self->fds.len;
	struct perf_event_attr attr;
	struct error *err = describe(spec, &attr);

	attr.disabled = 1;
	for (int i = 0; !err && i < (processors > 0 ? processors : 1); i++)
		err = attach_one(self, spec, &attr, i, program);
	if (err)
		close_from(self, before);
	return err;
}

void kernel_events_detach(struct kernel_events *self)
{
	close_from(self, 0);
	vec_deinit(&self->fds);
}
