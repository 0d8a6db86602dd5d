// SPDX-License-Identifier: Apache-2.0
/* The child that searches: what it finds, what it may do, and how it ends. */
#include "check.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "process_state.h"
#include "reach/scanner.h"
#include "unit/process/child.h"
#include "util/cleanup.h"
#include "util/clock.h"

#define BLOCKS      1000
#define ARENA_BYTES ((size_t)1 << 20)

static char *arena;

/* Every third block is reached: by a table in the arena, which is in no block. */
static void arrange(void *unused)
{
	volatile uint64_t *table = (volatile uint64_t *)(void *)arena;

	(void)unused;
	for (size_t i = 0; i < BLOCKS; i += 3)
		table[i] = (uint64_t)(uintptr_t)arena + 65536 + i * 128;
}

static void fill(struct reach_table *table)
{
	for (size_t i = 0; i < BLOCKS; i++) {
		table->start[i] = (uint64_t)(uintptr_t)arena + 65536 + i * 128;
		table->end[i] = table->start[i] + 100;
	}
}

/* The child has the arrays in shared memory. Requests contain only the rest. */
static const struct reach_table blocks = {.count = BLOCKS};

static uint64_t later(void)
{
	return clock_now_ns() + UINT64_C(20000000000);
}

static struct child target(void)
{
	struct child child;

	arena = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(arena != MAP_FAILED);
	child = child_fork(arrange, NULL);
	child_await_sleep(child.pid);
	return child;
}

static struct reach_scanner *start(void)
{
	const struct reach_scanner_options options = {.progress = NULL};
	struct reach_scanner *scanner;
	struct error *err = reach_scanner_create(&options, &scanner);

	if (err)
		fprintf(stderr, "%s\n", err->message);
	REQUIRE(!err);
	return scanner;
}

static void finds_what_is_unreachable(void)
{
	struct child child = target();
	struct reach_scanner *scanner = start();
	struct reach_effort effort = {0};
	struct reach_table table;

	REQUIRE(!reach_scanner_table(scanner, 10, &table));
	REQUIRE(!reach_scanner_table(scanner, BLOCKS, &table));
	fill(&table);
	REQUIRE(!reach_scanner_first(scanner, child.pid, &blocks, later(), &effort));
	for (size_t i = 0; i < BLOCKS; i++)
		CHECK_INT(table.level[i], i % 3 ? REACH_UNREACHED : REACH_REACHED);
	CHECK(effort.read_bytes > 0);
	REQUIRE(!reach_scanner_stop(scanner, child.pid, later()));
	memset(table.level, 0xee, BLOCKS);
	REQUIRE(!reach_scanner_verify(scanner, child.pid, &blocks, later(), &effort));
	for (size_t i = 0; i < BLOCKS; i++) {
		CHECK_INT(table.level[i], i % 3 ? REACH_UNREACHED : REACH_REACHED);
		CHECK_INT(table.head[i], i % 3 ? i : REACH_NONE);
	}
	CHECK_INT(effort.threads, 1);
	CHECK(effort.pause_ns > 0);
	child_await_sleep(child.pid);
	reach_scanner_destroy(scanner);
	child_end(&child);
}

#define SPARSE_BYTES ((size_t)1 << 30)

static void arrange_sparse(void *arg)
{
	char *memory = mmap(NULL, SPARSE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			    *(int *)arg, 0);

	REQUIRE(memory != MAP_FAILED);
	arrange(NULL);
}

/* Its filter and its capabilities let it look where shared memory has holes. Reading them
 * would take memory. */
static void leaves_holes_of_shared_memory(void)
{
	int file = memfd_create("sparse", MFD_CLOEXEC);
	struct reach_scanner *scanner = start();
	struct reach_effort effort = {0};
	struct reach_table table;
	struct child child;
	struct stat st;

	REQUIRE(file >= 0 && ftruncate(file, (off_t)SPARSE_BYTES) == 0);
	arena = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(arena != MAP_FAILED);
	child = child_fork(arrange_sparse, &file);
	child_await_sleep(child.pid);
	REQUIRE(!reach_scanner_table(scanner, BLOCKS, &table));
	fill(&table);
	REQUIRE(!reach_scanner_first(scanner, child.pid, &blocks, later(), &effort));
	CHECK_INT(table.level[0], REACH_REACHED);
	CHECK_INT(table.level[1], REACH_UNREACHED);
	REQUIRE(fstat(file, &st) == 0);
	CHECK_INT(st.st_blocks, 0);
	CHECK(effort.read_bytes < SPARSE_BYTES / 2);
	reach_scanner_destroy(scanner);
	child_end(&child);
	close(file);
}

/* Start a target and a scanner, and look for candidates. */
static struct reach_scanner *look(struct child *ret_child)
{
	struct reach_effort effort = {0};
	struct reach_scanner *scanner;
	struct reach_table table;

	*ret_child = target();
	scanner = start();
	REQUIRE(!reach_scanner_table(scanner, BLOCKS, &table));
	fill(&table);
	REQUIRE(!reach_scanner_first(scanner, ret_child->pid, &blocks, later(), &effort));
	return scanner;
}

static void a_killed_scanner_lets_go(void)
{
	struct child child;
	struct reach_scanner *scanner = look(&child);
	struct reach_effort effort = {0};
	struct error *err;

	REQUIRE(!reach_scanner_stop(scanner, child.pid, later()));
	CHECK_INT(process_state(child.pid), 't');
	kill(reach_scanner_pid(scanner), SIGKILL);
	child_await_sleep(child.pid);
	err = reach_scanner_verify(scanner, child.pid, &blocks, later(), &effort);
	REQUIRE(err);
	CHECK_INT(err->code, ERROR_GONE);
	error_destroy(err);
	reach_scanner_destroy(scanner);
	child_end(&child);
}

/* Whoever asked for the stop may get to the verification too late, or never. */
static void a_stop_ends_without_a_verification(void)
{
	struct child child;
	struct reach_scanner *scanner = look(&child);
	struct reach_effort effort = {0};
	uint64_t begun_ns = clock_now_ns();

	REQUIRE(!reach_scanner_stop(scanner, child.pid, begun_ns + UINT64_C(100000000)));
	CHECK_INT(process_state(child.pid), 't');
	child_await_sleep(child.pid);
	CHECK(clock_now_ns() - begun_ns > UINT64_C(90000000));
	usleep(1500000);
	REQUIRE(!reach_scanner_verify(scanner, child.pid, &blocks,
				      begun_ns + UINT64_C(100000000), &effort));
	CHECK(effort.is_late);
	CHECK_INT(effort.threads, 1);
	CHECK(effort.pause_ns > UINT64_C(90000000) &&
	      effort.pause_ns < UINT64_C(1500000000));
	/* The next search is on time. */
	REQUIRE(!reach_scanner_first(scanner, child.pid, &blocks, later(), &effort));
	REQUIRE(!reach_scanner_stop(scanner, child.pid, later()));
	REQUIRE(!reach_scanner_verify(scanner, child.pid, &blocks, later(), &effort));
	CHECK(!effort.is_late);
	child_await_sleep(child.pid);
	reach_scanner_destroy(scanner);
	child_end(&child);
}

/* Ctrl-Z reaches the whole process group. */
static void a_stop_ends_after_ctrl_z(void)
{
	struct child child;
	struct reach_scanner *scanner = look(&child);
	int pid = reach_scanner_pid(scanner);

	/* The kernel ignores the signal in a group without a parent in its session. */
	REQUIRE(!setpgid(pid, pid));
	REQUIRE(!reach_scanner_stop(scanner, child.pid,
				    clock_now_ns() + UINT64_C(300000000)));
	CHECK_INT(process_state(child.pid), 't');
	REQUIRE(!kill(-pid, SIGTSTP) && !kill(-pid, SIGTTIN) && !kill(-pid, SIGTTOU));
	for (int i = 0; i < 500 && process_state(child.pid) != 'S'; i++)
		usleep(10000);
	CHECK_INT(process_state(child.pid), 'S');
	CHECK(process_state(pid) != 'T');
	reach_scanner_destroy(scanner);
	child_end(&child);
}

/* The limit is for the time that something is stopped. */
static void after_a_stop_there_is_time(void)
{
	struct child child;
	struct reach_scanner *scanner = look(&child);
	struct reach_effort effort = {0};

	for (int i = 0; i < 2; i++) {
		uint64_t until = clock_now_ns() + UINT64_C(300000000);

		REQUIRE(!reach_scanner_first(scanner, child.pid, &blocks, later(),
					     &effort));
		REQUIRE(!reach_scanner_stop(scanner, child.pid, until));
		if (i)
			reach_scanner_release(scanner);
		else
			REQUIRE(!reach_scanner_verify(scanner, child.pid, &blocks, until,
						      &effort));
		usleep(1500000);
	}
	REQUIRE(!reach_scanner_first(scanner, child.pid, &blocks, later(), &effort));
	reach_scanner_destroy(scanner);
	child_end(&child);
}

#define LOST_BLOCKS 300000

/* Stop two processes, and verify the first one, which has so many lost blocks that they
 * take long to group: *ret_first. Then the second: *ret_second. */
static void search_two(struct reach_scanner *scanner, pid_t first, pid_t second,
		       uint64_t pause_ns, struct reach_effort *ret_first,
		       struct reach_effort *ret_second)
{
	const struct reach_table many = {.count = LOST_BLOCKS};
	struct reach_table table;
	uint64_t until;

	REQUIRE(!reach_scanner_table(scanner, LOST_BLOCKS, &table));
	for (uint64_t i = 0; i < LOST_BLOCKS; i++) {
		table.start[i] = (uint64_t)(uintptr_t)arena + i * 128;
		table.end[i] = table.start[i] + 100;
	}
	REQUIRE(!reach_scanner_first(scanner, first, &many, later(), ret_first));
	REQUIRE(!reach_scanner_first(scanner, second, &many, later(), ret_second));
	until = clock_now_ns() + pause_ns;
	REQUIRE(!reach_scanner_stop(scanner, first, until));
	REQUIRE(!reach_scanner_stop(scanner, second, until));
	REQUIRE(!reach_scanner_verify(scanner, first, &many, until, ret_first));
	REQUIRE(!reach_scanner_verify(scanner, second, &many, until, ret_second));
	reach_scanner_release(scanner);
}

/* The deadline is between the end of the first verification and the end of its work
 * without a stop. */
static void no_process_waits_for_the_groups_of_another(void)
{
	struct reach_scanner *scanner = start();
	struct reach_effort one = {0}, two = {0};
	struct child first, second;
	bool tried = false;

	arena = mmap(NULL, LOST_BLOCKS * 128, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(arena != MAP_FAILED);
	first = child_fork(NULL, NULL);
	second = child_fork(NULL, NULL);
	search_two(scanner, first.pid, second.pid, UINT64_C(20000000000), &one, &two);
	CHECK(!one.is_late && !two.is_late);
	for (int i = 0; i < 20 && !tried; i++) {
		uint64_t pause_ns = one.pause_ns + (one.took_ns - one.pause_ns) / 4;

		search_two(scanner, first.pid, second.pid, pause_ns, &one, &two);
		/* Not if the machine was busy. */
		tried = !one.is_late && one.took_ns > 2 * pause_ns;
		if (tried) {
			CHECK(two.is_late);
			CHECK(two.pause_ns < one.took_ns - pause_ns / 4);
		}
	}
	CHECK(tried);
	printf("stopped for %.3f of %.3f s\n", (double)two.pause_ns / 1e9,
	       (double)one.took_ns / 1e9);
	child_end(&first);
	child_end(&second);
	reach_scanner_destroy(scanner);
	munmap(arena, LOST_BLOCKS * 128);
}

/* Make reads of the blocks wait: userfaultfd without a handler. */
static void hold_blocks(void)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register held = {
		.range = {(uintptr_t)arena + 65536, ARENA_BYTES - 65536},
		.mode = UFFDIO_REGISTER_MODE_MISSING};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &held))
		_exit(1);
}

static pid_t fork_blocking(volatile int *turn)
{
	pid_t pid = fork();

	REQUIRE(pid >= 0);
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!pid) {
		if (*turn == 1) {
			hold_blocks();
			*turn = 2;
		}
		usleep(1000);
	}
	return pid;
}

static void memory_that_does_not_answer(void)
{
	struct reach_scanner *scanner = start();
	struct reach_effort effort = {0};
	struct reach_table table;
	volatile int *turn;
	uint64_t until;
	struct error *err;
	pid_t pid;

	arena = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE(arena != MAP_FAILED);
	arrange(NULL);
	turn = (volatile int *)(void *)(arena + 32768);
	pid = fork_blocking(turn);
	REQUIRE(!reach_scanner_table(scanner, BLOCKS, &table));
	fill(&table);
	REQUIRE(!reach_scanner_first(scanner, pid, &blocks, later(), &effort));
	/* The search has made the pages of the blocks, which it read. */
	REQUIRE(!madvise(arena + 65536, ARENA_BYTES - 65536, MADV_REMOVE));
	*turn = 1;
	for (int i = 0; i < 1000 && *turn != 2; i++)
		usleep(10000);
	REQUIRE(*turn == 2);
	/* Time enough to come to the blocks. */
	until = clock_now_ns() + UINT64_C(2000000000);
	REQUIRE(!reach_scanner_stop(scanner, pid, until));
	err = reach_scanner_verify(scanner, pid, &blocks, until, &effort);
	REQUIRE(err);
	CHECK_INT(err->code, ERROR_GONE);
	CHECK(clock_now_ns() > until);
	error_destroy(err);
	for (int i = 0; i < 1000 && process_state(pid) == 't'; i++)
		usleep(10000);
	CHECK(process_state(pid) != 't');
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	reach_scanner_destroy(scanner);
	munmap(arena, ARENA_BYTES);
}

/* In vfork(2) a process cannot be stopped until its child has executed or exited. */
static void wait_in_vfork(void *unused)
{
	(void)unused;
	if (!vfork()) {
		sleep(3);
		_exit(0);
	}
}

static pid_t fork_waiting(void)
{
	pid_t pid = fork();

	REQUIRE(pid >= 0);
	if (!pid) {
		wait_in_vfork(NULL);
		for (;;)
			pause();
	}
	/* In the kernel, where no signal reaches it. */
	for (int i = 0; i < 5000 && process_state(pid) != 'D'; i++)
		usleep(1000);
	REQUIRE(process_state(pid) == 'D');
	return pid;
}

static void who_does_not_stop_in_time_goes_on(void)
{
	struct reach_scanner *scanner = start();
	struct child child = target();
	struct reach_effort effort = {0};
	struct reach_table table;
	struct error *err;
	pid_t stuck = fork_waiting();

	REQUIRE(!reach_scanner_table(scanner, BLOCKS, &table));
	fill(&table);
	REQUIRE(!reach_scanner_first(scanner, stuck, &blocks, later(), &effort));
	err = reach_scanner_stop(scanner, stuck, clock_now_ns() + UINT64_C(200000000));
	REQUIRE(err);
	CHECK_INT(err->code, ERROR_UNSUPPORTED);
	CHECK_CONTAINS(err->message, "does not stop");
	error_destroy(err);
	/* The vfork ends after 3 s: the thread stops then, and must go on. */
	usleep(3500000);
	for (int i = 0; i < 100 && process_state(stuck) != 'S'; i++)
		usleep(20000);
	CHECK_INT(process_state(stuck), 'S');
	/* The scanner still works. */
	REQUIRE(!reach_scanner_first(scanner, child.pid, &blocks, later(), &effort));
	kill(stuck, SIGKILL);
	waitpid(stuck, NULL, 0);
	reach_scanner_destroy(scanner);
	child_end(&child);
}

/* The text of a line of the scanner's status. */
static void read_status(int pid, const char *key, char *ret, size_t size)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);

	_cleanup_(fclosep) FILE *file = fopen(path, "re");

	REQUIRE(file);
	while (fgets(ret, (int)size, file))
		if (!strncmp(ret, key, strlen(key)))
			return;
	REQUIRE(!"the line is there");
}

static void has_only_what_it_needs(void)
{
	struct reach_scanner *scanner = start();
	int pid = reach_scanner_pid(scanner);
	char line[256];

	read_status(pid, "Seccomp:", line, sizeof(line));
	CHECK_STR(line, "Seccomp:\t2\n");
	read_status(pid, "NoNewPrivs:", line, sizeof(line));
	CHECK_STR(line, "NoNewPrivs:\t1\n");
	if (!geteuid()) {
		read_status(pid, "CapEff:", line, sizeof(line));
		/* CAP_DAC_READ_SEARCH (2), CAP_SYS_PTRACE (19), CAP_CHECKPOINT_RESTORE
		 * (40) */
		CHECK_STR(line, "CapEff:\t0000010000080004\n");
		read_status(pid, "Uid:", line, sizeof(line));
		CHECK(strncmp(line, "Uid:\t0", 6) != 0);
	}
	reach_scanner_destroy(scanner);
}

int main(void)
{
	/* The scanner is not an ancestor of what it stops (Documentation/admin-guide/LSM/
	 * Yama.rst). */
	if (geteuid())
		check_skip("only root can stop any process");
	RUN(finds_what_is_unreachable);
	RUN(leaves_holes_of_shared_memory);
	RUN(a_killed_scanner_lets_go);
	RUN(a_stop_ends_without_a_verification);
	RUN(a_stop_ends_after_ctrl_z);
	RUN(after_a_stop_there_is_time);
	RUN(no_process_waits_for_the_groups_of_another);
	RUN(memory_that_does_not_answer);
	RUN(who_does_not_stop_in_time_goes_on);
	RUN(has_only_what_it_needs);
	return check_done();
}
