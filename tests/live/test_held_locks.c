// SPDX-License-Identifier: Apache-2.0
/*
 * A process of the machine waits in mmap() for a server, and holds the lock of its
 * address space. To set or to remove a probe in the C library the kernel would wait for
 * it, and no process could fork. memtrace sets and removes no probe meanwhile, and says
 * so.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "live/breakpoints.h"
#include "live/live.h"
#include "live/served_file.h"
#include "live/trace.h"

#define TIMEOUT_S 30

/* The server answers after this time, even if memtrace makes the machine wait, s. */
#define STUCK_S 9

/* A process forks faster than this, s. */
#define FORK_S 2.0

static struct live_process *oracle;
static struct probes *probes_before;

struct stuck {
	struct served_file *file;
	struct live_process *process;
	pthread_t timer, forker;
	bool is_over;          /* accessed atomically */
	double longest_fork_s; /* read it when `forker` has ended */
};

static void *let_go_later(void *arg)
{
	const struct stuck *stuck = arg;
	double until_s = live_now_s() + STUCK_S;

	while (live_now_s() < until_s &&
	       !__atomic_load_n(&stuck->is_over, __ATOMIC_SEQ_CST))
		usleep(20000);
	served_file_unstick(stuck->file);
	return NULL;
}

static void *fork_often(void *arg)
{
	struct stuck *stuck = arg;

	while (!__atomic_load_n(&stuck->is_over, __ATOMIC_SEQ_CST)) {
		double begin_s = live_now_s();
		pid_t child = fork();

		if (!child)
			_exit(0);
		if (live_now_s() - begin_s > stuck->longest_fork_s)
			stuck->longest_fork_s = live_now_s() - begin_s;
		waitpid(child, NULL, 0);
		usleep(20000);
	}
	return NULL;
}

/* The process loads `library` first; NULL: none. False: this kernel has no FUSE. */
static bool stuck_begin(struct stuck *ret, const char *library)
{
	*ret = (struct stuck){.file = served_file_create(LOADED_MALLOC, "file")};
	if (!ret->file) {
		CHECK_NOT_FOR_KERNEL("no FUSE");
		return false;
	}
	ret->process = target_start(LOADER_BINARY);
	if (library)
		oracle_do(ret->process, "keep %s 1", library);
	served_file_stick(ret->file);
	oracle_do(ret->process, "stick %s 1", served_file_path(ret->file));
	CHECK_INT(served_file_held(ret->file), 1);
	REQUIRE(!pthread_create(&ret->timer, NULL, let_go_later, ret));
	REQUIRE(!pthread_create(&ret->forker, NULL, fork_often, ret));
	return true;
}

/* The server answers. */
static void stuck_end(struct stuck *stuck)
{
	__atomic_store_n(&stuck->is_over, true, __ATOMIC_SEQ_CST);
	REQUIRE(!pthread_join(stuck->timer, NULL));
	REQUIRE(!pthread_join(stuck->forker, NULL));
	printf("the longest fork took %.3f s\n", stuck->longest_fork_s);
	CHECK(stuck->longest_fork_s < FORK_S);
	live_destroy(stuck->process);
	served_file_destroy(stuck->file);
}

static void check_names(const struct stuck *stuck, struct live_process *memtrace)
{
	char text[80];

	snprintf(text, sizeof(text), "process %d (loader) holds the lock",
		 (int)live_pid(stuck->process));
	CHECK_INT(live_count(live_stderr(memtrace), text), 1);
}

/* The process is another one than that to be traced. */
static void no_probe_is_set(void)
{
	struct live_process *memtrace;
	struct stuck stuck;

	if (!stuck_begin(&stuck, NULL))
		return;
	memtrace = memtrace_start_plain(live_pid(oracle), "-i 3600");
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 1);
	check_names(&stuck, memtrace);
	CHECK_INT(breakpoints_count(live_pid(oracle)), 0);
	live_destroy(memtrace);
	stuck_end(&stuck);
}

/* Its library gets no probes, and is counted. What was traced stays so. */
static void a_library_is_left_out(void)
{
	struct live_process *loader = target_start(LOADER_BINARY), *memtrace;
	struct stuck stuck;
	json_t *report;

	memtrace = memtrace_start_plain(live_pid(loader), "--format json -i 3600");
	REQUIRE(live_wait_stderr(memtrace, "tracing pid", TIMEOUT_S));
	if (!stuck_begin(&stuck, NULL))
		return;
	oracle_do(loader, "keep %s 1", LOADED_MALLOC);
	REQUIRE(live_wait_stderr(memtrace, "may have loaded an allocator", TIMEOUT_S));
	check_names(&stuck, memtrace);
	oracle_do(loader, "sites - 1");
	stuck_end(&stuck);
	report = memtrace_stop(memtrace);
	CHECK(live_int(report, "heap.totals.allocations") >= 128);
	CHECK(live_int(report, "losses.files_untraced") >= 1);
	json_decref(report);
	live_destroy(loader);
}

/* The run ends at once. The probes go when the server answers. */
static void probes_are_removed_later(void)
{
	struct live_process *memtrace;
	struct stuck stuck;
	double begin_s;

	memtrace = memtrace_start_plain(live_pid(oracle), "--format json -i 3600");
	REQUIRE(live_wait_stderr(memtrace, "tracing pid", TIMEOUT_S));
	oracle_do(oracle, "run keep 10 1");
	if (!stuck_begin(&stuck, NULL))
		return;
	live_signal(memtrace, SIGTERM);
	begin_s = live_now_s();
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	printf("gone after %.3f s\n", live_now_s() - begin_s);
	CHECK(live_now_s() - begin_s < STUCK_S - 3);
	check_names(&stuck, memtrace);
	CHECK_CONTAINS(live_stderr(memtrace), "memtrace-detach");
	CHECK(breakpoints_count(live_pid(oracle)) > 0);
	live_destroy(memtrace);
	stuck_end(&stuck);
	begin_s = live_now_s();
	while (breakpoints_count(live_pid(oracle)) && live_now_s() < begin_s + TIMEOUT_S)
		live_sleep(0.02);
	CHECK_INT(breakpoints_count(live_pid(oracle)), 0);
	CHECK(probes_gone(probes_before));
	oracle_do(oracle, "run release 1 1");
}

static bool has_process(const json_t *report, pid_t pid)
{
	const json_t *process;
	size_t i;

	json_array_foreach (live_get(report, "heap.processes"), i, process)
		if (live_int(process, "pid") == pid)
			return true;
	return false;
}

/* A new process holds its lock before its mappings are read. Other new processes are
 * read nevertheless, and reports are made. */
static void new_processes_are_read(void)
{
	const char *const argv[] = {memtrace_path, "--lib", LOADED_MALLOC, "--format",
				    "json",        "--top", "0",           "-v",
				    "-i",          "3600",  NULL};
	struct live_process *memtrace = live_start(argv), *other;
	struct stuck stuck;
	char text[80];
	json_t *report;
	double begin_s;

	REQUIRE(live_wait_stderr(memtrace, "tracing ", TIMEOUT_S));
	live_signal(memtrace, SIGSTOP);
	if (!stuck_begin(&stuck, LOADED_MALLOC))
		return;
	other = target_start(LOADER_BINARY);
	oracle_do(other, "keep %s 1", LOADED_MALLOC);
	begin_s = live_now_s();
	live_signal(memtrace, SIGCONT);
	snprintf(text, sizeof(text), "process %d (loader) holds the lock",
		 (int)live_pid(stuck.process));
	CHECK(live_wait_stderr(memtrace, text, TIMEOUT_S));
	report = memtrace_report(memtrace);
	printf("a report after %.3f s\n", live_now_s() - begin_s);
	CHECK(live_now_s() - begin_s < STUCK_S - 3);
	CHECK(has_process(report, live_pid(other)));
	CHECK(live_int(report, "losses.mappings_unread") >= 1);
	json_decref(report);
	/* The lock is still held. */
	begin_s = live_now_s();
	json_decref(memtrace_stop(memtrace));
	printf("gone after %.3f s\n", live_now_s() - begin_s);
	CHECK(live_now_s() - begin_s < 2);
	stuck_end(&stuck);
	live_destroy(other);
}

int main(void)
{
	live_require_root();
	probes_before = probes_find();
	oracle = oracle_start();
	RUN(no_probe_is_set);
	RUN(a_library_is_left_out);
	RUN(probes_are_removed_later);
	RUN(new_processes_are_read);
	live_destroy(oracle);
	probes_destroy(probes_before);
	return check_done();
}
