// SPDX-License-Identifier: Apache-2.0
/* Mappings that a task of its own reads. live.held_locks has a process that holds its
 * lock. */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "process/procfs.h"
#include "process/timed_read.h"

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

	CHECK_INT(timed_read_maps(getpid(), PROCFS_MAPS_BYTES, &text, &size), 0);
	REQUIRE(text);
	CHECK_INT(strlen(text), size);
	CHECK(has_program(text));
	free(text);
	CHECK(!timed_read_would_fail(getpid()));
	CHECK_INT(count_descriptors(), before);
	/* No task is left. */
	CHECK(waitpid(-1, NULL, __WALL | WNOHANG) == -1 && errno == ECHILD);
}

static void errors(void)
{
	unsigned before = count_descriptors();
	char *text = NULL;
	size_t size = 0;
	pid_t gone = fork();

	if (!gone)
		_exit(0);
	CHECK_INT(timed_read_maps(getpid(), 100, &text, &size), EFBIG);
	REQUIRE(waitpid(gone, NULL, 0) == gone);
	CHECK_INT(timed_read_maps(gone, PROCFS_MAPS_BYTES, &text, &size), ENOENT);
	CHECK(!timed_read_would_fail(gone));
	CHECK(!text);
	CHECK_INT(count_descriptors(), before);
}

static void *read_often(void *arg)
{
	unsigned *good = arg;

	for (int i = 0; i < READS; i++) {
		char *text = NULL;
		size_t size;

		if (!timed_read_maps(getpid(), PROCFS_MAPS_BYTES, &text, &size))
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

		_exit(timed_read_maps(getpid(), PROCFS_MAPS_BYTES, &text, &size) ||
		      !has_program(text) || timed_read_would_fail(getpid()));
	}
	REQUIRE(waitpid(child, &status, 0) == child);
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
}

int main(void)
{
	RUN(reads_maps);
	timed_read_enable();
	RUN(reads_maps);
	RUN(errors);
	RUN(by_several_threads);
	RUN(not_in_children);
	return check_done();
}
