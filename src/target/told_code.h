/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code that processes have mapped since they executed their programs, collected from
 * the events of target/watch.h. It is there for processes that exit before their
 * /proc/PID/maps can be read.
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
	struct file_name name; /* as events have it (file_names.told) */
	uint64_t time_ns;      /* CLOCK_MONOTONIC */
	char *path;
};

/* Mappings of files. Shared: a child has those of its parent. */
struct told_code {
	unsigned owners;
	uint64_t since_ns; /* CLOCK_MONOTONIC: when the program was executed, or its
			      mappings were read; 0: it was executed before anybody
			      listened, and nothing is known of its code */
	bool has_our_root; /* the process has our root directory, or a parent had it when
			      it was looked at */
	size_t size_bytes; /* that it counts for in `*all_bytes` */
	size_t *all_bytes; /* of the struct told_codes, which outlives it */
	VEC(struct told_mapping)
	mappings; /* in order of time, the program's first; later ones lie over
		     earlier ones */
};

void told_code_release(struct told_code *code);

/* The mappings that are left in the end, in address order. */
struct told_mappings {
	VEC(const struct told_mapping *) list;
};

/* False when memory is out. The list is the caller's; what it points to is `code`'s. */
bool told_code_list(const struct told_code *code, struct told_mappings *ret)
	__attribute__((warn_unused_result));
void told_mappings_deinit(struct told_mappings *mappings);

/* Who is to be kept in mind. */
struct told_codes;

struct told_codes_options {
	/* Is it of interest what this process, of which nothing is known yet, or a child
	 * of it executes? */
	bool (*is_wanted)(void *arg, int pid);
	/* Has the process our root directory? */
	bool (*has_our_root)(void *arg, int pid);
	void *arg; /* borrowed */
};

/* NULL: memory is out. */
struct told_codes *told_codes_create(const struct told_codes_options *options);
void told_codes_destroy(struct told_codes *codes);

/* Take in what has happened. Children of processes that are kept in mind are kept, too.
 * What is beyond 16 MiB, or finds no memory, is not kept, and after WATCH_LOST nothing of
 * before is. */
void told_codes_hear(struct told_codes *codes, const struct watch_event *event);

/* A process that was there before anybody listened maps this, as of `time_ns`
 * (CLOCK_MONOTONIC): the code of `executable` (NULL: not known) counts as that of its
 * program. Nothing changes where its code is known. */
void told_codes_begin_with(struct told_codes *codes, int pid,
			   const struct proc_maps *maps, const char *executable,
			   uint64_t time_ns);

/* What is known of a process, also when it has exited; NULL: it has executed no program
 * since somebody listens, and its mappings were not read. Numbers are used again: compare
 * `since_ns`. One more owner: to be released before the codes are destroyed. */
struct told_code *told_codes_get(const struct told_codes *codes, int pid);

/* Forget those that have exited: whoever wanted to know has asked. */
void told_codes_sweep(struct told_codes *codes, uint64_t before_ns);

#endif
