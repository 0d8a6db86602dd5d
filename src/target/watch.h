/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What processes do, as the kernel tells it when it happens: forks, execs, mappings of
 * code and ends. Made of perf events that count nothing and only carry these records
 * (perf_event_open(2), PERF_COUNT_SW_DUMMY), one for each processor.
 */
#ifndef TARGET_WATCH_H
#define TARGET_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

enum watch_kind {
	WATCH_FORK, /* `pid` is a new process, made by `parent` */
	WATCH_EXEC, /* `pid` runs another program */
	WATCH_MAP,  /* `pid` has mapped code */
	WATCH_EXIT, /* the first thread of `pid` has ended, as a rule the last one too */
	WATCH_LOST, /* records may have been lost: anything may have happened */
};

struct watch_event {
	enum watch_kind kind;
	int pid, parent;  /* in our pid namespace */
	uint64_t time_ns; /* CLOCK_MONOTONIC; 0 with WATCH_LOST */
	/* Of WATCH_MAP, as in /proc/PID/maps, but for device and inode, which may be
	 * others of the same file (target/file_names.h); the inode is 0 for memory of no
	 * file. */
	uint64_t start, end, file_offset, inode;
	uint32_t dev_major, dev_minor;
	/* As the kernel shows it to the process, and cut off when it is longer than
	 * PATH_MAX; of a file on overlayfs maybe that in its layer, or none. "[vdso]",
	 * "//anon" and the like for memory of no file. "" with other kinds. Borrowed,
	 * for the call. */
	const char *path;
};

struct watch;

/* Begin to watch all processes. ERROR_PERMISSION or ERROR_UNSUPPORTED where the kernel
 * will not tell (CAP_PERFMON is needed): then one has to look into /proc again and again.
 */
struct error *watch_create(struct watch **ret) __attribute__((warn_unused_result));

/* The same of what the calling thread does, with its mappings of data. */
struct error *watch_create_own(struct watch **ret) __attribute__((warn_unused_result));

/* A descriptor that is readable when there are events. Owned by the watch. */
int watch_fd(const struct watch *watch);

/* Takes an event, and must not read the same watch. */
typedef void watch_event_fn(void *arg, const struct watch_event *event);

/* Hand every event that happened before the call to `fn`, in order of time: a fork comes
 * before what the child does. Later events may wait for the next call. Does not block. */
void watch_read(struct watch *watch, watch_event_fn *fn, void *arg);

void watch_destroy(struct watch *watch);

#endif
