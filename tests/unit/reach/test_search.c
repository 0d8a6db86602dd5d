// SPDX-License-Identifier: Apache-2.0
/* What the searches of a run make of two snapshots. */
#include "check.h"

#include <sys/mman.h>

#include "reach/search.h"
#include "unit/process/child.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct snapshot *, snapshot_destroy);

#define BLOCKS      10
#define BLOCK_BYTES 64
#define ARENA_BYTES ((size_t)1 << 20)

static char *arena;

static uint64_t address_of(size_t block)
{
	return (uint64_t)(uintptr_t)arena + 2048 + 2 * block * BLOCK_BYTES;
}

/* All blocks are on one page. Pointers to them are before the first one, where no block
 * is. */
static __attribute__((noinline)) void arrange(void *unused)
{
	volatile uint64_t *words = (volatile uint64_t *)(void *)arena;

	(void)unused;
	for (size_t i = 0; i < BLOCKS; i++)
		words[i] = address_of(i);
}

static struct snapshot *snapshot_of(int pid)
{
	struct snapshot *snap = snapshot_create();

	REQUIRE(snap && snapshot_add_process(snap, pid));
	for (size_t i = 0; i < BLOCKS; i++)
		REQUIRE(vec_push(&snap->blocks[BLOCK_HEAP],
				 (struct snapshot_block){.address = address_of(i),
							 .size_bytes = BLOCK_BYTES,
							 .stack = SNAPSHOT_NO_STACK}));
	return snap;
}

/* Start a process. Its blocks are at addresses that no earlier search has left anywhere
 * in this process. */
static struct child start(void)
{
	struct child child;

	arena = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(arena != MAP_FAILED);
	child = child_fork(arrange, NULL);
	child_await_sleep(child.pid);
	return child;
}

/* The number of blocks that are lost. `is_moving`: a realloc() was under way at the
 * stop. */
static uint64_t search(bool is_strict, bool is_moving)
{
	const struct reach_search_options options = {.max_pause_ns =
							     UINT64_C(20000000000)};
	struct child child = start();
	_cleanup_(snapshot_destroyp) struct snapshot *before = snapshot_of(child.pid);
	_cleanup_(snapshot_destroyp) struct snapshot *stopped = snapshot_of(child.pid);
	struct reach_search *search;
	struct reach_pause pause;
	uint64_t lost;

	REQUIRE(!reach_search_create(&options, &search));
	if (is_strict)
		reach_search_be_strict(search, child.pid);
	before->has_moving = stopped->has_moving = is_moving;
	REQUIRE(!reach_search_look(search, before));
	reach_search_stop(search);
	REQUIRE(!reach_search_verify(search, stopped));
	REQUIRE(!reach_search_tell(search, stopped));
	CHECK_INT(stopped->search.unsearched, 0);
	/* Nothing is stopped if there are no candidates. */
	pause = reach_search_pause(search);
	CHECK_INT(pause.stopping_ns > 0, is_strict);
	CHECK_INT(pause.search_ns > 0, is_strict);
	CHECK(pause.stopping_ns + pause.table_ns + pause.search_ns <=
	      stopped->search.took_ns);
	lost = stopped->search.total.lost.count;
	reach_search_destroy(search);
	child_end(&child);
	return lost;
}

static void free_memory_holds_nothing_if_it_is_known(void)
{
	CHECK_INT(search(false, false), 0);
	CHECK_INT(search(true, false), BLOCKS);
}

/* Where a block is moved to is not known, and may be what counts as free. */
static void a_block_that_moves_holds_others(void)
{
	CHECK_INT(search(true, true), 0);
}

int main(void)
{
	if (geteuid())
		check_skip("only root can stop any process");
	RUN(free_memory_holds_nothing_if_it_is_known);
	RUN(a_block_that_moves_holds_others);
	return check_done();
}
