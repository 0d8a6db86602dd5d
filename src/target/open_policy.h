/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files a confined process may have (confined/broker.h): those of one process that
 * is traced, at a time, and debug files of the machine.
 *
 * - /proc/PID of that process and of its threads, or what stands for them
 *   (target/stand_in.h). What lies behind root is found below the process's root
 *   directory, out of which no link leads;
 * - below /usr/lib/debug and the directories that the user has named;
 * - any other absolute path is a path of the process, below its root directory, but not
 * in procfs, sysfs, tracefs and other file systems of the kernel;
 * - /dev/null.
 *
 * The regular files that it may read are those of /proc/PID, ELF files and
 * /tmp/perf-PID.map. ELF files whose symbol tables are beyond the limits
 * of target/elf_tables.h are refused.
 */
#ifndef TARGET_OPEN_POLICY_H
#define TARGET_OPEN_POLICY_H

#include <stdbool.h>

#include "target/proc.h"

struct open_policy {
	const struct proc *proc;       /* whose turn it is; NULL: nobody's. Borrowed. */
	const char *const *debug_dirs; /* ended by NULL; may be NULL. Borrowed. */
	char *too_large; /* a file that was refused for its symbol tables; NULL: none.
			    Owned by who has set the policy up, who frees it and sets it
			    to NULL. */
};

/* struct broker_policy; `arg` is the struct open_policy. */
int open_policy_find(void *arg, int dir, const char *path, bool no_follow);
bool open_policy_may_read(void *arg, int fd);

#endif
