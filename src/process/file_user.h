/* SPDX-License-Identifier: Apache-2.0 */
/* Which files a process could read itself, by their owner and mode. memtrace reads no
 * other file only because a path of the process leads to it. */
#ifndef PROCESS_FILE_USER_H
#define PROCESS_FILE_USER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* Most processes are in fewer groups. */
#define FILE_USER_GROUPS_MAX 32

struct file_user {
	unsigned uid, gid; /* fsuid and fsgid, as our user namespace shows them */
	unsigned groups[FILE_USER_GROUPS_MAX]; /* supplementary; further ones are left
						  out */
	size_t group_count;
	bool reads_all; /* root, with the capability to read every file */
};

/* Parse the text of /proc/PID/status. False: a line is missing or malformed. */
bool file_user_parse(const char *status, struct file_user *ret);

/* Read the user of a process. False: unknown, for instance since it has exited. If it
 * may have exited, the caller must check this afterwards: the pid may be another
 * process's. */
bool file_user_read(int pid, struct file_user *ret);

/* By the file's owner, group and mode, could the user open it for reading? The
 * directories that lead to it, and access control lists, are not considered. */
bool file_user_may_read(const struct file_user *user, const struct stat *st);

/* Has the user written the file, or has root for all to read? By a bind mount the user
 * can put any file of the host at a path. */
bool file_user_trusts(unsigned uid, const struct stat *st);

#endif
