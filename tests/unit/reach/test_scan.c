// SPDX-License-Identifier: Apache-2.0
/*
 * The search for unreachable blocks in a process that this test has arranged.
 */
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>

#include "process_state.h"
#include "reach/scan.h"
#include "unit/process/child.h"
#include "unit/reach/arranged.h"
#include "util/clock.h"

/* The child keeps its pointers to blocks here. */
static volatile uint64_t initialized[2] = {1, 1};
static volatile uint64_t zeroed[2];
static __thread uint64_t thread_local[2];

static void arrange_data(void *unused)
{
	(void)unused;
	put(&initialized[0], 0, 0);
	put(&zeroed[0], 1, 0);
	put(&thread_local[0], 2, 0);
	put(&zeroed[1], 3, 8);                /* interior */
	put(&initialized[1], 4, BLOCK_BYTES); /* the end */
	put(word(0, 7), 5, 0);                /* a chain */
	put(word(5, 0), 6, 0);
	put(word(3, 1), 7, 0); /* from a block that is possibly reached */
	wash();
}

static void pointers_in_data_and_blocks(void)
{
	search(arrange_data);
	for (unsigned i = 0; i < 3; i++)
		check_level(i, REACH_REACHED);
	check_level(3, REACH_POSSIBLE);
	check_level(4, REACH_POSSIBLE);
	check_level(5, REACH_REACHED);
	check_level(6, REACH_REACHED);
	check_level(7, REACH_POSSIBLE);
	check_rest(8);
	CHECK_INT(found.head[0], REACH_NONE);
	CHECK_INT(found.head[3], REACH_NONE);
	CHECK_INT(found.head[8], 8);
}

/* Lost groups: a chain, a cycle, a cycle that a block leads to, and a shared member. */
static void arrange_groups(void *unused)
{
	(void)unused;
	put(word(10, 0), 11, 0);
	put(word(11, 0), 12, 0);

	put(word(20, 0), 21, 0);
	put(word(21, 0), 22, 0);
	put(word(22, 0), 20, 0);

	put(word(30, 0), 31, 16);
	put(word(31, 0), 32, 0);
	put(word(32, 0), 31, 0);

	put(word(40, 0), 42, 0);
	put(word(41, 0), 42, 0);
	put(word(43, 0), 43, 0);
	wash();
}

static void lost_groups_have_one_head(void)
{
	search(arrange_groups);
	check_rest(0);
	CHECK_INT(found.head[10], 10);
	CHECK_INT(found.head[11], 10);
	CHECK_INT(found.head[12], 10);
	CHECK_INT(found.head[20], 20);
	CHECK_INT(found.head[21], 20);
	CHECK_INT(found.head[22], 20);
	for (unsigned i = 30; i < 33; i++)
		CHECK_INT(found.head[i], 30);
	CHECK_INT(found.head[40], 40);
	CHECK_INT(found.head[41], 41);
	CHECK_INT(found.head[42], 40);
	CHECK_INT(found.head[43], 43);
	CHECK_INT(found.head[0], 0);
}

/* A thread that keeps pointers where compilers do. */
static void *keep(void *unused)
{
	(void)unused;
	put(&thread_local[0], 0, 0);
	wash();
	__asm__ volatile("movq %0, %%rbx\n\t"
			 "movq %1, %%xmm7\n\t"
			 "xorl %%eax, %%eax\n\t"
			 "movl $34, %%eax\n\t" /* pause(2) */
			 "syscall\n\t" ::"r"(BLOCK(1)),
			 "r"(BLOCK(2))
			 : "rax", "rbx", "rcx", "r11", "xmm7", "memory");
	return NULL;
}

static void arrange_thread(void *unused)
{
	pthread_t thread;

	(void)unused;
	REQUIRE(pthread_create(&thread, NULL, keep, NULL) == 0);
	usleep(200000);
	wash();
}

static void registers_and_thread_local_data(void)
{
	search(arrange_thread);
	for (unsigned i = 0; i < 3; i++)
		check_level(i, REACH_REACHED);
	check_rest(3);
}

/* What a function leaves behind on the stack is not a pointer that the program has. */
static __attribute__((noinline)) void leave_behind(unsigned block)
{
	volatile uint64_t used[4096];

	/* Far enough below the red zone. */
	for (size_t i = 0; i < 64; i++)
		put(&used[i], block, 0);
}

/* A word of the red zone may still point to what was left behind, which then counts as in
 * use. */
static __attribute__((noinline)) void wash_red_zone(void)
{
	volatile uint64_t used[64];

	for (size_t i = 0; i < sizeof(used) / sizeof(*used); i++)
		used[i] = 0;
}

static void arrange_dead_stack(void *unused)
{
	(void)unused;
	wash();
	leave_behind(0);
	wash_red_zone();
	wash_registers();
}

static void stacks_below_the_stack_pointer(void)
{
	search(arrange_dead_stack);
	check_rest(0);
}

/* glibc stores the frame pointer of setjmp() mangled (PTR_MANGLE). */
static void arrange_mangled(void *unused)
{
	uint64_t guard;

	(void)unused;
	__asm__("movq %%fs:0x30, %0" : "=r"(guard));

	uint64_t mangled = BLOCK(0) ^ guard;

	zeroed[0] = mangled << 17 | mangled >> (64 - 17);
	mangled = 0;
	guard = 0;
	__asm__ volatile("" ::"r"(mangled), "r"(guard));
	zeroed[1] = BLOCK(1) | UINT64_C(0xab) << 56; /* a tag in the highest byte */
	put(&initialized[0], 2, 3);                  /* and in the lowest bits */
	wash();
}

static void mangled_and_tagged_pointers(void)
{
	search(arrange_mangled);
	check_level(0, REACH_REACHED);
	check_level(1, REACH_REACHED);
	check_level(2, REACH_POSSIBLE);
	check_rest(3);
	search_with(arrange_mangled, &(struct reach_words){.low_tag_max = 7});
	check_level(2, REACH_REACHED);
}

/* A packed structure. */
static void arrange_unaligned(void *unused)
{
	typedef uint64_t __attribute__((aligned(1))) packed;

	(void)unused;
	*(volatile packed *)((volatile char *)zeroed + 3) = BLOCK(0);
	/* Across a border of pages. */
	*(volatile packed *)(arena + ARENA_BYTES - 4096 - 3) = BLOCK(1);
	wash();
}

static void unaligned_pointers_if_wanted(void)
{
	search(arrange_unaligned);
	check_rest(0);
	search_with(arrange_unaligned, &(struct reach_words){.unaligned = true});
	check_level(0, REACH_REACHED);
	check_level(1, REACH_REACHED);
	check_rest(2);
}

/* Pointers in memory that belongs to no block. */
static void arrange_free(void *unused)
{
	uint64_t *page = sbrk(8192);

	(void)unused;
	REQUIRE(page != (void *)-1);
	put(word(3, 8), 0, 0);                         /* behind a block */
	put((uint64_t *)(uintptr_t)arena + 511, 1, 0); /* the page before all blocks */
	put(&zeroed[0], 3, 0);
	put(word(3, 0), 2, 0);
	put(page, 4, 0);
	put(word(CANDIDATES, 0), 5, 0); /* nothing points to this block */
	put(word(BLOCKS - 1, 8), 6, 0); /* behind the last block */
	wash();
}

static void free_memory_is_searched_unless_all_blocks_are_known(void)
{
	search(arrange_free);
	for (unsigned i = 0; i < 7; i++)
		check_level(i, i == 5 ? REACH_UNREACHED : REACH_REACHED);
	check_rest(7);

	is_whole = true;
	search(arrange_free);
	is_whole = false;
	for (unsigned i = 0; i < 7; i++)
		check_level(i,
			    i == 0 || i == 4 || i == 6 ? REACH_UNREACHED : REACH_REACHED);
	for (unsigned i = 7; i < BLOCKS; i++)
		check_level(i, i < CANDIDATES ? REACH_UNREACHED : REACH_REACHED);
}

static void nothing_stays_stopped(void)
{
	struct child child = child_fork(NULL, NULL);
	struct reach_target target = {.pid = child.pid};
	struct reach_effort effort;
	struct reach_table table;
	uint64_t later = clock_now_ns() + UINT64_C(20000000000);
	struct error *err;

	child_await_sleep(child.pid);
	fill(&table);
	REQUIRE(!reach_scan_first(&target, &(struct reach_words){0}, &table, later,
				  &effort));
	REQUIRE(!reach_scan_stop(&target, later));
	CHECK_INT(process_state(child.pid), 't');
	/* Too late: no verdict. */
	REQUIRE(!reach_scan_verify(&target, &(struct reach_words){0}, &table, 1,
				   &effort));
	CHECK(effort.is_late);
	child_await_sleep(child.pid);

	/* A process that has exited. */
	child_kill(&child);
	err = reach_scan_stop(&target, later);
	REQUIRE(err);
	CHECK_INT(err->code, ERROR_GONE);
	error_destroy(err);
	child_end(&child);
}

/* A process that its user has stopped stays so. */
static void stopped_processes_stay_stopped(void)
{
	struct child child = child_fork(NULL, NULL);
	struct reach_target target = {.pid = child.pid};
	struct reach_effort effort;
	struct reach_table table;
	uint64_t later = clock_now_ns() + UINT64_C(20000000000);
	int status;

	kill(child.pid, SIGSTOP);
	REQUIRE(waitpid(child.pid, &status, WUNTRACED) == child.pid &&
		WIFSTOPPED(status));
	fill(&table);
	REQUIRE(!reach_scan_first(&target, &(struct reach_words){0}, &table, later,
				  &effort));
	REQUIRE(!reach_scan_stop(&target, later));
	REQUIRE(!reach_scan_verify(&target, &(struct reach_words){0}, &table, later,
				   &effort));
	usleep(100000);
	CHECK_INT(process_state(child.pid), 'T');
	child_end(&child);
}

#define RELAY_BYTES ((size_t)256 << 20)
#define RELAY_US    20000

static void *pass_on(void *unused)
{
	pthread_t next;

	usleep(RELAY_US);
	REQUIRE(!pthread_create(&next, NULL, pass_on, NULL));
	pthread_detach(next);
	return unused;
}

/* A process whose main thread has exited, and whose only thread is soon another one. */
static pid_t fork_relay(void)
{
	pthread_t first;
	int ready[2];
	char byte;
	pid_t pid;

	REQUIRE(!pipe(ready));
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		char *large = mmap(NULL, RELAY_BYTES, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		REQUIRE(large != MAP_FAILED);
		memset(large, 1, RELAY_BYTES);
		REQUIRE(!pthread_create(&first, NULL, pass_on, NULL));
		REQUIRE(write(ready[1], "", 1) == 1);
		pthread_exit(NULL);
	}
	close(ready[1]);
	REQUIRE(read(ready[0], &byte, 1) == 1);
	close(ready[0]);
	usleep(RELAY_US / 4);
	return pid;
}

/* The process is read on when the thread exits through which it is read. */
static void threads_that_exit(void)
{
	const struct reach_words words = {.unaligned = false};
	struct reach_effort effort = {0};
	struct reach_table table;
	struct reach_target target;
	struct error *err;

	arena = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(arena != MAP_FAILED);
	target = (struct reach_target){.pid = fork_relay()};
	fill(&table);
	err = reach_scan_first(&target, &words, &table,
			       clock_now_ns() + UINT64_C(60000000000), &effort);
	if (err)
		fprintf(stderr, "%s\n", err->message);
	CHECK(!err);
	error_destroy(err);
	CHECK(effort.read_bytes >= RELAY_BYTES);
	kill(target.pid, SIGKILL);
	waitpid(target.pid, NULL, 0);
	munmap(arena, ARENA_BYTES);
}

int main(void)
{
	RUN(pointers_in_data_and_blocks);
	RUN(lost_groups_have_one_head);
	RUN(registers_and_thread_local_data);
	RUN(stacks_below_the_stack_pointer);
	RUN(mangled_and_tagged_pointers);
	RUN(unaligned_pointers_if_wanted);
	RUN(free_memory_is_searched_unless_all_blocks_are_known);
	RUN(nothing_stays_stopped);
	RUN(stopped_processes_stay_stopped);
	RUN(threads_that_exit);
	return check_done();
}
