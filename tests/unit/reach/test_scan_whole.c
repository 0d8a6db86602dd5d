// SPDX-License-Identifier: Apache-2.0
/* Data of the program and of its C library beside blocks, when all blocks are known and
 * free memory is not searched. */
#include "check.h"

#include <pthread.h>

#include "unit/reach/arranged.h"

#define STACK_BYTES ((size_t)256 << 10)

/* Search a child with blocks at `at`. */
static void search_at(char *at, void (*arrange)(void *))
{
	struct child child;

	arena = at;
	memset(&found, 0, sizeof(found));
	child = child_fork(arrange, NULL);
	child_await_sleep(child.pid);
	is_whole = true;
	search_child(child, &(struct reach_words){0});
	is_whole = false;
}

#define GUARD_BYTES 4096

/* Between inaccessible pages, so that nothing else is in the mapping. */
static char *map(size_t size)
{
	char *at = mmap(NULL, size + 2 * GUARD_BYTES, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	REQUIRE(at != MAP_FAILED);
	at += GUARD_BYTES;
	REQUIRE(!mprotect(at, size, PROT_READ | PROT_WRITE));
	return at;
}

static void unmap(char *at, size_t size)
{
	munmap(at - GUARD_BYTES, size + 2 * GUARD_BYTES);
}

static void check_candidates(unsigned first)
{
	for (unsigned i = first; i < CANDIDATES; i++)
		check_level(i, REACH_UNREACHED);
}

static void arrange_behind_block(void *unused)
{
	(void)unused;
	put(word(3, 8), 0, 0);
	wash();
}

/* Blocks in the rest of a page of global variables. */
static void memory_above_a_mapped_file(void)
{
	char *at = map(4096 + ARENA_BYTES);
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	search_at(at + 4096, arrange_behind_block);
	check_candidates(0);
	REQUIRE(fd >= 0 &&
		mmap(at, 4096, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == at);
	close(fd);
	search_at(at + 4096, arrange_behind_block);
	check_level(0, REACH_REACHED);
	check_candidates(1);
	unmap(at, 4096 + ARENA_BYTES);
}

static uint64_t *early;

static void arrange_heap(void *unused)
{
	(void)unused;
	put(early, 0, 0);
	put(word(CANDIDATES, 8), 1, 0);
	wash();
}

/* Where glibc puts thread-local data of static programs. */
static void the_heap_below_all_blocks(void)
{
	char *at;

	early = sbrk(4096);
	REQUIRE(early != (void *)-1);
	early = (uint64_t *)(((uintptr_t)early + 7) / 8 * 8);
	at = sbrk((intptr_t)ARENA_BYTES + 4096);
	REQUIRE(at != (void *)-1);
	search_at(at + (-(uintptr_t)at & 4095), arrange_heap);
	check_level(0, REACH_REACHED);
	check_candidates(1);
}

static pthread_key_t key;

static void *keep(void *unused)
{
	pthread_setspecific(key, (void *)(uintptr_t)BLOCK(0));
	wash();
	for (;;)
		pause();
	return unused;
}

/* The thread's control block is in the page with the first block, below it. */
static void arrange_thread(void *unused)
{
	pthread_attr_t attributes;
	pthread_t thread;

	(void)unused;
	REQUIRE(!pthread_attr_init(&attributes));
	REQUIRE(!pthread_attr_setstack(&attributes, arena + 4096 - STACK_BYTES,
				       STACK_BYTES));
	REQUIRE(!pthread_create(&thread, &attributes, keep, NULL));
	usleep(200000);
	wash();
}

static void memory_around_thread_pointers(void)
{
	char *at = map(STACK_BYTES + ARENA_BYTES);

	REQUIRE(!pthread_key_create(&key, NULL));
	search_at(at + STACK_BYTES + 3088 - 4096, arrange_thread);
	check_level(0, REACH_REACHED);
	check_candidates(1);
	unmap(at, STACK_BYTES + ARENA_BYTES);
}

int main(void)
{
	RUN(memory_above_a_mapped_file);
	RUN(the_heap_below_all_blocks);
	RUN(memory_around_thread_pointers);
	return check_done();
}
