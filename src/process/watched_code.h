/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code that processes have mapped since their last exec, collected from the events
 * of process/watch.h. It serves processes that exit before their /proc/PID/maps can be
 * read.
 */
#ifndef PROCESS_WATCHED_CODE_H
#define PROCESS_WATCHED_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/file_names.h"
#include "process/proc.h"
#include "process/watch.h"
#include "util/vec.h"

struct watched_mapping {
	uint64_t start, end, file_offset;
	struct file_name name; /* as in perf events (file_names.reported) */
	uint64_t time_ns;      /* CLOCK_MONOTONIC */
	char *path;
};

/* The mappings of files of one process, shared with its parent after a fork. */
struct watched_code {
	unsigned owners;
	/* time of the exec, or of reading the mappings, CLOCK_MONOTONIC ns; 0: the exec
	 * came before the first event, so its code is unknown */
	uint64_t since_ns;
	/* the process has our root directory, or an ancestor had it when last checked */
	bool has_our_root;
	size_t size_bytes; /* bytes that this one adds to *all_bytes */
	size_t *all_bytes; /* total in the struct watched_codes, which outlives it */
	/* in order of time, the program's first; a later one replaces earlier ones at its
	 * addresses */
	VEC(struct watched_mapping) mappings;
};

void watched_code_release(struct watched_code *code);

/* The mappings in effect after all replacements, in address order. */
struct watched_mappings {
	VEC(const struct watched_mapping *) list;
};

/* List the mappings in effect. The caller owns the list, `code` owns the mappings.
 * False: memory is out. */
bool watched_code_list(const struct watched_code *code, struct watched_mappings *ret)
	__attribute__((warn_unused_result));
void watched_mappings_deinit(struct watched_mappings *mappings);

/* The code of all recorded processes. */
struct watched_codes;

struct watched_codes_options {
	/* Must the programs that this process or its children execute be recorded?
	 * Asked for processes without a record. */
	bool (*is_wanted)(void *arg, int pid);
	/* Does the process have our root directory? */
	bool (*has_our_root)(void *arg, int pid);
	void *arg; /* borrowed */
};

/* NULL: memory is out. */
struct watched_codes *watched_codes_create(const struct watched_codes_options *options);
void watched_codes_destroy(struct watched_codes *codes);

/* Process an event. Children of recorded processes are recorded too. A process is
 * dropped when the total would exceed 16 MiB or memory is out. After WATCH_LOST
 * everything recorded before is dropped. */
void watched_codes_hear(struct watched_codes *codes, const struct watch_event *event);

/* Record a process that started before the first event, with its mappings `maps` at
 * `time_ns` (CLOCK_MONOTONIC). The code of the file `executable` (NULL: unknown) counts
 * as its program's. No effect if its code is known. */
void watched_codes_begin_with(struct watched_codes *codes, int pid,
			      const struct proc_maps *maps, const char *executable,
			      uint64_t time_ns);

/* The record of a process, also after its exit; NULL: it has executed no program since
 * the first event, and its mappings were not read. Pids are reused: compare `since_ns`.
 * Adds an owner; release it before the codes are destroyed. */
struct watched_code *watched_codes_get(const struct watched_codes *codes, int pid);

/* Drop the records of processes that exited before `before_ns` (CLOCK_MONOTONIC). Call
 * this once every user of their records is done. */
void watched_codes_sweep(struct watched_codes *codes, uint64_t before_ns);

#endif
