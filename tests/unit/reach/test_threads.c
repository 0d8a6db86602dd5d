// SPDX-License-Identifier: Apache-2.0
/* Stopping a process with many threads. */
#include "check.h"

#include <dirent.h>
#include <limits.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "reach/threads.h"
#include "unit/process/child.h"
#include "util/clock.h"

/* $MEMTRACE_TEST_THREADS: another number. */
#define THREADS 3000

static unsigned threads_wanted;

static void *wait_for_end(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static void start_threads(void *unused)
{
	pthread_attr_t small;

	(void)unused;
	REQUIRE(!pthread_attr_init(&small));
	REQUIRE(!pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN));
	for (unsigned i = 0; i < threads_wanted; i++) {
		pthread_t thread;

		REQUIRE(!pthread_create(&thread, &small, wait_for_end, NULL));
	}
}

/* For /proc/TID/stat the kernel would visit all threads of the process. */
static char state_of(int pid, int tid)
{
	char path[64], text[512] = "";
	const char *end;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	file = fopen(path, "re");
	REQUIRE(file && fread(text, 1, sizeof(text) - 1, file));
	fclose(file);
	end = strrchr(text, ')');
	REQUIRE(end && end[1]);
	return end[2];
}

static int compare_tids(const void *a, const void *b)
{
	const struct reach_thread *x = a, *y = b;

	return (x->tid > y->tid) - (x->tid < y->tid);
}

/* Each is stopped, and is on the list once. Each goes on afterwards. */
static void many_threads(void)
{
	struct child child = child_fork(start_threads, NULL);
	struct reach_threads threads;
	uint64_t begun_ns = clock_now_ns();
	unsigned stopped = 0, twice = 0;

	REQUIRE(!reach_threads_stop(child.pid, begun_ns + UINT64_C(60000000000),
				    &threads));
	printf("stopped %zu threads in %.3f s\n", threads.list.len,
	       (double)(clock_now_ns() - begun_ns) / 1e9);
	CHECK_INT(threads.list.len, threads_wanted + 1);
	qsort(threads.list.data, threads.list.len, sizeof(*threads.list.data),
	      compare_tids);
	for (size_t i = 0; i < threads.list.len; i++) {
		stopped += state_of(child.pid, threads.list.data[i].tid) == 't';
		twice += i && threads.list.data[i].tid == threads.list.data[i - 1].tid;
	}
	CHECK_INT(stopped, threads_wanted + 1);
	CHECK_INT(twice, 0);
	reach_threads_release(&threads);
	child_await_sleep(child.pid);
	child_end(&child);
}

static uint64_t in_ms(uint64_t ms)
{
	return clock_now_ns() + ms * 1000000;
}

/* Waits in the kernel, where no signal reaches it, until its child ends. */
static struct child start_waiting(pid_t *ret_inner)
{
	struct child outer;
	int ends[2];

	REQUIRE(!pipe(ends));
	outer = (struct child){.pid = fork(), .to = -1, .from = -1};
	REQUIRE(outer.pid >= 0);
	if (!outer.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!vfork()) {
			pid_t self = (pid_t)syscall(SYS_getpid);

			if (write(ends[1], &self, sizeof(self)) != sizeof(self))
				_exit(1);
			for (;;)
				pause();
		}
		for (;;)
			pause();
	}
	REQUIRE(read(ends[0], ret_inner, sizeof(*ret_inner)) == sizeof(*ret_inner));
	close(ends[0]);
	close(ends[1]);
	while (state_of(outer.pid, outer.pid) != 'D')
		usleep(1000);
	return outer;
}

/* A thread that was asked to stop, and did not in time, is still traced. It is then
 * stopped all the same, and is not said to have a debugger. */
static void a_thread_that_stopped_late(void)
{
	struct reach_threads threads;
	struct child child;
	struct error *err;
	pid_t inner;

	child = start_waiting(&inner);
	CHECK_INT(reach_thread_stack_pointer(child.pid, child.pid, in_ms(5)), 0);
	kill(inner, SIGKILL);
	err = reach_threads_stop(child.pid, in_ms(20000), &threads);
	if (err)
		fprintf(stderr, "%s\n", err->message);
	REQUIRE(!err);
	CHECK_INT(threads.list.len, 1);
	CHECK_INT(state_of(child.pid, child.pid), 't');
	reach_threads_release(&threads);
	child_await_sleep(child.pid);
	child_end(&child);
}

/* Addresses of blocks that signals bring. */
#define SIGNALS 200
#define FIRST   UINT64_C(0x123456789000)
#define APART   64

/* The value of the signals is in no register of the thread: it is built in memory. */
static siginfo_t info;

static __attribute__((noinline)) void set_value(uint64_t value)
{
	info.si_code = SI_QUEUE;
	memcpy(&info.si_value, &value, sizeof(value));
}

static void send(void)
{
	if (syscall(SYS_rt_sigqueueinfo, getpid(), SIGRTMIN, &info))
		_exit(1);
}

static void let_wait(void *unused)
{
	sigset_t set;

	(void)unused;
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (unsigned i = 0; i < SIGNALS; i++) {
		set_value(FIRST + APART * i);
		send();
	}
	memset(&info, 0, sizeof(info));
}

/* To how many of the first `count` blocks do the stopped threads point, or the kernel for
 * them? */
static unsigned count_reached(const struct reach_threads *threads, unsigned count,
			      uint64_t deadline_ns, bool is_whole)
{
	const struct reach_words words = {.unaligned = false};
	uint64_t start[SIGNALS], end[SIGNALS];
	struct reach_blocks blocks;
	struct reach_marks marks;
	unsigned reached = 0;

	for (unsigned i = 0; i < count; i++) {
		start[i] = FIRST + APART * i;
		end[i] = start[i] + APART / 2;
	}
	REQUIRE(!reach_blocks_init(start, end, count, &blocks));
	REQUIRE(!reach_marks_init(&blocks, &words, &marks));
	CHECK_INT(reach_threads_scan(threads, deadline_ns, &marks), is_whole);
	for (unsigned i = 0; i < count; i++)
		reached += marks.level[i] == REACH_REACHED;
	reach_marks_deinit(&marks);
	reach_blocks_deinit(&blocks);
	return reached;
}

static void values_of_signals_that_wait(void)
{
	struct child child = child_fork(let_wait, NULL);
	struct reach_threads threads;

	REQUIRE(!reach_threads_stop(child.pid, in_ms(20000), &threads));
	CHECK_INT(count_reached(&threads, SIGNALS, in_ms(20000), true), SIGNALS);
	/* Too late to read them all. */
	CHECK(count_reached(&threads, SIGNALS, 1, false) < SIGNALS);
	reach_threads_release(&threads);
	child_end(&child);
}

static void ignore(int signal)
{
	(void)signal;
}

/* Sends itself one signal after the other. */
static pid_t start_signals(void)
{
	const struct sigaction action = {.sa_handler = ignore};
	pid_t pid = fork();

	REQUIRE(pid >= 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigaction(SIGRTMIN, &action, NULL);
	set_value(FIRST);
	for (;;)
		send();
}

/* A thread may stop when it is about to get a signal, which waits no more. */
static void the_value_of_a_signal_that_arrives(void)
{
	struct child child = {.pid = start_signals(), .to = -1, .from = -1};
	const uint64_t end_ns = in_ms(20000);
	unsigned arriving = 0, reached = 0;

	/* On a busy machine one in a thousand stops is at such a moment, or fewer. */
	while (arriving < 5 && clock_now_ns() < end_ns) {
		struct reach_threads threads;

		REQUIRE(!reach_threads_stop(child.pid, in_ms(20000), &threads));
		REQUIRE(threads.list.len == 1);
		if (threads.list.data[0].signal == SIGRTMIN) {
			arriving++;
			/* Only its own block: vector registers of the child may still
			 * have what this process did in an earlier test. */
			reached += count_reached(&threads, 1, in_ms(20000), true);
		}
		reach_threads_release(&threads);
	}
	CHECK(arriving > 0);
	CHECK_INT(reached, arriving);
	child_end(&child);
}

/* A request of an io_uring that a thread of the kernel does. */
struct request {
	int from[2], to[2]; /* pipes */
	int done[2];        /* gets its result */
};

static char *map_ring(int ring, size_t size, off_t offset)
{
	char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
			ring, offset);

	REQUIRE(at != MAP_FAILED);
	return at;
}

/* Copy from one pipe to the other, and wait for the result. */
static void do_request(const struct request *request)
{
	struct io_uring_params params = {.flags = 0};
	int ring = (int)syscall(SYS_io_uring_setup, 4, &params);
	struct io_uring_sqe entry = {.opcode = IORING_OP_TEE,
				     .splice_fd_in = request->from[0],
				     .fd = request->to[1],
				     .len = 1,
				     .flags = IOSQE_ASYNC};
	size_t size =
		params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe);
	const unsigned *done;
	unsigned *submitted;
	char *at;

	REQUIRE(ring >= 0 && params.features & IORING_FEAT_SINGLE_MMAP);
	at = map_ring(ring, params.sq_entries * sizeof(entry), IORING_OFF_SQES);
	memcpy(at, &entry, sizeof(entry));
	at = map_ring(ring, size + params.sq_entries * 4, IORING_OFF_SQ_RING);
	submitted = (unsigned *)(void *)(at + params.sq_off.tail);
	done = (const unsigned *)(void *)(at + params.cq_off.tail);
	__atomic_store_n(submitted, 1, __ATOMIC_RELEASE);
	syscall(SYS_io_uring_enter, ring, 1, 0, 0, NULL, 0);
	while (!__atomic_load_n(done, __ATOMIC_ACQUIRE))
		syscall(SYS_io_uring_enter, ring, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
	size = (size_t)write(
		request->done[1],
		&((struct io_uring_cqe *)(void *)(at + params.cq_off.cqes))->res,
		sizeof(int));
	_exit(size != sizeof(int));
}

static bool has_uring(void)
{
	struct io_uring_params params = {.flags = 0};
	int ring = (int)syscall(SYS_io_uring_setup, 4, &params);

	if (ring >= 0)
		close(ring);
	return ring >= 0;
}

static unsigned count_threads(int pid)
{
	char path[64];
	unsigned count = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);

	DIR *dir = opendir(path);

	REQUIRE(dir);
	for (struct dirent *entry; (entry = readdir(dir));)
		count += *entry->d_name != '.';
	closedir(dir);
	return count;
}

/* Threads of the kernel in the process are not stopped: their requests would fail. */
static void requests_go_on(void)
{
	struct child child = {.to = -1, .from = -1};
	struct reach_threads threads;
	struct request request;
	int result = 0;

	if (!has_uring()) {
		printf("no io_uring here: not tried\n");
		return;
	}
	REQUIRE(!pipe(request.from) && !pipe(request.to) && !pipe(request.done));
	fflush(stdout);
	child.pid = fork();
	REQUIRE(child.pid >= 0);
	if (!child.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		do_request(&request);
	}
	while (count_threads(child.pid) < 2)
		usleep(1000);
	usleep(100000);
	REQUIRE(!reach_threads_stop(child.pid, in_ms(20000), &threads));
	CHECK_INT(threads.list.len, 1);
	CHECK_INT(state_of(child.pid, child.pid), 't');
	reach_threads_release(&threads);
	REQUIRE(write(request.from[1], "x", 1) == 1);
	REQUIRE(read(request.done[0], &result, sizeof(result)) == sizeof(result));
	CHECK_INT(result, 1);
	child_end(&child);
	for (int i = 0; i < 2; i++) {
		close(request.from[i]);
		close(request.to[i]);
		close(request.done[i]);
	}
}

#define NOBODY 65534

/* Is a process without privileges told that it may not stop `pid`? */
static bool is_refused_to_nobody(pid_t pid)
{
	int status;
	pid_t other = fork();

	REQUIRE(other >= 0);
	if (!other) {
		struct reach_threads threads;
		struct error *err = NULL;

		if (!setgid(NOBODY) && !setuid(NOBODY))
			err = reach_threads_stop(pid, in_ms(20000), &threads);
		_exit(!err || err->code != ERROR_PERMISSION ||
		      !strstr(err->message, "does not let memtrace stop process"));
	}
	REQUIRE(waitpid(other, &status, 0) == other);
	return status == 0;
}

static void enter_namespace(void *unused)
{
	(void)unused;
	REQUIRE(!unshare(CLONE_NEWUSER));
}

/* The kernel refuses ptrace(2): nothing is stopped. */
static void a_process_of_somebody_else(void)
{
	void (*const bodies[])(void *) = {NULL, enter_namespace};

	if (geteuid()) {
		printf("not root: not tried\n");
		return;
	}
	for (size_t i = 0; i < sizeof(bodies) / sizeof(*bodies); i++) {
		struct child child = child_fork(bodies[i], NULL);
		struct reach_threads threads;

		child_await_sleep(child.pid);
		CHECK(is_refused_to_nobody(child.pid));
		CHECK_INT(state_of(child.pid, child.pid), 'S');
		/* Root may. */
		REQUIRE(!reach_threads_stop(child.pid, in_ms(20000), &threads));
		CHECK_INT(threads.list.len, 1);
		reach_threads_release(&threads);
		child_end(&child);
	}
}

int main(void)
{
	const char *wanted = getenv("MEMTRACE_TEST_THREADS");

	threads_wanted = wanted ? (unsigned)atoi(wanted) : THREADS;
	RUN(many_threads);
	RUN(a_thread_that_stopped_late);
	RUN(values_of_signals_that_wait);
	RUN(the_value_of_a_signal_that_arrives);
	RUN(requests_go_on);
	RUN(a_process_of_somebody_else);
	return check_done();
}
