// SPDX-License-Identifier: Apache-2.0
/* Only regular files are opened, whatever their names are. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/regular_file.h"

/* Instead of the C library's. */
static bool is_system_unknown;

int fstatfs(int fd, struct statfs *ret)
{
	if (is_system_unknown) {
		errno = ENOSYS;
		return -1;
	}
	return (int)syscall(SYS_fstatfs, fd, ret);
}

static char dir[] = "/tmp/regular_file_XXXXXX";

static void in_dir(const char *name, char ret[64])
{
	snprintf(ret, 64, "%s/%s", dir, name);
}

static void regular_files_are_opened(void)
{
	char path[64], link[64], c = 0;
	FILE *file;
	int fd;

	in_dir("file", path);
	in_dir("link", link);
	file = fopen(path, "w");
	REQUIRE(file && fputc('x', file) == 'x' && !fclose(file));
	REQUIRE(!symlink("file", link));
	fd = regular_file_open(link);
	CHECK(fd >= 0);
	CHECK_INT(read(fd, &c, 1), 1);
	CHECK_INT(c, 'x');
	CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	unlink(link);
	unlink(path);
}

static void nothing_else_is(void)
{
	char path[64];

	in_dir("fifo", path);
	REQUIRE(!mkfifo(path, 0600));
	errno = 0;
	CHECK_INT(regular_file_open(path), -1);
	CHECK_INT(errno, ENODEV);
	/* A writer that waits for a reader still waits. */
	CHECK_INT(open(path, O_WRONLY | O_NONBLOCK), -1);
	unlink(path);
	CHECK_INT(regular_file_open("/dev/null"), -1);
	CHECK_INT(regular_file_open("/tmp"), -1);
	errno = 0;
	CHECK_INT(regular_file_open("/tmp/no/such/file"), -1);
	CHECK_INT(errno, ENOENT);
}

/* Reading these files may have effects. */
static void files_of_the_kernel_are_not(void)
{
	static const char *const paths[] = {"/proc/self/status",
					    "/sys/kernel/uevent_seqnum",
					    "/sys/kernel/tracing/README"};
	int place, fd;

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		if (access(paths[i], R_OK))
			continue;
		errno = 0;
		CHECK_INT(regular_file_open(paths[i]), -1);
		CHECK_INT(errno, EACCES);
		place = open(paths[i], O_PATH | O_CLOEXEC);
		fd = regular_file_reopen_proc(place);
		CHECK_INT(fd >= 0, i == 0);
		if (fd >= 0)
			close(fd);
		close(place);
	}
}

/* A file system that does not say which one it is may be one of the kernel. */
static void files_of_unknown_systems_are_not(void)
{
	char path[64];
	int place, fd;

	in_dir("file", path);
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	place = open(path, O_PATH | O_CLOEXEC);
	REQUIRE(place >= 0);
	is_system_unknown = true;
	errno = 0;
	CHECK_INT(regular_file_reopen(place), -1);
	CHECK_INT(errno, ETIMEDOUT);
	is_system_unknown = false;
	fd = regular_file_reopen(place);
	CHECK(fd >= 0);
	close(fd);
	close(place);
	unlink(path);
}

/* The owner of a file can make open(2) by others wait for 45 s
 * (/proc/sys/fs/lease-break-time). Its signal is not handled here. */
static void leases_are_not_waited_for(void)
{
	char path[64];
	uint64_t begin_ns;
	int fd, holder;

	in_dir("file", path);
	holder = open(path, O_CREAT | O_RDONLY | O_CLOEXEC, 0600);
	REQUIRE(holder >= 0);
	signal(SIGIO, SIG_IGN);
	if (fcntl(holder, F_SETLEASE, F_WRLCK)) {
		CHECK_NOT_FOR_KERNEL("no leases");
		close(holder);
		unlink(path);
		return;
	}
	begin_ns = clock_now_ns();
	errno = 0;
	fd = regular_file_open(path);
	CHECK_INT(fd, -1);
	CHECK_INT(errno, EWOULDBLOCK);
	fd = regular_file_open_below(AT_FDCWD, path);
	CHECK_INT(fd, -1);
	CHECK(clock_now_ns() - begin_ns < UINT64_C(1000000000));
	/* Once it is gone the file is opened. */
	REQUIRE(!fcntl(holder, F_SETLEASE, F_UNLCK));
	fd = regular_file_open(path);
	CHECK(fd >= 0);
	close(fd);
	close(holder);
	unlink(path);
}

int main(void)
{
	REQUIRE(mkdtemp(dir));
	RUN(regular_files_are_opened);
	RUN(nothing_else_is);
	RUN(files_of_the_kernel_are_not);
	RUN(files_of_unknown_systems_are_not);
	RUN(leases_are_not_waited_for);
	rmdir(dir);
	return check_done();
}
