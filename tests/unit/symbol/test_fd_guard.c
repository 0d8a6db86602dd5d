// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bcc/libbpf.h>

#include "symbol/fd_guard.h"
#include "util/fd_table.h"

/* Closes a descriptor in libbcc, which calls the close() that the dynamic linker has
 * bound. libbcc prints that it is not a perf event, and closes it nevertheless. */
static void close_by_libbcc(int fd)
{
	bpf_close_perf_event_fd(fd);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* libbcc closes a descriptor that it did not open. */
static void refuses_what_was_open(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int kept = fcntl(fd, F_DUPFD, 100);
	struct fd_guard guard;

	REQUIRE(fd >= 0 && kept >= 0);
	REQUIRE(!fd_guard_begin(&guard));

	/* Discards the message. */
	int result = close(fd), error = errno;

	close_by_libbcc(kept);
	fd_guard_end(&guard, NULL);
	CHECK_INT(result, -1);
	CHECK_INT(error, EBADF);
	CHECK_INT(fcntl(fd, F_GETFD), FD_CLOEXEC);
	CHECK_INT(fcntl(kept, F_GETFD), 0);

	/* Without a guard, libbcc's close() succeeds. */
	close_by_libbcc(kept);
	CHECK(!is_open(kept));
	CHECK(!close(fd));
}

static void allows_its_own(void)
{
	struct fd_list own = {0};
	struct fd_guard guard;

	REQUIRE(!fd_guard_begin(&guard));

	int first = open("/dev/null", O_RDONLY), second = open("/dev/null", O_RDONLY);

	close_by_libbcc(second);

	bool stayed = is_open(second);

	fd_guard_end(&guard, &own);
	REQUIRE(first >= 0 && second >= 0);
	CHECK(!stayed);
	REQUIRE(own.fds.len == 1 && own.fds.data[0] == first);

	REQUIRE(!fd_guard_begin(&guard));
	close_by_libbcc(first);
	stayed = is_open(first);
	fd_guard_except(&guard, &own);
	close_by_libbcc(first);

	bool stayed_still = is_open(first);

	fd_guard_end(&guard, NULL);
	CHECK(stayed);
	CHECK(!stayed_still);
	vec_deinit(&own.fds);
}

/* The descriptor's number must not be confused with standard output's. */
static void no_number_is_standard_output(void)
{
	struct stat before, after;
	struct fd_guard guard;

	REQUIRE(!fstat(STDOUT_FILENO, &before));
	REQUIRE(!fd_guard_begin(&guard));
	for (int i = 0; i < 4096; i++)
		close_by_libbcc(i);
	fd_guard_end(&guard, NULL);
	REQUIRE(!fstat(STDOUT_FILENO, &after));
	CHECK_INT(after.st_ino, before.st_ino);
	CHECK_INT(after.st_dev, before.st_dev);
}

/* Files that libbcc opens stay open, and are not inherited by children. */
static void keeps_what_was_opened(void)
{
	struct fd_guard guard;

	REQUIRE(!fd_guard_begin(&guard));

	int fd = open("/dev/null", O_RDONLY);

	fd_guard_end(&guard, NULL);
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
		fd_guard_end(&guard, NULL);
		fprintf(stderr, "ours");
	}
	dup2(saved, STDERR_FILENO);
	REQUIRE(!fstat(fd, &st));
	CHECK_INT(st.st_size, 8);
	unlink(path);
	close(fd);
	close(saved);
}

/* No duplicate is left open. */
static void leaves_nothing(void)
{
	int before = dup(0), after;
	struct fd_guard guard;

	close(before);
	for (int i = 0; i < 10; i++) {
		REQUIRE(!fd_guard_begin(&guard));
		fd_guard_end(&guard, NULL);
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
		__atomic_fetch_add(&o->opened, 1, __ATOMIC_SEQ_CST);
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
		/* The other thread's file gets the number. */
		close(kept);
		fd_guard_end(&guard, NULL);
		CHECK(!fstat(fd, &after) && after.st_rdev == before.st_rdev);
	}
	while (!__atomic_load_n(&opener.opened, __ATOMIC_SEQ_CST))
		sched_yield();
	__atomic_store_n(&opener.is_over, true, __ATOMIC_SEQ_CST);
	pthread_join(thread, NULL);
	CHECK(opener.opened > 0);
	CHECK_INT(opener.wrong, 0);
	/* The files that were open are closed, too. */
	CHECK_INT(dup(0), kept);
	close(kept);
	close(fd);
}

int main(void)
{
	RUN(refuses_what_was_open);
	RUN(allows_its_own);
	RUN(no_number_is_standard_output);
	RUN(keeps_what_was_opened);
	RUN(silences);
	RUN(leaves_nothing);
	RUN(with_another_thread);
	return check_done();
}
