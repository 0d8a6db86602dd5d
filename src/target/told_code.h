/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code that processes have mapped since their last exec, collected from the events
 * of target/watch.h. It serves processes that exit before their /proc/PID/maps can be
 * read.
 */
#ifndef TARGET_TOLD_CODE_H
#define TARGET_TOLD_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/file_names.h"
#include "target/proc.h"
#include "target/watch.h"
#include "util/vec.h"

struct told_mapping {
	uint64_t start, end, file_offset;
	struct file_name name; /* as in perf events (file_names.told) */
	uint64_t time_ns;      /* CLOCK_MONOTONIC */
	char *path;
};

/* The mappings of files of one process, shared with its parent after a fork. */
struct told_code {
	unsigned owners;
	/* time of the exec, or of reading the mappings, CLOCK_MONOTONIC ns; 0: the exec
	 * came before the first event, so its code is unknown */
	uint64_t since_ns;
	/* the process has our root directory, or an ancestor had it when last checked */
	bool has_our_root;
	size_t size_bytes; /* bytes that this one adds to *all_bytes */
	size_t *all_bytes; /* total in the struct told_codes, which outlives it */
	/* in order of time, the program's first; a later one replaces earlier ones at its
	 * addresses */
	VEC(struct told_mapping) mappings;
};

void told_code_release(struct told_code *code);

/* The mappings in effect after all replacements, in address order. */
struct told_mappings {
	VEC(const struct told_mapping *) list;
};

/* List the mappings in effect. The caller owns the list, `code` owns the mappings.
 * False: memory is out. */
bool told_code_list(const struct told_code *code, struct told_mappings *ret)
	__attribute__((warn_unused_result));
void told_mappings_deinit(struct told_mappings *mappings);

/* The code of all recorded processes. */
struct told_codes;

struct told_codes_options {
	/* Must the programs that this process or its children execute be recorded?
	 * Asked for processes without a record. */
	bool (*is_wanted)(void *arg, int pid);
	/* Does the process have our root directory? */
	bool (*has_our_root)(void *arg, int pid);
	void *arg; /* borrowed */
};

/* NULL: memory is out. */
struct told_codes *told_codes_create(const struct told_codes_options *options);
void told_codes_destroy(struct told_codes *codes);

/* Process an event. Children of recorded processes are recorded too. A process is
 * dropped when the total would exceed 16 MiB or memory is out. After WATCH_LOST
 * everything recorded before is dropped. */
void told_codes_hear(struct told_codes *codes, const struct watch_event *event);

/* Record a process that started before the first event, with its mappings `maps` at
 * `time_ns` (CLOCK_MONOTONIC). The code of the file `executable` (NULL: unknown) counts
 * as its program's. No effect if its code is known. */
void told_codes_begin_with(struct told_codes *codes, int pid,
			   const struct proc_maps *maps, const char *executable,
			   uint64_t time_ns);

/* The record of a process, also after its exit; NULL: it has executed no program since
 * the first event, and its mappings were not read. Pids are reused: compare `since_ns`.
 * Adds an owner; release it before the codes are destroyed. */
struct told_code *told_codes_get(const struct told_codes *codes, int pid);

/* Drop the records of processes that exited before `before_ns` (CLOCK_MONOTONIC). Call
 * this once every user of their records is done. */
void told_codes_sweep(struct told_codes *codes, uint64_t before_ns);

#endif
