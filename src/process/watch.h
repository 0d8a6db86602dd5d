/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of processes as they happen: forks, execs, mappings of code, exits. They come
 * from perf events that count nothing and only carry these records (perf_event_open(2),
 * PERF_COUNT_SW_DUMMY), one for each processor.
 */
#ifndef PROCESS_WATCH_H
#define PROCESS_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

enum watch_kind {
	WATCH_FORK, /* `pid` is a new process, a child of `parent` */
	WATCH_EXEC, /* `pid` runs another program */
	WATCH_MAP,  /* `pid` has mapped code */
	WATCH_EXIT, /* the main thread of `pid` has exited, usually as the last one */
	WATCH_LOST, /* records may have been lost */
};

struct watch_event {
	enum watch_kind kind;
	int pid, parent;  /* pids in our pid namespace */
	uint64_t time_ns; /* CLOCK_MONOTONIC; 0 with WATCH_LOST */
	/* WATCH_MAP: as in /proc/PID/maps, except that device and inode may be another
	 * name of the same file (process/file_names.h). The inode is 0 for memory
	 * without a file. */
	uint64_t start, end, file_offset, inode;
	uint32_t dev_major, dev_minor;
	/* WATCH_MAP: the path as the process sees it, truncated at PATH_MAX. On
	 * overlayfs it may be the path in the layer, or empty. "[vdso]", "//anon" etc.
	 * for memory without a file. "" with other kinds. Borrowed during the
	 * callback. */
	const char *path;
};

struct watch;

/* Start to watch all processes. Needs CAP_PERFMON. ERROR_PERMISSION or
 * ERROR_UNSUPPORTED if the kernel refuses; the caller then has to poll /proc. */
struct error *watch_create(struct watch **ret) __attribute__((warn_unused_result));

/* Like watch_create(), for the calling thread only, and including mappings of data. */
struct error *watch_create_own(struct watch **ret) __attribute__((warn_unused_result));

/* A descriptor that is readable when there are events. After events that did not concern
 * the caller it is readable up to 160 ms late, so that other processes on a busy machine
 * do not wake the caller all the time. Owned by the watch. */
int watch_fd(const struct watch *watch);

/* Let it be readable up to `ms` after the last call of watch_read(): for a caller that is
 * notified of urgent events in another way. One that reads at least that often anyway is
 * seldom woken. */
void watch_rest_at_most(struct watch *watch, unsigned ms);

/* Receives an event. Must not read the same watch. Returns true if the event concerns a
 * process that the caller follows: it then wants to know soon of further ones. */
typedef bool watch_event_fn(void *arg, const struct watch_event *event);

/* Pass each event that happened before the call to `fn`, in order of time: a fork comes
 * before the child's events. Later events may wait for the next call. Does not block. */
void watch_read(struct watch *watch, watch_event_fn *fn, void *arg);

void watch_destroy(struct watch *watch);

#endif
