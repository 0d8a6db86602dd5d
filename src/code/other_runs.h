/* SPDX-License-Identifier: Apache-2.0 */
/* Code of processes that may differ from the file, for other_code.h. */
#ifndef CODE_OTHER_RUNS_H
#define CODE_OTHER_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "process/file_names.h"
#include "util/vec.h"

/* Code of one process that may differ from the file. */
struct other_run {
	int pid;
	struct file_name file; /* as /proc/PID/maps names it */
	uint64_t address;      /* in the process */
	uint64_t file_offset;  /* bytes */
	uint64_t size;         /* bytes */
	/* It must not be compared, and has no address or file: the time ran out before
	 * the process was read, or it cannot be read, or it maps the file more often than
	 * any real program. */
	bool is_unread;
};

struct other_runs {
	VEC(struct other_run) list;
};

/* Add a run. It becomes a part of the last one if that one ends where it begins. False:
 * memory is out. */
bool other_runs_add(struct other_runs *runs, struct other_run run);

/* Add code that will not be compared. The process has only one such run, if its code is
 * added without other runs in between. False: memory is out. */
bool other_runs_add_unread(struct other_runs *runs, int pid, uint64_t file_offset,
			   uint64_t size);

#endif
