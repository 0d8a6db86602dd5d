/* SPDX-License-Identifier: Apache-2.0 */
/* Finds processes by name, and counts them. */
#ifndef PROCESS_NAMED_H
#define PROCESS_NAMED_H

#include <stdbool.h>
#include <stddef.h>

#include "util/vec.h"

/*
 * Fill `ret` with the ids of processes of this name, as pidof(1) finds them by
 * /proc/PID/comm, lowest first, but not our own. The kernel keeps 15 bytes of a name; a
 * longer `name` matches by these. Returns how many there are, at most `max`; 0 also if
 * /proc cannot be listed.
 */
size_t named_find(const char *name, int ret[], size_t max);

/* The same for processes whose name contains `part` and is longer. */
size_t named_find_containing(const char *part, int ret[], size_t max);

/*
 * The same for processes whose /proc/PID/exe is this path, in our own mount namespace: in
 * another one the same path is another file. No link is followed and no file is opened.
 */
size_t named_find_executable(const char *path, int ret[], size_t max);

/* All processes that have a program, of a name; of a path if it has a slash; or of a unit
 * of systemd (unit.h) if it is named like one. Lowest first. Without memory the last ones
 * are missing. */
struct named_pids {
	VEC(int) list;
};
void named_find_programs(const char *name, struct named_pids *ret);
void named_pids_deinit(struct named_pids *pids);

/* Has the process a program? Not if it has ended and was not waited for, nor if it is a
 * thread of the kernel. */
bool named_has_program(int pid);

/* How many processes there are; 0 if /proc cannot be listed. */
size_t named_count(void);

#endif
