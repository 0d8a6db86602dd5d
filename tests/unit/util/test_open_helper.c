// SPDX-License-Identifier: Apache-2.0
/* The child that opens files gives the same answers as the system calls. When it has
 * ended, memtrace makes the calls itself. For file systems that do not answer see
 * live.stop_hung. */
#include "check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/cleanup.h"
#include "util/clock.h"
#include "util/open_helper.h"
#include "util/regular_file.h"

/* A file system without a block device: the child opens files on it. */
static char dir[] = "/dev/shm/memtrace-opener-XXXXXX";
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

/* The answers must be the same with and without a child. */
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

/* The child looks up paths that the kernel has not cached. */
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

/* If the caller has no free descriptor for the answer, the error says so. */
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
	/* The next request works again. */
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

/* A new process: the kernel has not cached its files in /proc. */
static pid_t fresh_process(void)
{
	pid_t pid = fork();

	REQUIRE(pid >= 0);
	if (!pid) {
		for (;;)
			pause();
	}
	return pid;
}

static void end_process(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void check_fresh_path(void)
{
	pid_t pid = fresh_process();
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	_cleanup_(closep) int place = place_open(path, 0);

	CHECK(place >= 0);
	end_process(pid);
}

static void outlives_its_child(void)
{
	/* Each kind of call may be the first one that notices the end of the child. */
	for (int first = 0; first < 4; first++) {
		_cleanup_(closep) int root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
		_cleanup_(closep) int link = place_find(root, "/link", O_NOFOLLOW);
		_cleanup_(closep) int folder = -1;
		char text[16];

		start();
		REQUIRE(!kill(only_child(), SIGKILL));
		usleep(100000);
		if (first == 0)
			check_fresh_path();
		if (first == 1)
			folder = open_helper_reopen(root, O_DIRECTORY);
		CHECK(first != 1 || folder >= 0);
		if (first == 2)
			CHECK(open_helper_system(root) != 0);
		if (first == 3)
			CHECK_INT(open_helper_readlink(link, text, sizeof(text)), 4);
		check_answers();
		check_fresh_path();
		open_helper_stop();
	}
}

/* The child has no descriptor for the one that comes with a request. */
static void the_child_runs_out_of_descriptors(void)
{
	_cleanup_(closep) int place = open(dir, O_PATH | O_CLOEXEC);
	struct rlimit before, none;
	int child;

	start();
	check_answers();
	child = only_child();
	REQUIRE(!prlimit(child, RLIMIT_NOFILE, NULL, &before));
	none = (struct rlimit){0, before.rlim_max};
	REQUIRE(!prlimit(child, RLIMIT_NOFILE, &none, NULL));
	errno = 0;
	CHECK_INT(open_helper_reopen(place, O_DIRECTORY), -1);
	CHECK_INT(errno, EMFILE);
	REQUIRE(!prlimit(child, RLIMIT_NOFILE, &before, NULL));
	check_answers();
	CHECK_INT(only_child(), child);
	CHECK(!kill(child, 0) && !waitpid(child, NULL, WNOHANG));
	open_helper_stop();
}

/* Ctrl-C in a terminal is sent to the child, too. */
static void signals_do_not_end_the_child(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1};
	int child;

	start();
	check_answers();
	child = only_child();
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		REQUIRE(!kill(child, numbers[i]));
	usleep(100000);
	CHECK(!waitpid(child, NULL, WNOHANG));
	check_answers();
	open_helper_stop();
}

static void the_child_has_no_files_of_ours(void)
{
	_cleanup_(closep) int ours = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	char path[64];
	unsigned count = 0;

	start();
	check_answers();
	/* The child closes the request's descriptor after it has answered. */
	usleep(100000);
	snprintf(path, sizeof(path), "/proc/%d/fd", only_child());
	_cleanup_(closedirp) DIR *fds = opendir(path);

	REQUIRE(ours >= 0 && fds);
	for (struct dirent *at; (at = readdir(fds));) {
		char target[256] = "";
		ssize_t n =
			readlinkat(dirfd(fds), at->d_name, target, sizeof(target) - 1);

		count += n > 0;
		CHECK(n <= 0 || !strcmp(target, "/dev/null") ||
		      !strncmp(target, "socket:", 7));
	}
	/* Three standard descriptors, and seven for requests. */
	CHECK_INT(count, 10);
	open_helper_stop();
}

/* --- a helper that does not answer ------------------------------------------------ */

static unsigned warnings;
static char warned_of[256];

static void hear(const char *path)
{
	warnings++;
	snprintf(warned_of, sizeof(warned_of), "%s", path);
}

/* A child that does not answer: like one whose file system does not. */
static int start_stopped(void)
{
	_cleanup_(closep) int root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	REQUIRE(!open_helper_start(&(const struct open_helper_options){NULL, hear}));
	warnings = 0;
	/* The child works. */
	REQUIRE(open_helper_system(root));
	REQUIRE(!kill(only_child(), SIGSTOP));
	return only_child();
}

static double since_s(uint64_t begin_ns)
{
	return (double)(clock_now_ns() - begin_ns) / 1e9;
}

/* One call waits. Later calls on that file system do not, and calls on /proc do not use
 * the child. After the answer everything works again. */
static void gives_up_a_file_system(void)
{
	_cleanup_(closep) int root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(closep) int here = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	uint64_t begin_ns = clock_now_ns();
	int child = start_stopped();

	errno = 0;
	CHECK_INT(open_helper_reopen(root, O_DIRECTORY), -1);
	CHECK_INT(errno, ETIMEDOUT);
	CHECK(since_s(begin_ns) > 3.5 && since_s(begin_ns) < 8);
	CHECK_INT(warnings, 1);
	CHECK_STR(warned_of, dir);
	begin_ns = clock_now_ns();
	for (int i = 0; i < 10; i++) {
		errno = 0;
		CHECK_INT(open_helper_system(root), 0);
		CHECK_INT(errno, ETIMEDOUT);
	}
	_cleanup_(closep) int proc = open_helper_reopen(here, O_DIRECTORY);

	CHECK(proc >= 0);
	CHECK(since_s(begin_ns) < 1);
	CHECK_INT(warnings, 1);
	CHECK_INT(open_helper_given_up(), 11);
	REQUIRE(!kill(child, SIGCONT));
	usleep(200000);
	_cleanup_(closep) int again = open_helper_reopen(root, O_DIRECTORY);

	CHECK(again >= 0);
	CHECK(open_helper_system(root) != 0);
	CHECK_INT(open_helper_given_up(), 11);
	open_helper_stop();
}

/* A path belongs to the file system of its innermost known directory. */
static void gives_up_by_paths(void)
{
	uint64_t begin_ns;
	struct stat top, tmp;

	REQUIRE(!stat("/", &top) && !stat("/tmp", &tmp));
	start_stopped();
	open_helper_hurry();
	CHECK(place_open("/memtrace-no-such-file", 0) < 0);
	CHECK_INT(errno, ETIMEDOUT);
	CHECK_STR(warned_of, "/memtrace-no-such-file");
	begin_ns = clock_now_ns();
	CHECK(place_open("/tmp/memtrace-no-such-directory/file", 0) < 0);
	CHECK_INT(errno, ETIMEDOUT);
	CHECK_INT(warnings, top.st_dev == tmp.st_dev ? 1 : 2);
	CHECK(since_s(begin_ns) < 2);
	open_helper_stop();
}

static void waits_less_in_a_hurry(void)
{
	_cleanup_(closep) int root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	uint64_t begin_ns = clock_now_ns();

	start_stopped();
	open_helper_hurry();
	CHECK_INT(open_helper_system(root), 0);
	CHECK_INT(errno, ETIMEDOUT);
	CHECK(since_s(begin_ns) < 2);
	open_helper_stop();
}

/* The child ends with its parent, even while it waits and does not notice that its
 * sockets are closed. */
static void ends_with_its_parent(void)
{
	int ends[2], child = 0;
	pid_t parent;

	REQUIRE(!pipe2(ends, O_CLOEXEC));
	parent = fork();
	REQUIRE(parent >= 0);
	if (!parent) {
		child = start_stopped();
		if (write(ends[1], &child, sizeof(child)) == sizeof(child))
			pause();
		_exit(1);
	}
	REQUIRE(read(ends[0], &child, sizeof(child)) == sizeof(child));
	end_process(parent);
	for (int i = 0; i < 100 && !kill(child, 0); i++) {
		char path[64], state = 'Z';
		FILE *stat_file;

		snprintf(path, sizeof(path), "/proc/%d/stat", child);
		stat_file = fopen(path, "re");
		if (stat_file && fscanf(stat_file, "%*d (%*[^)]) %c", &state) != 1)
			state = 'Z';
		if (stat_file)
			fclose(stat_file);
		if (state == 'Z')
			break;
		usleep(20000);
		if (i == 99) {
			CHECK_FAIL("the child is left behind");
			kill(child, SIGKILL);
		}
	}
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	make_files();
	RUN(answers_without_a_child);
	RUN(answers_with_a_child);
	RUN(looks_up_new_paths);
	RUN(says_that_descriptors_ran_out);
	RUN(the_child_runs_out_of_descriptors);
	RUN(signals_do_not_end_the_child);
	RUN(the_child_has_no_files_of_ours);
	RUN(outlives_its_child);
	RUN(gives_up_a_file_system);
	RUN(gives_up_by_paths);
	RUN(waits_less_in_a_hurry);
	RUN(ends_with_its_parent);
	remove_files();
	return check_done();
}
