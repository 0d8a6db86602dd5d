// SPDX-License-Identifier: Apache-2.0
/* What processes of root can do after they have given up privileges. */
#include "apart.h"
#include "check.h"
#include "refuse_call.h"
#include "under_tsan.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "confined/landlock.h"
#include "confined/shed.h"
#include "util/cleanup.h"

/* All users may list the directory. */
static char dir[] = "/tmp/memtrace-shed-XXXXXX";
static char of_root[64], of_other[64], readable[64], folder[64], absent[64];

#define OTHER 12345

static void make(char path[64], const char *name, uid_t user, mode_t mode)
{
	int fd;

	snprintf(path, 64, "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	REQUIRE(fd >= 0 && write(fd, "text", 4) == 4);
	REQUIRE(!fchown(fd, user, user) && !fchmod(fd, mode));
	close(fd);
}

static void make_files(void)
{
	REQUIRE(mkdtemp(dir) && !chmod(dir, 0755));
	make(of_root, "root", 0, 0600);
	make(of_other, "other", OTHER, 0600);
	make(readable, "readable", 0, 0644);
	snprintf(folder, sizeof(folder), "%s/folder", dir);
	snprintf(absent, sizeof(absent), "%s/absent", dir);
	REQUIRE(!mkdir(folder, 0700) && !chown(folder, OTHER, OTHER));
}

/* 0, or the errno value. */
static int try_open(const char *path, int flags)
{
	_cleanup_(closep) int fd = open(path, flags | O_CLOEXEC, 0600);

	return fd < 0 ? errno : 0;
}

/* The same by openat2(2). */
static int try_openat2(const char *path, int flags)
{
	struct open_how how = {.flags = (unsigned)flags | O_CLOEXEC,
			       .mode = flags & O_CREAT ? 0600 : 0};
	_cleanup_(closep) int fd =
		(int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

	return fd < 0 ? errno : 0;
}

static int error_of(long result)
{
	return result ? errno : 0;
}

static bool has_landlock(void)
{
	return syscall(444, NULL, 0, 1) > 0;
}

static void check_capabilities(const char *want)
{
	char line[128], got[32] = "";
	FILE *file = fopen("/proc/self/status", "re");

	REQUIRE(file);
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "CapPrm: %31s", got) == 1 ||
		    sscanf(line, "CapEff: %31s", got) == 1)
			CHECK_STR(got, want);
	}
	fclose(file);
	CHECK(*got);
}

static unsigned long long permitted(void)
{
	unsigned long long ret = 0;
	char line[128];
	FILE *file = fopen("/proc/self/status", "re");

	REQUIRE(file);
	while (fgets(line, sizeof(line), file))
		sscanf(line, "CapPrm: %llx", &ret);
	fclose(file);
	return ret;
}

static void check_no_groups(void)
{
	char line[128], got[32] = "";
	FILE *file = fopen("/proc/self/status", "re");

	REQUIRE(file);
	while (fgets(line, sizeof(line), file))
		sscanf(line, "Groups: %31s", got);
	fclose(file);
	CHECK_STR(got, "");
}

/* It can read all files, and change none. */
static void opening(void)
{
	bool is_whole = has_landlock();

	REQUIRE(!shed_for_opening());
	check_capabilities("0000000000000004");
	CHECK_INT(try_open(of_root, O_RDONLY), 0);
	CHECK_INT(try_open(of_other, O_RDONLY), 0);
	CHECK_INT(try_openat2(of_other, O_RDONLY), 0);
	CHECK_INT(try_open(of_root, O_WRONLY), EPERM);
	CHECK_INT(try_open(of_root, O_RDONLY | O_TRUNC), EPERM);
	CHECK_INT(error_of(chmod(of_root, 0666)), EPERM);
	CHECK_INT(error_of(unlink(of_root)), EPERM);
	CHECK(socket(AF_UNIX, SOCK_STREAM, 0) < 0 && errno == EPERM);
	if (!is_whole) {
		CHECK_NOT_FOR_KERNEL("no Landlock");
		return;
	}
	CHECK_INT(try_openat2(of_root, O_WRONLY), EACCES);
	CHECK_INT(try_openat2(of_root, O_RDWR), EACCES);
	CHECK_INT(try_openat2(readable, O_WRONLY | O_TRUNC), EACCES);
	CHECK_INT(try_openat2("/proc/sys/kernel/core_pattern", O_WRONLY), EACCES);
	CHECK_INT(try_openat2(absent, O_RDONLY | O_CREAT), EACCES);
	CHECK_INT(try_openat2("/dev/null", O_WRONLY), EACCES);
}

/* It can open only files that every user can read. */
static void report(void)
{
	const gid_t groups[] = {0, OTHER};
	int kept = open(of_root, O_RDWR | O_CLOEXEC);

	REQUIRE(!setgroups(2, groups));
	REQUIRE(!shed_for_report());
	check_no_groups();
	check_capabilities("0000000000000000");
	CHECK_INT(getuid(), SHED_USER);
	CHECK_INT(getegid(), SHED_USER);
	CHECK_INT(try_open(readable, O_RDONLY), 0);
	CHECK_INT(try_open(of_root, O_RDONLY), EACCES);
	CHECK_INT(try_open(of_root, O_WRONLY), EACCES);
	CHECK_INT(try_open(of_other, O_RDONLY), EACCES);
	CHECK_INT(error_of(chmod(of_root, 0666)), EPERM);
	CHECK_INT(error_of(unlink(of_root)), EACCES);
	CHECK_INT(error_of(setuid(0)), EPERM);
	CHECK(socket(AF_UNIX, SOCK_STREAM, 0) < 0 && errno == EPERM);
	CHECK_INT(error_of(execl("/bin/true", "true", NULL)), EPERM);
	/* What is open stays so. */
	CHECK_INT(pwrite(kept, "TEXT", 4, 0), 4);
	close(kept);
}

/* It can create files wherever root can. */
static void writing(void)
{
	char path[80];
	struct stat st;

	REQUIRE(!shed_for_writing());
	check_capabilities("000000000000000a");
	snprintf(path, sizeof(path), "%s/new", folder);
	CHECK_INT(try_open(path, O_WRONLY | O_CREAT | O_EXCL), 0);
	CHECK(!stat(path, &st) && st.st_uid == 0);
	CHECK_INT(error_of(unlink(path)), 0);
	CHECK(socket(AF_UNIX, SOCK_STREAM, 0) < 0 && errno == EPERM);
	CHECK_INT(error_of(execl("/bin/true", "true", NULL)), EPERM);
	CHECK_INT(error_of(setuid(OTHER)), EPERM);
}

static void reading(void)
{
	char root_of_parent[64];

	snprintf(root_of_parent, sizeof(root_of_parent), "/proc/%d/root", getppid());
	REQUIRE(!shed_for_reading());
	/* DAC_READ_SEARCH, SYS_PTRACE, CHECKPOINT_RESTORE */
	check_capabilities("0000010000080004");
	CHECK_INT(geteuid(), SHED_USER);
	CHECK_INT(try_open(of_other, O_RDONLY), 0);
	CHECK_INT(try_open(root_of_parent, O_PATH), 0);
	CHECK_INT(try_open(of_root, O_WRONLY), EACCES);
}

/* Nothing of root's is left. It may create files of its own. */
static void screen(void)
{
	REQUIRE(!shed_for_screen());
	check_no_groups();
	check_capabilities("0000000000000000");
	CHECK_INT(getuid(), SHED_USER);
	CHECK_INT(getegid(), SHED_USER);
	CHECK_INT(try_open(of_root, O_RDONLY), EACCES);
	CHECK_INT(error_of(chmod(of_root, 0666)), EPERM);
	CHECK(socket(AF_UNIX, SOCK_STREAM, 0) < 0 && errno == EPERM);
	CHECK_INT(error_of(execl("/bin/true", "true", NULL)), EPERM);
}

static void tracing(void)
{
	char want[32];

	/* Those that docs/security.md lists, as far as this process had them. */
	snprintf(want, sizeof(want), "%016llx", permitted() & 0x1c401a840ee);
	REQUIRE(!shed_for_tracing(false, false, false));
	check_capabilities(want);
	CHECK_INT(geteuid(), 0);
	CHECK_INT(error_of(execl("/bin/true", "true", NULL)), EPERM);
	CHECK(socket(AF_UNIX, SOCK_STREAM, 0) < 0 && errno == EPERM);
	/* A child that is started again still gives up its user id. */
	REQUIRE(!shed_root(0));
	CHECK_INT(geteuid(), SHED_USER);
}

static void each_process(void)
{
	CHECK_APART(opening());
	CHECK_APART(report());
	CHECK_APART(writing());
	CHECK_APART(reading());
	CHECK_APART(screen());
	CHECK_APART(tracing());
}

/* --- where it is not possible --------------------------------------------------------
 */

static void write_map(int pid, const char *name, const char *map)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	REQUIRE(fd >= 0 && write(fd, map, strlen(map)) > 0);
	close(fd);
}

/* The user of a process of root in a user namespace with these ids. */
static unsigned user_in_namespace(const char *map)
{
	int ready[2], go[2], status;
	unsigned user = 0;
	char byte = 0;
	pid_t pid;

	REQUIRE(!pipe(ready) && !pipe(go));
	fflush(stdout);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		if (unshare(CLONE_NEWUSER))
			_exit(2);
		REQUIRE(write(ready[1], &byte, 1) == 1 && read(go[0], &byte, 1) == 1);
		REQUIRE(!setresgid(0, 0, 0) && !setresuid(0, 0, 0));
		user = shed_user();
		_exit(shed_root(0) || geteuid() != user || getegid() != user ||
		      write(ready[1], &user, sizeof(user)) != sizeof(user));
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) == 1) {
		write_map(pid, "uid_map", map);
		write_map(pid, "gid_map", map);
		REQUIRE(write(go[1], &byte, 1) == 1);
		REQUIRE(read(ready[0], &user, sizeof(user)) == sizeof(user));
	}
	REQUIRE(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	if (WEXITSTATUS(status) == 2)
		CHECK_SKIP_PART("no %s can be made", "user namespace");
	else
		CHECK_INT(WEXITSTATUS(status), 0);
	close(ready[0]);
	close(go[0]);
	close(go[1]);
	return user;
}

static void in_a_user_namespace(void)
{
	CHECK_INT(user_in_namespace("0 0 4294967295"), SHED_USER);
	CHECK_INT(user_in_namespace("0 0 65536"), SHED_USER_OVERFLOW);
	CHECK_INT(user_in_namespace("0 0 1"), 0);
}

static void opening_without_landlock(void)
{
	refuse_call(444, ENOSYS);
	CHECK(!landlock_forbid_writing());
	REQUIRE(!shed_for_opening());
	CHECK_INT(try_open(of_other, O_RDONLY), 0);
	CHECK_INT(try_open(of_root, O_WRONLY), EPERM);
	CHECK_INT(error_of(chmod(of_root, 0666)), EPERM);
	/* docs/security.md names this. */
	CHECK_INT(try_openat2(of_root, O_WRONLY), 0);
}

static void without_landlock(void)
{
	CHECK_APART(opening_without_landlock());
}

/* The error of a process that lacks a system call, and what it has given up. */
static void check_kept(struct error *err, enum error_code code, const char *capabilities,
		       uid_t user)
{
	REQUIRE(err);
	CHECK_INT(err->code, code);
	error_destroy(err);
	if (capabilities)
		check_capabilities(capabilities);
	CHECK_INT(geteuid(), user);
}

/* The process must not be taken for one that is not root's. */
static void without_setresuid(void)
{
	refuse_call(SYS_setresuid, ENOSYS);
	check_kept(shed_root(0), ERROR_IO, "0000000000000000", 0);
}

static void without_setresgid(void)
{
	refuse_call(SYS_setresgid, ENOSYS);
	check_kept(shed_for_report(), ERROR_IO, "0000000000000000", 0);
	/* It has the filter. */
	CHECK(socket(AF_UNIX, SOCK_STREAM, 0) < 0 && errno == EPERM);
}

/* What remains possible is done: the change of the user takes the capabilities. */
static void without_capset(void)
{
	refuse_call(SYS_capset, ENOSYS);
	check_kept(shed_for_report(), ERROR_UNSUPPORTED, "0000000000000000", SHED_USER);
	CHECK(socket(AF_UNIX, SOCK_STREAM, 0) < 0 && errno == EPERM);
}

static void writing_without_capset(void)
{
	refuse_call(SYS_capset, ENOSYS);
	check_kept(shed_for_writing(), ERROR_UNSUPPORTED, NULL, 0);
	CHECK(socket(AF_UNIX, SOCK_STREAM, 0) < 0 && errno == EPERM);
}

static void what_a_sandbox_forbids(void)
{
	CHECK_APART(without_setresuid());
	CHECK_APART(without_setresgid());
	CHECK_APART(without_capset());
	CHECK_APART(writing_without_capset());
}

int main(void)
{
	check_not_under_tsan(
		"ThreadSanitizer adds a thread to each process, and privileges belong to "
		"threads: glibc aborts if one of two cannot change its user");
	if (geteuid())
		check_skip("not root");
	make_files();
	RUN(each_process);
	RUN(in_a_user_namespace);
	RUN(without_landlock);
	RUN(what_a_sandbox_forbids);
	unlink(of_root);
	unlink(of_other);
	unlink(readable);
	unlink(absent);
	rmdir(folder);
	CHECK(!rmdir(dir));
	return check_done();
}
