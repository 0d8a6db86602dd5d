// SPDX-License-Identifier: Apache-2.0
/* What the searches of a run make of two snapshots. */
#include "check.h"

#include <sys/mman.h>
#include <time.h>

#include "reach/search.h"
#include "unit/process/child.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct snapshot *, snapshot_destroy);

#define BLOCKS      42
#define BLOCK_BYTES 512 /* a word for each other block, at least */
#define ARENA_BYTES ((size_t)1 << 20)

static char *arena;

static uint64_t address_of(size_t block)
{
	return (uint64_t)(uintptr_t)arena + 2048 + 2 * block * BLOCK_BYTES;
}

/* Pointers to all blocks are before the first one, on its page, where no block is. */
static __attribute__((noinline)) void point_from_outside(void *unused)
{
	volatile uint64_t *words = (volatile uint64_t *)(void *)arena;

	(void)unused;
	for (size_t i = 0; i < BLOCKS; i++)
		words[i] = address_of(i);
}

static __attribute__((noinline)) void fill_first(void)
{
	volatile uint64_t *words = (volatile uint64_t *)(uintptr_t)address_of(0);

	for (size_t i = 1; i < BLOCKS; i++)
		words[i - 1] = address_of(i);
}

/* Overwrites what the function called before has left on the stack. */
static __attribute__((noinline)) void overwrite_stack(void)
{
	volatile char over[1024];

	for (size_t i = 0; i < sizeof(over); i++)
		over[i] = 0;
}

/* Nothing points to block 0, and only this one points to the others. */
static __attribute__((noinline)) void point_from_first(void *unused)
{
	(void)unused;
	fill_first();
	overwrite_stack();
}

/* Something points to block 0. */
static __attribute__((noinline)) void point_to_first(void *unused)
{
	(void)unused;
	*(volatile uint64_t *)(void *)arena = address_of(0);
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
static struct child start(void (*arrange)(void *))
{
	struct child child;

	arena = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(arena != MAP_FAILED);
	child = child_fork(arrange, NULL);
	child_await_sleep(child.pid);
	return child;
}

struct course {
	void (*arrange)(void *);
	bool is_strict, is_moving; /* a realloc() was under way at the stop */
	bool is_late;              /* the table takes longer than --max-pause */
	size_t freed;              /* first blocks, before the stop; */
	size_t freed_later;        /* last ones, between it and the report's snapshot */
};

#define PAUSE_NS UINT64_C(20000000) /* of a search that is late */

/* What is in the table at the stop. */
static struct error *find_same(void *arg, const struct snapshot *snap,
			       const uint32_t numbers[], size_t count, bool is_there[])
{
	const struct course *course = arg;

	for (size_t i = 0; i < count; i++) {
		REQUIRE(numbers[i] < snap->blocks[BLOCK_HEAP].len);
		is_there[i] = numbers[i] >= course->freed;
	}
	if (course->is_late)
		nanosleep(&(struct timespec){.tv_nsec = 2 * PAUSE_NS}, NULL);
	return NULL;
}

/* What a search finds. */
static struct snapshot_unreachable search(struct course *course)
{
	const struct reach_search_options options = {
		.max_pause_ns = course->is_late ? PAUSE_NS : UINT64_C(20000000000)};
	struct child child = start(course->arrange);
	_cleanup_(snapshot_destroyp) struct snapshot *before = snapshot_of(child.pid);
	_cleanup_(snapshot_destroyp) struct snapshot *after = snapshot_of(child.pid);
	struct snapshot_unreachable found;
	struct reach_search *search;
	struct reach_pause pause;
	bool wants_all;

	REQUIRE(!reach_search_create(&options, &search));
	if (course->is_strict)
		reach_search_be_strict(search, child.pid);
	before->has_moving = after->has_moving = course->is_moving;
	REQUIRE(!reach_search_look(search, before));
	reach_search_stop(search);
	REQUIRE(!reach_search_recheck(search, before, find_same, course));
	wants_all = reach_search_wants_all(search);
	REQUIRE(!reach_search_verify(search, before, wants_all ? after : NULL));
	after->blocks[BLOCK_HEAP].len -= course->freed_later;
	REQUIRE(!reach_search_tell(search, after));
	CHECK_INT(after->search.unsearched, 0);
	/* Nothing is stopped without candidates. */
	pause = reach_search_pause(search);
	CHECK((pause.stopping_ns > 0) == (after->search.pause_ns > 0));
	CHECK_INT(wants_all, course->is_strict && pause.stopping_ns > 0);
	CHECK(pause.stopping_ns + pause.table_ns + pause.search_ns <=
	      after->search.took_ns);
	found = after->search.total;
	reach_search_destroy(search);
	child_end(&child);
	return found;
}

static void free_memory_holds_nothing_if_it_is_known(void)
{
	struct course course = {.arrange = point_from_outside};

	CHECK_INT(search(&course).lost.count, 0);
	course.is_strict = true;
	CHECK_INT(search(&course).lost.count, BLOCKS);
}

/* Where a block is moved to is not known, and may be what counts as free. */
static void a_block_that_moves_holds_others(void)
{
	struct course course = {
		.arrange = point_from_outside, .is_strict = true, .is_moving = true};

	CHECK_INT(search(&course).lost.count, 0);
}

static void a_lost_block_leads_to_others(void)
{
	struct course course = {.arrange = point_from_first};
	struct snapshot_unreachable found = search(&course);

	CHECK_INT(found.lost.count, 1);
	CHECK_INT(found.held.count, BLOCKS - 1);
	course.is_strict = true;
	CHECK_INT(search(&course).held.count, BLOCKS - 1);
}

/* The memory of a block that was freed before the stop may belong to anything. */
static void a_freed_candidate_holds_others(void)
{
	struct course course = {.arrange = point_from_first, .freed = 1};
	struct snapshot_unreachable found = search(&course);

	CHECK_INT(found.lost.count, 0);
	CHECK_INT(found.held.count, 0);
	CHECK_INT(found.lost_but_freed.count, 0);
}

/* What is freed once the process goes on was no leak, and is counted as a mistake. */
static void freed_before_the_report(void)
{
	struct course course = {.arrange = point_from_first, .freed_later = 2};
	struct snapshot_unreachable found = search(&course);

	CHECK_INT(found.lost.count, 1);
	CHECK_INT(found.held.count, BLOCKS - 3);
	CHECK_INT(found.lost_but_freed.count, 2);
	CHECK_INT(found.held_but_freed.count, 2);
}

/* What could not be verified in time is counted: all candidates, and no other block. (In
 * the table of 41 candidates the levels begin where the table of 42 blocks has its last
 * heads, and end where that has its first levels.) */
static void late_searches_verify_nothing(void)
{
	struct course course = {.arrange = point_to_first};
	struct snapshot_unreachable found = search(&course);

	CHECK_INT(found.lost.count, BLOCKS - 1);
	CHECK_INT(found.unverified.count, 0);
	course.is_late = true;
	found = search(&course);
	CHECK_INT(found.lost.count, 0);
	CHECK_INT(found.unverified.count, BLOCKS - 1);
}

int main(void)
{
	if (geteuid())
		check_skip("only root can stop any process");
	RUN(free_memory_holds_nothing_if_it_is_known);
	RUN(a_block_that_moves_holds_others);
	RUN(a_lost_block_leads_to_others);
	RUN(a_freed_candidate_holds_others);
	RUN(freed_before_the_report);
	RUN(late_searches_verify_nothing);
	return check_done();
}
