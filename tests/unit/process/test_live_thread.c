// SPDX-License-Identifier: Apache-2.0
/* Processes whose main thread has exited: the thread id that is used to read them. */
#include "check.h"
#include "under_tsan.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "process/live_thread.h"
#include "process/proc.h"
#include "process/procfs.h"
#include "process/target_file.h"
#include "util/cleanup.h"
#include "unit/process/child.h"

DEFINE_CLEANUP(struct proc *, proc_close);

static volatile uint64_t known_word = 0x6c6976696e67;

/* Threads that write their ids to `said` and end when they can read a byte from
 * `until`. */
struct cast {
	int said[2];
	int until[2][2];
	int begun; /* number of started threads */
};

static void say_tid(const struct cast *cast)
{
	int tid = (int)syscall(SYS_gettid);

	if (write(cast->said[1], &tid, sizeof(tid)) != sizeof(tid))
		_exit(1);
}

static void live_until(int fd)
{
	char byte;

	if (read(fd, &byte, 1) < 0)
		_exit(1);
}

static void *play(void *argument)
{
	struct cast *cast = argument;
	int which = __atomic_load_n(&cast->begun, __ATOMIC_SEQ_CST);

	say_tid(cast);
	__atomic_store_n(&cast->begun, which + 1, __ATOMIC_SEQ_CST);
	live_until(cast->until[which][0]);
	/* Not by returning: the C library would end the process with the last thread. */
	syscall(SYS_exit, 0);
	return NULL;
}

/* A chain of threads that all end soon. */
static void *relay(void *argument)
{
	pthread_attr_t detached;
	pthread_t next;

	usleep(2000);
	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&next, &detached, relay, argument))
		_exit(1);
	return NULL;
}

static void begin_thread(void *(*body)(void *), struct cast *cast)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, body, cast))
		_exit(1);
}

static struct cast open_cast(void)
{
	struct cast cast = {.begun = 0};

	REQUIRE(pipe(cast.said) == 0 && pipe(cast.until[0]) == 0 &&
		pipe(cast.until[1]) == 0);
	return cast;
}

static void close_cast(const struct cast *cast)
{
	for (int i = 0; i < 2; i++) {
		close(cast->said[i]);
		close(cast->until[0][i]);
		close(cast->until[1][i]);
	}
}

static void await_state_of_first(pid_t pid, char state)
{
	for (int i = 0; i < 10000; i++) {
		_cleanup_(freep) char *text = NULL;
		struct procfs_stat st;
		size_t size;

		REQUIRE(!procfs_read(pid, "stat", PROCFS_SMALL_BYTES, &text, &size));
		REQUIRE(procfs_parse_stat(text, &st));
		if (st.state == state)
			return;
		usleep(1000);
	}
	REQUIRE(!"the first thread ended");
}

/* Starts a child with two threads, or with a relay of threads, whose main thread has
 * exited. */
static struct child start(struct cast *cast, bool is_relay, int tids[2])
{
	struct child child = {.to = -1, .from = -1};

	fflush(stdout);
	child.pid = fork();
	REQUIRE(child.pid >= 0);
	if (!child.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		begin_thread(is_relay ? relay : play, cast);
		if (!is_relay) {
			/* The first of the two must be the older one. */
			while (!__atomic_load_n(&cast->begun, __ATOMIC_SEQ_CST))
				usleep(1000);
			begin_thread(play, cast);
		}
		syscall(SYS_exit, 0);
	}
	for (int i = 0; i < 2 && !is_relay; i++)
		REQUIRE(read(cast->said[0], &tids[i], sizeof(*tids)) == sizeof(*tids));
	await_state_of_first(child.pid, 'Z');
	return child;
}

static void first_lives(void)
{
	struct child child = child_fork(NULL, NULL);
	struct live_thread live = live_thread_begin(child.pid);

	CHECK_INT(live.tid, child.pid);
	CHECK(live_thread_is_there(&live));
	CHECK(!live_thread_retry(&live));
	CHECK(!live_thread_has_lost_first(child.pid));
	child_end(&child);
	/* All threads have ended: `live` stays unchanged. */
	CHECK(!live_thread_is_there(&live));
	CHECK(!live_thread_retry(&live));
	CHECK_INT(live_thread_begin(child.pid).tid, child.pid);
	CHECK(!live_thread_has_lost_first(child.pid));
}

static void zombie(void)
{
	struct child child = child_fork(NULL, NULL);
	struct stat st;

	child_kill(&child);
	CHECK_INT(live_thread_begin(child.pid).tid, child.pid);
	CHECK(!live_thread_has_lost_first(child.pid));
	CHECK_INT(live_thread_stat(child.pid, "exe", &st), -1);
	CHECK_INT(errno, ENOENT);
	child_end(&child);
}

static void check_files(pid_t pid, int tid)
{
	struct stat there, here;
	char path[PATH_MAX], own[PATH_MAX], text[64], byte;
	uint64_t word = 0;
	ssize_t n;

	REQUIRE(!live_thread_stat(pid, "exe", &there) && !stat("/proc/self/exe", &here));
	CHECK(there.st_ino == here.st_ino && there.st_dev == here.st_dev);
	n = live_thread_readlink(pid, "exe", path, sizeof(path));
	REQUIRE(n > 0 && readlink("/proc/self/exe", own, sizeof(own)) == n);
	CHECK(!memcmp(path, own, (size_t)n));

	_cleanup_(closep) int maps = live_thread_open(pid, "maps", O_RDONLY | O_CLOEXEC);

	CHECK(maps >= 0 && read(maps, &byte, 1) == 1);
	CHECK(live_thread_read(pid, (uintptr_t)&known_word, &word, sizeof(word)));
	CHECK(word == known_word);
	CHECK(!live_thread_read(pid, 8, &word, sizeof(word)));
	/* /proc/PID of such a process has no exe link, /proc/TID has. */
	snprintf(text, sizeof(text), "/proc/%d/exe", pid);
	CHECK(readlink(text, path, sizeof(path)) < 0);
	snprintf(text, sizeof(text), "/proc/%d/exe", tid);
	CHECK(readlink(text, path, sizeof(path)) > 0);
}

static void check_process(pid_t pid)
{
	_cleanup_(proc_closep) struct proc *proc = NULL;
	struct proc_memory memory;
	struct proc_maps maps;
	unsigned opened = 0;

	REQUIRE(!proc_open(pid, &proc));
	CHECK(!proc_has_exited(proc) && !proc_exits(proc));
	CHECK(proc_image(proc) != 0);
	REQUIRE(!proc_read_memory(proc, &memory));
	CHECK(memory.vm_rss_bytes > 0 && memory.vm_size_bytes > memory.vm_rss_bytes);
	REQUIRE(!proc_read_maps(proc, &maps));
	vec_foreach (m, &maps.mappings) {
		struct target_file *file;

		if (!m->executable || m->path[0] != '/')
			continue;
		REQUIRE(!target_file_of_mapping(proc, m, &file));

		_cleanup_(closep) int fd = target_file_open(file);
		struct stat st;

		CHECK(fd >= 0 && !fstat(fd, &st) && st.st_ino == m->inode);
		target_file_release(file);
		opened++;
	}
	CHECK(opened > 1);
	proc_maps_deinit(&maps);
}

static void first_has_ended(void)
{
	struct cast cast = open_cast();
	int tids[2];
	struct child child = start(&cast, false, tids);
	struct live_thread live = live_thread_begin(child.pid);

	/* The oldest thread. */
	CHECK_INT(live.tid, tids[0]);
	CHECK(live_thread_has_lost_first(child.pid));
	CHECK(!live_thread_retry(&live));
	check_files(child.pid, tids[0]);
	check_process(child.pid);

	/* That thread ends, too. */
	_cleanup_(proc_closep) struct proc *proc = NULL;
	struct proc_maps maps;

	REQUIRE(!proc_open(child.pid, &proc));
	REQUIRE(write(cast.until[0][1], "", 1) == 1);
	while (live_thread_is_there(&live))
		usleep(1000);
	REQUIRE(live_thread_retry(&live));
	CHECK_INT(live.tid, tids[1]);
	CHECK(!live_thread_retry(&live));
	CHECK_INT(live_thread_begin(child.pid).tid, tids[1]);
	check_files(child.pid, tids[1]);
	check_process(child.pid);
	CHECK(!proc_has_exited(proc));

	/* The last thread ends: the process is a normal zombie. */
	REQUIRE(write(cast.until[1][1], "", 1) == 1);

	siginfo_t info;

	REQUIRE(waitid(P_PID, (id_t)child.pid, &info, WEXITED | WNOWAIT) == 0);
	CHECK(proc_has_exited(proc));
	CHECK(!live_thread_retry(&live));
	CHECK(!live_thread_has_lost_first(child.pid));

	struct error *err = proc_read_maps(proc, &maps);

	REQUIRE(err);
	CHECK_INT(err->code, ERROR_GONE);
	error_destroy(err);
	child_end(&child);
	close_cast(&cast);
}

/* The chosen thread ends again and again. */
static void threads_come_and_go(void)
{
	struct cast cast = open_cast();
	struct child child = start(&cast, true, NULL);
	int first = live_thread_begin(child.pid).tid;

	for (int i = 0; i < 50; i++) {
		uint64_t word = 0;
		struct stat st;

		CHECK(live_thread_has_lost_first(child.pid));
		CHECK(!live_thread_stat(child.pid, "exe", &st));
		CHECK(live_thread_read(child.pid, (uintptr_t)&known_word, &word,
				       sizeof(word)) &&
		      word == known_word);
		check_process(child.pid);
	}
	CHECK(first != live_thread_begin(child.pid).tid);
	child_end(&child);
	close_cast(&cast);
}

int main(void)
{
	check_not_under_tsan("ThreadSanitizer adds a thread to each process, and the "
			     "test counts threads");
	RUN(first_lives);
	RUN(zombie);
	RUN(first_has_ended);
	RUN(threads_come_and_go);
	return check_done();
}
