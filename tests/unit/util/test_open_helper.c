// SPDX-License-Identifier: Apache-2.0
/* The child that opens files answers as the system calls do, and when it is gone they are
 * made here. live.stop has file systems that do not answer. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "util/cleanup.h"
#include "util/open_helper.h"
#include "util/regular_file.h"

static char dir[] = "/tmp/memtrace-opener-XXXXXX";
static char file[64], link_name[64];

static void make_files(void)
{
	_cleanup_(closep) int fd = -1;

	REQUIRE(mkdtemp(dir));
	snprintf(file, sizeof(file), "%s/file", dir);
	snprintf(link_name, sizeof(link_name), "%s/link", dir);
	fd = open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	REQUIRE(fd >= 0 && write(fd, "text", 4) == 4);
	REQUIRE(!symlink("file", link_name));
}

static void remove_files(void)
{
	unlink(link_name);
	unlink(file);
	rmdir(dir);
}

/* The same with and without a child. */
static void check_answers(void)
{
	_cleanup_(closep) int root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(closep) int place = place_find(root, "/link", 0);
	_cleanup_(closep) int link = place_find(root, "/link", O_NOFOLLOW);
	_cleanup_(closep) int out = place_find(root, "/../../etc/passwd", 0);
	_cleanup_(closep) int here = place_open(file, 0);
	_cleanup_(closep) int fd = regular_file_reopen(place);
	_cleanup_(closep) int folder = open_helper_reopen(root, O_DIRECTORY);
	struct stat st, want;
	struct statfs fs;
	char text[16] = "";

	REQUIRE(!stat(file, &want) && !statfs(file, &fs));
	CHECK(here >= 0 && link >= 0 && folder >= 0);
	CHECK(out < 0);
	CHECK(fd >= 0 && read(fd, text, sizeof(text)) == 4);
	CHECK_STR(text, "text");
	CHECK(!open_helper_stat(place, "", &st));
	CHECK_INT(st.st_ino, want.st_ino);
	CHECK_INT(st.st_dev, want.st_dev);
	CHECK_INT(st.st_size, 4);
	CHECK_INT(st.st_mode, S_IFREG | 0600);
	CHECK(!open_helper_stat(AT_FDCWD, file, &st));
	CHECK_INT(st.st_ino, want.st_ino);
	CHECK_INT(open_helper_system(place), (uint32_t)fs.f_type);
	CHECK_INT(open_helper_readlink(link, text, sizeof(text)), 4);
	CHECK(!memcmp(text, "file", 4));
	CHECK_INT(open_helper_readlink(link, text, 2), 2);
	errno = 0;
	CHECK(place_find(root, "/no/such", 0) < 0);
	CHECK_INT(errno, ENOENT);
	CHECK_INT(open_helper_given_up(), 0);
}

static void answers_without_a_child(void)
{
	check_answers();
}

static void start(void)
{
	REQUIRE(!open_helper_start(&(const struct open_helper_options){NULL, NULL}));
}

static void answers_with_a_child(void)
{
	start();
	check_answers();
	open_helper_stop();
}

/* A path that the kernel does not know yet is the child's to look up. */
static void looks_up_new_paths(void)
{
	start();
	for (int i = 0; i < 100; i++) {
		char name[96];

		snprintf(name, sizeof(name), "%s/no-%d/no", dir, i);
		errno = 0;
		CHECK(place_open(name, 0) < 0);
		CHECK_INT(errno, ENOENT);
	}
	open_helper_stop();
}

/* No descriptor is left for the answer. */
static void says_that_descriptors_ran_out(void)
{
	_cleanup_(closep) int place = open("/dev/shm", O_PATH | O_CLOEXEC);
	struct rlimit before, few;

	start();
	REQUIRE(place >= 0 && !getrlimit(RLIMIT_NOFILE, &before));
	few = (struct rlimit){(rlim_t)dup(0), before.rlim_max};
	close((int)few.rlim_cur);
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &few));

	int fd = open_helper_reopen(place, O_DIRECTORY), err = errno;

	REQUIRE(!setrlimit(RLIMIT_NOFILE, &before));
	CHECK_INT(fd, -1);
	CHECK_INT(err, EMFILE);
	/* The next one is answered again. */
	fd = open_helper_reopen(place, O_DIRECTORY);
	CHECK(fd >= 0);
	closep(&fd);
	open_helper_stop();
}

static int only_child(void)
{
	char path[64];
	int child = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	_cleanup_(fclosep) FILE *children = fopen(path, "re");

	REQUIRE(children && fscanf(children, "%d", &child) == 1);
	return child;
}

static void outlives_its_child(void)
{
	start();
	REQUIRE(!kill(only_child(), SIGKILL));
	usleep(100000);
	check_answers();
	open_helper_stop();
}

int main(void)
{
	make_files();
	RUN(answers_without_a_child);
	RUN(answers_with_a_child);
	RUN(looks_up_new_paths);
	RUN(says_that_descriptors_ran_out);
	RUN(outlives_its_child);
	remove_files();
	return check_done();
}
