// SPDX-License-Identifier: Apache-2.0
/*
 * What a process changes between the two looks at it. If the kernel has soft-dirty bits,
 * the second look reads only what was written since the first one. The verdicts are the
 * same without them.
 */
#include "check.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "unit/reach/arranged.h"

/* Memory without pointers, which the child does not write again. */
#define FILLED_BYTES ((size_t)64 << 20)

static char *filled;

/* How the child changes when it gets SIGUSR1. */
static void (*change)(void);

static volatile uint64_t in_data[2];
static volatile uint64_t *shared;

/* The child has mapped memory beside `filled`: for the kernel all of that is new. */
static bool has_mapped;

static void on_signal(int number)
{
	(void)number;
	change();
	wash();
	if (write(ready_to, "", 1) != 1)
		_exit(1);
}

static struct child start(void (*arrange)(void), int *ret_from)
{
	struct child child = {.to = -1, .from = -1};
	int ends[2];
	char byte;

	map_arena();
	REQUIRE(!pipe(ends));
	fflush(stdout);
	child.pid = fork();
	REQUIRE(child.pid >= 0);
	if (!child.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		ready_to = ends[1];
		signal(SIGUSR1, on_signal);
		filled = mmap(NULL, FILLED_BYTES, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		memset(filled, 1, FILLED_BYTES);
		arrange();
		wash();
		stay();
	}
	close(ends[1]);
	REQUIRE(read(ends[0], &byte, 1) == 1);
	*ret_from = ends[0];
	return child;
}

/* Arrange a child, look, have it changed, and look again. `freed`: a block that is no
 * candidate any more; BLOCKS: none. */
static void search_changing(void (*arrange)(void), void (*then)(void), unsigned freed)
{
	static const struct reach_words words = {.unaligned = false};
	uint64_t deadline = clock_now_ns() + UINT64_C(60000000000);
	struct reach_effort effort = {0};
	struct reach_target target;
	struct reach_table table;
	struct child child;
	char byte;
	int from;

	change = then;
	child = start(arrange, &from);
	target = (struct reach_target){.pid = child.pid};
	fill(&table);
	table.notes_changes = pages_forget_changes(child.pid);
	REQUIRE(!reach_scan_first(&target, &words, &table, deadline, &effort));
	CHECK(effort.read_bytes >= FILLED_BYTES);
	if (freed < BLOCKS) {
		CHECK(found.level[freed] != REACH_REACHED);
		found.level[freed] = REACH_REACHED;
	}
	REQUIRE(!kill(child.pid, SIGUSR1) && read(from, &byte, 1) == 1);
	child_await_sleep(child.pid);
	REQUIRE(!reach_scan_stop(&target, deadline));
	REQUIRE(!reach_scan_verify(&target, &words, &table, deadline, &effort));
	CHECK(!effort.is_late);
	if (!table.notes_changes || has_mapped)
		CHECK(effort.read_bytes >= FILLED_BYTES);
	else
		CHECK(effort.read_bytes < FILLED_BYTES / 4);
	printf("     %.1f MB read while it was stopped\n",
	       (double)effort.read_bytes / 1e6);
	reach_scan_forget(&target);
	close(from);
	child_end(&child);
}

/* Block 0 is reached, and has a pointer to block 1. Others lead to each other. */
static void arrange_some(void)
{
	put(&in_data[0], 0, 0);
	put(word(0, 0), 1, 0);
	put(word(2, 0), 3, 0);
	put(word(4, 0), 5, 0);
	put((uint64_t *)(uintptr_t)(filled + 128), 6, 8);
}

static void do_nothing(void)
{
}

static void nothing_changes(void)
{
	search_changing(arrange_some, do_nothing, BLOCKS);
	check_level(0, REACH_REACHED);
	check_level(1, REACH_REACHED);
	check_level(2, REACH_UNREACHED);
	check_level(3, REACH_UNREACHED);
	/* The pointer into it is in a page that was not written. */
	check_level(6, REACH_POSSIBLE);
	CHECK_INT(found.head[3], 2);
	check_rest(7);
}

/* Pointers that the first look could not see, in memory of each kind. */
static void write_pointers(void)
{
	char *mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	/* In place of memory that was searched. */
	char *again = mmap(filled + 8192, 4096, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	put((uint64_t *)(uintptr_t)filled, 2, 0);
	put((uint64_t *)(uintptr_t)mapped, 10, 0);
	put((uint64_t *)(uintptr_t)again, 11, 0);
	put(&in_data[1], 12, 0);
	put(shared, 13, 0);
	put(word(1, 0), 14, 0); /* a chain of reached blocks */
	put(word(6, 1), 15, 0); /* in a block that is possibly reached */
}

static void pointers_are_written(void)
{
	has_mapped = true;
	search_changing(arrange_some, write_pointers, BLOCKS);
	has_mapped = false;
	check_level(2, REACH_REACHED);
	/* Block 2 was not written, but it is reached now. */
	check_level(3, REACH_REACHED);
	check_level(4, REACH_UNREACHED);
	for (unsigned i = 10; i < 15; i++)
		check_level(i, REACH_REACHED);
	check_level(15, REACH_POSSIBLE);
	check_rest(16);
}

/* What a freed block leaves in memory counts as reached, though nobody wrote to it. */
static void a_candidate_is_freed(void)
{
	search_changing(arrange_some, do_nothing, 4);
	check_level(4, REACH_REACHED);
	check_level(5, REACH_REACHED);
	check_level(2, REACH_UNREACHED);
	check_rest(7);
}

/* A pointer moves from memory that the second look reads to memory that the first look
 * has read, and back. */
static void arrange_moving(void)
{
	put(&in_data[0], 0, 0);
	put((uint64_t *)(uintptr_t)(filled + 4096), 1, 0);
	put((uint64_t *)(uintptr_t)(filled + 8), 2, 0);
}

static void move(void)
{
	in_data[0] = 0;
	put((uint64_t *)(uintptr_t)(filled + 64), 0, 0);
	*(volatile uint64_t *)(uintptr_t)(filled + 4096) = 0;
	put(&in_data[1], 1, 0);
}

static void pointers_move(void)
{
	search_changing(arrange_moving, move, BLOCKS);
	for (unsigned i = 0; i < 3; i++)
		check_level(i, REACH_REACHED);
	check_rest(3);
}

int main(void)
{
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	REQUIRE(shared != MAP_FAILED);
	printf("     soft-dirty bits: %s\n",
	       pages_forget_changes(getpid()) ? "yes" : "no");
	RUN(nothing_changes);
	RUN(pointers_are_written);
	RUN(a_candidate_is_freed);
	RUN(pointers_move);
	return check_done();
}
