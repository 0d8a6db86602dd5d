/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that a test has arranged, and a search in them. The blocks are made up:
 * pieces of a mapping. What points to them is known.
 */
#ifndef TESTS_UNIT_REACH_ARRANGED_H
#define TESTS_UNIT_REACH_ARRANGED_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "check.h"
#include "reach/scan.h"
#include "unit/process/child.h"
#include "util/clock.h"

#define BLOCK_BYTES 64
#define BLOCKS      64
#define ARENA_BYTES ((size_t)1 << 20)

/* Block i is here. The first page of the arena belongs to no block. */
static char *arena;

#define BLOCK(i) ((uint64_t)(uintptr_t)arena + 4096 + (uint64_t)(i)*2 * BLOCK_BYTES)

/* Not as a plain number, so that no stack and no register shows it. */
static inline void put(volatile uint64_t *at, unsigned block, uint64_t offset)
{
	*at = BLOCK(block) + offset;
}

static inline uint64_t *word(unsigned block, unsigned index)
{
	return (uint64_t *)(uintptr_t)(BLOCK(block) + index * sizeof(uint64_t));
}

/* Overwrites what earlier calls have left in registers. */
static inline void wash_registers(void)
{
	__asm__ volatile("xorl %%eax, %%eax; xorl %%ecx, %%ecx; xorl %%edx, %%edx;"
			 "xorl %%esi, %%esi; xorl %%edi, %%edi; xorl %%r8d, %%r8d;"
			 "xorl %%r9d, %%r9d; xorl %%r10d, %%r10d; xorl %%r11d, %%r11d;"
			 "pxor %%xmm0, %%xmm0; pxor %%xmm1, %%xmm1" ::
				 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10",
				   "r11", "xmm0", "xmm1");
}

/* The same for the stack and registers. */
static __attribute__((noinline, unused)) void wash(void)
{
	volatile uint64_t used[4096];

	for (size_t i = 0; i < sizeof(used) / sizeof(*used); i++)
		used[i] = 0;
	wash_registers();
}

static struct {
	uint64_t start[BLOCKS], end[BLOCKS];
	uint8_t level[BLOCKS];
	uint32_t head[BLOCKS];
} found;

static bool found_rings;

static inline void fill(struct reach_table *table)
{
	*table = (struct reach_table){found.start, found.end, found.level,
				      found.head,  BLOCKS,    false};
	memset(&found, 0xee, sizeof(found));
	for (unsigned i = 0; i < BLOCKS; i++) {
		found.start[i] = BLOCK(i);
		found.end[i] = BLOCK(i) + BLOCK_BYTES;
	}
}

/* Are the tables whole? Then only the first CANDIDATES blocks are candidates. */
static bool is_whole;

#define CANDIDATES 32

static inline void mark_candidates(struct reach_table *table)
{
	table->is_whole = is_whole;
	for (unsigned i = 0; is_whole && i < BLOCKS; i++)
		table->level[i] = i < CANDIDATES ? REACH_UNREACHED : REACH_REACHED;
}

/* Search a child that has been arranged, with all blocks as candidates unless the table
 * is whole. */
static inline void search_child(struct child child, const struct reach_words *words)
{
	struct reach_target target;
	struct reach_effort effort = {0};
	struct reach_table table;
	uint64_t deadline = clock_now_ns() + UINT64_C(20000000000);

	memset(&found, 0, sizeof(found));
	target = (struct reach_target){.pid = child.pid};
	fill(&table);
	mark_candidates(&table);
	REQUIRE(!reach_scan_first(&target, words, &table, deadline, &effort));
	CHECK(effort.read_bytes > 0);
	CHECK(!effort.is_late);
	REQUIRE(!reach_scan_stop(&target, deadline));
	fill(&table);
	mark_candidates(&table);
	REQUIRE(!reach_scan_verify(&target, words, &table, deadline, &effort));
	CHECK(!effort.is_late);
	CHECK(effort.threads >= 1);
	found_rings = effort.has_rings;
	child_end(&child);
}

/* At addresses that no earlier search has left anywhere in this process. */
static inline void map_arena(void)
{
	arena = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(arena != MAP_FAILED);
	memset(&found, 0, sizeof(found));
}

/* Search a child that `arrange` has arranged. */
static inline void search_with(void (*arrange)(void *), const struct reach_words *words)
{
	struct child child;

	map_arena();
	child = child_fork(arrange, NULL);
	child_await_sleep(child.pid);
	search_child(child, words);
}

static inline void search(void (*arrange)(void *))
{
	search_with(arrange, &(struct reach_words){0});
}

/* The child writes here when it is arranged. */
static __attribute__((unused)) int ready_to;

static inline void stay(void)
{
	if (write(ready_to, "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

/* Search a child whose `arrange` does not return, but calls stay(). */
static inline void search_staying(void (*arrange)(void))
{
	struct child child = {.to = -1, .from = -1};
	int ends[2];
	char byte;

	map_arena();
	REQUIRE(pipe(ends) == 0);
	fflush(stdout);
	child.pid = fork();
	REQUIRE(child.pid >= 0);
	if (!child.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		ready_to = ends[1];
		arrange();
		_exit(1);
	}
	close(ends[1]);
	REQUIRE(read(ends[0], &byte, 1) == 1);
	close(ends[0]);
	search_child(child, &(struct reach_words){0});
}

static inline void check_level(unsigned block, enum reach_level want)
{
	check_state.checks++;
	if (found.level[block] != want)
		CHECK_FAIL("block %u has level %d, expected %d", block,
			   found.level[block], want);
}

/* No block but the first `count` ones is reached. */
static inline void check_rest(unsigned count)
{
	for (unsigned i = count; i < BLOCKS; i++)
		check_level(i, REACH_UNREACHED);
}

#endif
