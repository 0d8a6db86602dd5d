/* SPDX-License-Identifier: Apache-2.0 */
/* For live.least_privilege: the privileges of memtrace and of its children, by /proc. */
#ifndef TESTS_LIVE_PRIVILEGES_H
#define TESTS_LIVE_PRIVILEGES_H

#include "check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "confined/shed.h"
#include "live/inject.h"

#define TIMEOUT_S 60

/* DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER, KILL, SETGID, SETUID, IPC_LOCK, SYS_PTRACE,
 * SYS_ADMIN, SYS_NICE, SYS_RESOURCE, SYSLOG, PERFMON, BPF, CHECKPOINT_RESTORE. */
#define FOR_TRACING "000001c400a840ee"
#define FOR_OPENING "0000000000000004" /* DAC_READ_SEARCH */
#define FOR_FILES   "000000000000000a" /* DAC_OVERRIDE, FOWNER */
#define NONE        "0000000000000000"

struct status {
	char name[32], permitted[32], effective[32], inheritable[32], bounding[32],
		ambient[32], no_new_privs[8], filtered[8], uids[64], gids[64], groups[64];
};

/* False if the thread has ended. */
static inline bool read_status(const char *path, struct status *ret)
{
	char line[256];
	FILE *file = fopen(path, "re");

	*ret = (struct status){.name = ""};
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		sscanf(line, "Name: %31s", ret->name);
		sscanf(line, "CapPrm: %31s", ret->permitted);
		sscanf(line, "CapEff: %31s", ret->effective);
		sscanf(line, "CapInh: %31s", ret->inheritable);
		sscanf(line, "CapBnd: %31s", ret->bounding);
		sscanf(line, "CapAmb: %31s", ret->ambient);
		sscanf(line, "NoNewPrivs: %7s", ret->no_new_privs);
		sscanf(line, "Seccomp: %7s", ret->filtered);
		sscanf(line, "Uid: %63[^\n]", ret->uids);
		sscanf(line, "Gid: %63[^\n]", ret->gids);
		sscanf(line, "Groups: %63[^\n]", ret->groups);
	}
	fclose(file);
	return ret->name[0];
}

/* All four ids: real, effective, saved, and for files. */
static inline void check_user(const struct status *status, uid_t user)
{
	char ids[64];

	snprintf(ids, sizeof(ids), "%u\t%u\t%u\t%u", user, user, user, user);
	CHECK_STR(status->uids, ids);
	if (!user)
		return;
	CHECK_STR(status->gids, ids);
	CHECK_STR(status->groups, "");
}

static inline void check_status(const struct status *status, uid_t user,
				const char *capabilities)
{
	check_user(status, user);
	CHECK_STR(status->effective, capabilities);
	CHECK_STR(status->permitted, capabilities);
	/* A process without CAP_SETPCAP inherits the bounding set unchanged. */
	CHECK(strtoull(status->bounding, NULL, 16) == strtoull(capabilities, NULL, 16) ||
	      !strcmp(status->bounding, FOR_TRACING));
	CHECK_STR(status->inheritable, NONE);
	CHECK_STR(status->ambient, NONE);
	CHECK_STR(status->no_new_privs, "1");
	CHECK_STR(status->filtered, "2");
}

/* Checks all threads of the process. Returns their number. */
static inline unsigned check_threads(int pid, uid_t user, const char *capabilities)
{
	char path[64], name[160];
	struct dirent *entry;
	unsigned count = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	REQUIRE(dir);
	while ((entry = readdir(dir))) {
		struct status status;

		snprintf(name, sizeof(name), "%s/%.20s/status", path, entry->d_name);
		if (entry->d_name[0] == '.' || !read_status(name, &status))
			continue;
		check_status(&status, user, capabilities);
		count++;
	}
	closedir(dir);
	return count;
}

/* Code that took the process over could neither read nor change a file of root, although
 * the owner of a file needs no capability for that. */
static inline void check_files_of_root(int pid, bool opens_by_itself)
{
	/* All users may list its directory. */
	char path[] = "/tmp/memtrace-private-XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);
	long result;

	REQUIRE(fd >= 0);
	close(fd);
	/* An open of memtrace-read waits until memtrace answers. */
	if (opens_by_itself) {
		result = inject(pid, SYS_open, path, O_RDONLY, 0);
		CHECK(result == -EACCES || result == -EPERM);
		result = inject(pid, SYS_open, path, O_WRONLY, 0);
		CHECK(result == -EACCES || result == -EPERM);
	}
	CHECK_INT(inject(pid, SYS_chmod, path, 0666, 0), -EPERM);
	CHECK_INT(inject(pid, SYS_setuid, NULL, 0, 0), -EPERM);
	unlink(path);
}

static inline bool find_child(int pid, const char *name, int *ret)
{
	char path[64];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	file = fopen(path, "re");
	REQUIRE(file);
	while (!found && fscanf(file, "%d", ret) == 1) {
		struct status status;

		snprintf(path, sizeof(path), "/proc/%d/status", *ret);
		found = read_status(path, &status) && !strcmp(status.name, name);
	}
	fclose(file);
	return found;
}

/* A child of memtrace that has neither capabilities nor root's id. */
static inline void check_confined(int pid, const char *name, bool opens_by_itself)
{
	int child;

	REQUIRE(find_child(pid, name, &child));
	check_threads(child, SHED_USER, NONE);
	check_files_of_root(child, opens_by_itself);
}

/* Reads all files, and changes none. */
static inline void check_opener(int pid)
{
	char path[] = "/tmp/memtrace-private-XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);

	REQUIRE(fd >= 0 && !fchown(fd, 12345, 12345));
	close(fd);
	CHECK(inject(pid, SYS_open, path, O_RDONLY | O_CLOEXEC, 0) >= 0);
	CHECK_INT(inject(pid, SYS_open, path, O_WRONLY | O_CLOEXEC, 0), -EPERM);
	CHECK_INT(inject(pid, SYS_chmod, path, 0666, 0), -EPERM);
	CHECK_INT(inject(pid, SYS_execve, "/bin/true", 0, 0), -EPERM);
	unlink(path);
}

/* Its children that open and parse files. */
static inline void check_children(int pid)
{
	int opener;

	REQUIRE(find_child(pid, "memtrace-open", &opener));
	check_threads(opener, 0, FOR_OPENING);
	check_opener(opener);
	check_confined(pid, "memtrace-elf", true);
	check_confined(pid, "memtrace-read", false);
}

#endif
