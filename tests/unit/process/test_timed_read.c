// SPDX-License-Identifier: Apache-2.0
/* Accesses to processes that threads make. A FIFO that nobody writes to stands for a
 * process that holds its lock; live.held_locks has a real one. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "process/procfs.h"
#include "process/timed_read.h"
#include "util/clock.h"
#include "util/lanes.h"

#define THREADS 4
#define READS   50

static unsigned count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned count = 0;

	REQUIRE(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

/* The text has a line for the program's own code. */
static bool has_program(const char *text)
{
	char path[256] = "";

	return readlink("/proc/self/exe", path, sizeof(path) - 1) > 0 &&
	       strstr(text, path);
}

static void reads_maps(void)
{
	unsigned before = count_descriptors();
	char *text = NULL;
	size_t size = 0;

	CHECK_INT(timed_read_maps(getpid(), getpid(), PROCFS_MAPS_BYTES, &text, &size),
		  0);
	REQUIRE(text);
	CHECK_INT(strlen(text), size);
	CHECK(has_program(text));
	free(text);
	CHECK(!timed_read_would_wait(getpid(), getpid()));
	CHECK_INT(count_descriptors(), before);
}

static void errors(void)
{
	unsigned before = count_descriptors();
	char *text = NULL;
	size_t size = 0;
	pid_t gone = fork();

	if (!gone)
		_exit(0);
	CHECK_INT(timed_read_maps(getpid(), getpid(), 100, &text, &size), EFBIG);
	REQUIRE(waitpid(gone, NULL, 0) == gone);
	CHECK_INT(timed_read_maps(gone, gone, PROCFS_MAPS_BYTES, &text, &size), ENOENT);
	CHECK(!timed_read_would_wait(gone, gone));
	CHECK(!text);
	CHECK_INT(count_descriptors(), before);
}

static void reads_memory(void)
{
	static const char text[] = "some bytes";
	unsigned before = count_descriptors();
	char copy[sizeof(text)] = "";

	CHECK_INT(timed_read_memory(getpid(), getpid(), (uintptr_t)text, copy,
				    sizeof(copy)),
		  sizeof(copy));
	CHECK_STR(copy, text);
	CHECK_INT(timed_read_memory(getpid(), getpid(), 16, copy, sizeof(copy)), -1);
	CHECK_INT(errno, EFAULT);
	CHECK_INT(count_descriptors(), before);
}

static void opens(void)
{
	unsigned before = count_descriptors();
	int fd = timed_read_open(getpid(), "/proc/self/comm", O_RDONLY | O_CLOEXEC);
	char byte;

	REQUIRE(fd >= 0);
	CHECK_INT(read(fd, &byte, 1), 1);
	close(fd);
	CHECK_INT(timed_read_open(getpid(), "/proc/self/none", O_RDONLY), -1);
	CHECK_INT(errno, ENOENT);
	CHECK_INT(count_descriptors(), before);
}

/* The threads have the capabilities that tracing needs, and no other. */
static void threads_without_privileges(void)
{
	DIR *dir = opendir("/proc/self/task");
	unsigned count = 0;

	REQUIRE(dir);
	for (struct dirent *entry; (entry = readdir(dir));) {
		char path[300], name[32] = "", line[128];
		unsigned long long has = 0;
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%s/status", entry->d_name);
		file = fopen(path, "re");
		while (file && fgets(line, sizeof(line), file))
			if (sscanf(line, "Name: %31s", name) != 1)
				sscanf(line, "CapPrm: %llx", &has);
		if (file)
			fclose(file);
		if (strcmp(name, "memtrace-proc") != 0)
			continue;
		count++;
		CHECK_INT(has & ~0x1c401a840eeull, 0);
	}
	closedir(dir);
	CHECK(count > 0);
}

/* Numbers that no process has. */
#define HELD_PID ((1 << 22) + 1)

static bool reads_own_maps(int pid)
{
	char *text = NULL;
	size_t size;
	int err = timed_read_maps(pid, getpid(), PROCFS_MAPS_BYTES, &text, &size);

	free(text);
	if (err)
		CHECK_INT(err, ETIMEDOUT);
	return !err;
}

/* Threads have to return first. */
static bool soon_reads_own_maps(int pid)
{
	for (int i = 0; i < 500; i++) {
		if (reads_own_maps(pid))
			return true;
		usleep(10000);
	}
	return false;
}

static void check_takes(uint64_t begin_ns, double min_s, double max_s)
{
	double s = (double)(clock_now_ns() - begin_ns) / 1e9;

	printf("took %.3f s\n", s);
	CHECK(s >= min_s && s < max_s);
}

/* Let the threads that wait for a writer go on. */
static void open_and_close(const char *fifo)
{
	int fd = open(fifo, O_WRONLY | O_CLOEXEC);

	REQUIRE(fd >= 0);
	close(fd);
}

/* The process is left alone until the access returns. Others are looked at. */
static void a_held_lock(void)
{
	char path[] = "timed_read.XXXXXX", fifo[64];
	unsigned before = count_descriptors();
	uint64_t begin_ns = clock_now_ns();

	REQUIRE(mkdtemp(path));
	snprintf(fifo, sizeof(fifo), "%s/fifo", path);
	REQUIRE(!mkfifo(fifo, 0600));
	CHECK_INT(timed_read_open(HELD_PID, fifo, O_RDONLY), -1);
	CHECK_INT(errno, ETIMEDOUT);
	check_takes(begin_ns, 0.9, 5);
	begin_ns = clock_now_ns();
	CHECK(!reads_own_maps(HELD_PID));
	CHECK(timed_read_would_wait(HELD_PID, getpid()));
	CHECK(reads_own_maps(getpid()));
	check_takes(begin_ns, 0, 0.5);
	open_and_close(fifo);
	CHECK(soon_reads_own_maps(HELD_PID));
	CHECK_INT(count_descriptors(), before);

	/* When many hold their locks, a few are waited for so long. */
	begin_ns = clock_now_ns();
	for (int i = 0; i < 10; i++)
		CHECK_INT(timed_read_open(HELD_PID + i, fifo, O_RDONLY), -1);
	check_takes(begin_ns, 0, 6);
	open_and_close(fifo);
	for (int i = 0; i < 10; i++)
		CHECK(soon_reads_own_maps(HELD_PID + i));

	/* No more threads: nothing is read, and nothing waits. */
	lanes_hurry();
	begin_ns = clock_now_ns();
	for (int i = 0; i < LANES_MAX; i++)
		CHECK_INT(timed_read_open(HELD_PID + i, fifo, O_RDONLY), -1);
	CHECK(!reads_own_maps(getpid()));
	check_takes(begin_ns, 0.01 * LANES_MAX, 30);
	open_and_close(fifo);
	CHECK(soon_reads_own_maps(getpid()));
	for (int i = 0; i < 500 && count_descriptors() != before; i++)
		usleep(10000);
	CHECK_INT(count_descriptors(), before);
	unlink(fifo);
	rmdir(path);
}

static void *read_often(void *arg)
{
	unsigned *good = arg;

	for (int i = 0; i < READS; i++) {
		char *text = NULL;
		size_t size;

		if (!timed_read_maps(getpid(), getpid(), PROCFS_MAPS_BYTES, &text, &size))
			*good += has_program(text);
		free(text);
	}
	return NULL;
}

static void by_several_threads(void)
{
	unsigned before = count_descriptors(), good[THREADS] = {0};
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		REQUIRE(!pthread_create(&threads[i], NULL, read_often, &good[i]));
	for (int i = 0; i < THREADS; i++) {
		REQUIRE(!pthread_join(threads[i], NULL));
		CHECK_INT(good[i], READS);
	}
	CHECK_INT(count_descriptors(), before);
}

/* A child reads itself, as before timed_read_enable(). */
static void not_in_children(void)
{
	pid_t child = fork();
	int status;

	if (!child) {
		char *text = NULL;
		size_t size;

		_exit(timed_read_maps(getpid(), getpid(), PROCFS_MAPS_BYTES, &text,
				      &size) ||
		      !has_program(text) || timed_read_would_wait(getpid(), getpid()));
	}
	REQUIRE(waitpid(child, &status, 0) == child);
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
}

int main(void)
{
	RUN(reads_maps);
	timed_read_enable();
	RUN(reads_maps);
	RUN(reads_memory);
	RUN(opens);
	RUN(threads_without_privileges);
	RUN(errors);
	RUN(by_several_threads);
	RUN(not_in_children);
	RUN(a_held_lock);
	return check_done();
}
