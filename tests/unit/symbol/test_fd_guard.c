// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/fd_guard.h"
#include "util/fd_table.h"

/* What libbcc does by mistake. */
static void restores_what_was_closed(void)
{
	char path[] = "/tmp/memtrace-fd-guard-XXXXXX";
	int fd = mkstemp(path);
	int kept = fcntl(fd, F_DUPFD, 100);
	struct fd_guard guard;

	REQUIRE(fd >= 0 && kept >= 0);
	REQUIRE(!fcntl(fd, F_SETFD, FD_CLOEXEC));
	REQUIRE(write(fd, "before ", 7) == 7);
	REQUIRE(!fd_guard_begin(&guard));
	CHECK(!close(fd));
	fd_guard_end(&guard);
	CHECK_INT(write(fd, "after", 5), 5);
	CHECK_INT(fcntl(fd, F_GETFD), FD_CLOEXEC);
	CHECK_INT(fcntl(kept, F_GETFD), 0);
	CHECK_INT(lseek(kept, 0, SEEK_CUR), 12);

	/* Closed, and the number given to another file. */
	REQUIRE(!fd_guard_begin(&guard));
	CHECK(!close(fd));
	CHECK_INT(open("/dev/null", O_WRONLY), fd);
	fd_guard_end(&guard);
	CHECK_INT(write(fd, "!", 1), 1);
	CHECK_INT(lseek(kept, 0, SEEK_CUR), 13);

	unlink(path);
	close(fd);
	close(kept);
}

/* It closes numbers that it had before: then nobody's, and a copy's by now, maybe. */
static void stale_numbers_are_no_copies(void)
{
	int stale = dup(STDOUT_FILENO);
	struct stat before, after;
	struct fd_guard guard;

	REQUIRE(stale >= 0 && !close(stale));
	REQUIRE(!fstat(STDOUT_FILENO, &before));
	REQUIRE(!fd_guard_begin(&guard));
	for (int i = 0; i < 32; i++)
		close(stale + i);
	fd_guard_end(&guard);
	REQUIRE(!fstat(STDOUT_FILENO, &after));
	CHECK_INT(after.st_ino, before.st_ino);
	CHECK_INT(after.st_dev, before.st_dev);
}

/* The files that libbcc opens stay, and no child inherits them. */
static void keeps_what_was_opened(void)
{
	struct fd_guard guard;

	REQUIRE(!fd_guard_begin(&guard));

	int fd = open("/dev/null", O_RDONLY);

	fd_guard_end(&guard);
	REQUIRE(fd >= 0);
	CHECK_INT(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
}

static void silences(void)
{
	char path[] = "/tmp/memtrace-fd-guard-XXXXXX";
	int fd = mkstemp(path);
	int saved = dup(STDERR_FILENO);
	struct fd_guard guard;
	struct stat st;

	REQUIRE(fd >= 0 && saved >= 0);
	REQUIRE(dup2(fd, STDERR_FILENO) == STDERR_FILENO);
	fprintf(stderr, "ours");
	if (!fd_guard_begin(&guard)) {
		fprintf(stderr, "theirs, \x1b[31m");
		fd_guard_end(&guard);
		fprintf(stderr, "ours");
	}
	dup2(saved, STDERR_FILENO);
	REQUIRE(!fstat(fd, &st));
	CHECK_INT(st.st_size, 8);
	unlink(path);
	close(fd);
	close(saved);
}

/* No duplicate is left behind. */
static void leaves_nothing(void)
{
	int before = dup(0), after;
	struct fd_guard guard;

	close(before);
	for (int i = 0; i < 10; i++) {
		REQUIRE(!fd_guard_begin(&guard));
		fd_guard_end(&guard);
	}
	after = dup(0);
	CHECK_INT(after, before);
	close(after);
}

/* --- while another thread opens and closes files ---------------------------------- */

#define TIMES 2000

struct opener {
	bool is_over;
	unsigned opened, wrong;
};

static void *open_and_close(void *arg)
{
	struct opener *o = arg;
	struct stat wanted, st;

	stat("/proc/self/maps", &wanted);
	while (!__atomic_load_n(&o->is_over, __ATOMIC_SEQ_CST)) {
		fd_table_hold();

		int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

		o->wrong += fstat(fd, &st) || st.st_ino != wanted.st_ino;
		o->wrong += close(fd) != 0;
		fd_table_release();
		o->opened++;
	}
	return NULL;
}

static void with_another_thread(void)
{
	struct opener opener = {0};
	struct stat before, after;
	pthread_t thread;
	int fd = open("/dev/zero", O_RDONLY), kept = dup(0);

	close(kept);
	REQUIRE(fd >= 0 && !fstat(fd, &before));
	REQUIRE(!pthread_create(&thread, NULL, open_and_close, &opener));
	for (int i = 0; i < TIMES; i++) {
		struct fd_guard guard;

		REQUIRE(!fd_guard_begin(&guard));
		close(fd);
		sched_yield();
		fd_guard_end(&guard);
		CHECK(!fstat(fd, &after) && after.st_rdev == before.st_rdev);
	}
	__atomic_store_n(&opener.is_over, true, __ATOMIC_SEQ_CST);
	pthread_join(thread, NULL);
	CHECK(opener.opened > 0);
	CHECK_INT(opener.wrong, 0);
	/* Nor did what it had open come back. */
	CHECK_INT(dup(0), kept);
	close(kept);
	close(fd);
}

int main(void)
{
	RUN(restores_what_was_closed);
	RUN(stale_numbers_are_no_copies);
	RUN(keeps_what_was_opened);
	RUN(silences);
	RUN(leaves_nothing);
	RUN(with_another_thread);
	return check_done();
}
