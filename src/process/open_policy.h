/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that a confined process may open (confined/broker.h): files of one traced
 * process at a time, debug files of the machine, and /dev/null. docs/security.md,
 * "Parsing", lists them. A process without /proc/PID has a substitute
 * (process/stand_in.h). ELF files whose symbol tables exceed the limits of
 * elf/elf_tables.h are refused.
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
