/* SPDX-License-Identifier: Apache-2.0 */
/* Access to files that the kernel checks when they are opened (landlock(7), Linux 5.13).
 */
#ifndef CONFINED_LANDLOCK_H
#define CONFINED_LANDLOCK_H

#include <stdbool.h>

/*
 * Forbid the calling thread, and the threads that it creates later, permanently to open
 * any file for writing and to change any directory. Descriptors that are open stay as
 * they are. Landlock does not cover attributes of files, such as their modes. Sets
 * no_new_privs. Returns false if the kernel lacks Landlock.
 */
bool landlock_forbid_writing(void);

/* The files that a process keeps access to. */
struct landlock_files {
	/* Directories and files that may be read, including everything below them; ended
	 * by NULL. Those that do not exist are ignored. */
	const char *const *readable;
	/* A directory where files may also be created, changed and removed; borrowed. */
	int writable;
};

/* Prepare rules that permit access to these files only, and to /dev/null. Returns a
 * descriptor owned by the caller, or -1: the kernel lacks Landlock. */
int landlock_prepare(const struct landlock_files *files);

/* Put the calling thread under prepared rules, as landlock_forbid_writing() does. Returns
 * false if the kernel refuses. */
bool landlock_enter(int rules);

#endif
