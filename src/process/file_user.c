// SPDX-License-Identifier: Apache-2.0
#include "process/file_user.h"

#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/procfs.h"
#include "util/cleanup.h"

/* The numbers of the line that begins with `key`; NULL: no such line. The kernel escapes
 * newlines in the name of the process (proc_pid_status(5)). */
static const char *numbers_of(const char *status, const char *key)
{
	const char *line = strstr(status, key);

	return line ? line + strlen(key) : NULL;
}

/* Read the last number of a line: real, effective, saved, of the file system. */
static bool read_id(const char *status, const char *key, unsigned *ret)
{
	const char *numbers = numbers_of(status, key);

	return numbers && sscanf(numbers, "%*u %*u %*u %u", ret) == 1;
}

static void read_groups(const char *status, struct file_user *ret)
{
	const char *at = numbers_of(status, "\nGroups:");
	char *end;

	while (at && ret->group_count < FILE_USER_GROUPS_MAX) {
		at += strspn(at, " \t");
		if (*at < '0' || *at > '9')
			break;
		ret->groups[ret->group_count++] = (unsigned)strtoul(at, &end, 10);
		at = end;
	}
}

/* In a user namespace of its own a process has all capabilities, but not the user id 0
 * of ours. */
static bool reads_all(const char *status, unsigned uid)
{
	const uint64_t any =
		UINT64_C(1) << CAP_DAC_OVERRIDE | UINT64_C(1) << CAP_DAC_READ_SEARCH;
	uint64_t effective;

	return !uid && procfs_status_number(status, "CapEff:", 16, &effective) &&
	       effective & any;
}

bool file_user_parse(const char *status, struct file_user *ret)
{
	*ret = (struct file_user){0};
	if (!read_id(status, "\nUid:", &ret->uid) ||
	    !read_id(status, "\nGid:", &ret->gid))
		return false;
	read_groups(status, ret);
	ret->reads_all = reads_all(status, ret->uid);
	return true;
}

bool file_user_read(int pid, struct file_user *ret)
{
	_cleanup_(freep) char *status = NULL;
	size_t size;

	return !procfs_read(pid, "status", PROCFS_SMALL_BYTES, &status, &size) &&
	       file_user_parse(status, ret);
}

static bool is_in_group(const struct file_user *user, unsigned gid)
{
	if (user->gid == gid)
		return true;
	for (size_t i = 0; i < user->group_count; i++)
		if (user->groups[i] == gid)
			return true;
	return false;
}

bool file_user_may_read(const struct file_user *user, const struct stat *st)
{
	if (user->reads_all)
		return true;
	if (st->st_uid == user->uid)
		return st->st_mode & S_IRUSR;
	return st->st_mode & (is_in_group(user, st->st_gid) ? S_IRGRP : S_IROTH);
}

bool file_user_trusts(unsigned uid, const struct stat *st)
{
	return st->st_uid == uid || (st->st_uid == 0 && st->st_mode & S_IROTH);
}
