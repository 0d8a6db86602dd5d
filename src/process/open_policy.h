/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that a confined process may open (confined/broker.h): files of one traced
 * process at a time, and debug files of the machine.
 *
 * - /proc/PID of that process and of its threads, or the substitute for it
 *   (process/stand_in.h). Paths through its "root" are resolved below the process's root
 *   directory; no link leads out of it;
 * - paths below /usr/lib/debug and the directories named by the user, but links there
 *   that lead to a file system of the kernel;
 * - any other absolute path is resolved below the process's root directory, and refused
 *   on procfs, sysfs, tracefs and other file systems of the kernel;
 * - /dev/null.
 *
 * Below the process's root directory only these regular files are opened: files that the
 * process maps or could read itself (process/file_user.h), and /tmp/perf-PID.map if it is
 * its user's, or root's and readable for all.
 *
 * Of those it may read ELF files, files of /proc/PID, and /tmp/perf-PID.map. ELF files
 * whose symbol tables exceed the limits of elf/elf_tables.h are refused.
 */
#ifndef PROCESS_OPEN_POLICY_H
#define PROCESS_OPEN_POLICY_H

#include <stdbool.h>

#include "process/mapped_files.h"
#include "process/proc.h"

struct open_policy {
	const struct proc *proc;       /* the process being read; NULL: none. Borrowed. */
	const char *const *debug_dirs; /* ended by NULL; may be NULL. Borrowed. */
	struct mapped_files *mapped;   /* what `proc` maps; not NULL if `proc` is not.
					  Borrowed. */
	/* the first file refused for the size of its symbol tables; NULL: none. The
	 * owner of the policy frees it and sets it to NULL. */
	char *too_large;
	/* Open no files on servers, which may not answer. */
	bool avoids_servers;
};

/* The functions of struct broker_policy; `arg` is the struct open_policy. */
int open_policy_find(void *arg, int dir, const char *path, bool no_follow);
bool open_policy_may_open(void *arg, const char *path, int place);
bool open_policy_may_read(void *arg, int fd);

#endif
