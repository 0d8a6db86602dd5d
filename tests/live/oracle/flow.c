/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks that another owner frees: allocated before the attach, by another thread, or
 * before a fork. */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "oracle.h"

#define BEFORE_MAX   (1 << 16)
#define RING_SIZE    1024
#define CHURN_WINDOW 64

static void *before[BEFORE_MAX];
static size_t before_count;

void before_blocks(size_t blocks)
{
	if (blocks > BEFORE_MAX - before_count)
		die("too many blocks from before the attach");
	while (blocks--)
		if (!(before[before_count++] = malloc(100)))
			die("out of memory");
}

/* Frees half of the blocks, resizes a quarter, and fails to resize a quarter. */
void scenario_before(size_t blocks, unsigned threads)
{
	(void)threads;
	if (blocks > before_count)
		die("there are not so many blocks from before");
	for (size_t i = 0; i < blocks; i++) {
		void *address = before[--before_count];

		if (i % 4 < 2) {
			truth_free_before();
			free(address);
		} else if (i % 4 == 2) {
			truth_free_before();
			struct block block =
				new_block(SITE_realloc_before,
					  site_realloc_before(address, 1000), 1000);
			keep_block(0, &block);
		} else {
			truth_failure();
			if (site_realloc_fail(address, SIZE_MAX / 2))
				die("a call that must fail did not");
		}
	}
}

static struct ring {
	struct block blocks[RING_SIZE];
	_Atomic size_t head, tail;
} rings[POOL_SIZE];

static bool push(struct ring *ring, const struct block *block)
{
	size_t head = atomic_load(&ring->head);

	if (head - atomic_load(&ring->tail) == RING_SIZE)
		return false;
	ring->blocks[head % RING_SIZE] = *block;
	atomic_store(&ring->head, head + 1);
	return true;
}

static bool pop(struct ring *ring, struct block *ret)
{
	size_t tail = atomic_load(&ring->tail);

	if (tail == atomic_load(&ring->head))
		return false;
	*ret = ring->blocks[tail % RING_SIZE];
	atomic_store(&ring->tail, tail + 1);
	return true;
}

static void produce(struct ring *ring, size_t n)
{
	size_t size = n % 700;
	struct block block = new_block(SITE_produce, site_produce(size), size);

	while (!push(ring, &block))
		sched_yield();
}

/* Frees every other block at once, on a thread that did not allocate it. */
static void consume(unsigned thread, struct ring *ring, size_t n)
{
	struct block block;

	while (!pop(ring, &block))
		sched_yield();
	if (n % 2)
		free_block(&block);
	else
		keep_block(thread, &block);
}

static void handover(unsigned thread, size_t blocks)
{
	struct ring *ring = &rings[thread / 2];

	for (size_t i = 0; i < 2 * blocks; i++)
		if (thread % 2)
			consume(thread, ring, i);
		else
			produce(ring, i);
}

void scenario_handover(size_t blocks, unsigned threads)
{
	if (threads > 1) {
		pool_run(handover, threads, blocks / (threads / 2));
		return;
	}
	for (size_t i = 0; i < 2 * blocks; i++) {
		produce(&rings[0], i);
		consume(0, &rings[0], i);
	}
}

/* The child is another process: what it frees and allocates must not be counted. */
void scenario_fork(size_t blocks, unsigned threads)
{
	(void)threads;
	scenario_keep(0, blocks);
	pid_t child = fork();
	if (child < 0)
		die("cannot fork");
	if (!child) {
		struct block *block;

		for (size_t i = 0; (block = kept_block(0, i)); i++)
			free(block->address);
		for (size_t i = 0; i < blocks; i++)
			if (!site_keep(5000))
				_exit(1);
		_exit(0);
	}
	int status;
	if (waitpid(child, &status, 0) != child || status)
		die("the child failed");
}

static uint64_t churn_end_ns;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void churn_thread(unsigned thread, size_t blocks)
{
	(void)blocks;
	uint64_t state = 88172645463325252 + thread;
	uint64_t allocations = 0, allocated_bytes = 0, frees = 0, freed_bytes = 0;
	struct block window[CHURN_WINDOW] = {0};

	while (now_ns() < churn_end_ns) {
		for (unsigned i = 0; i < 64; i++) {
			uint64_t r = random_next(&state);
			struct block *block = &window[r % CHURN_WINDOW];

			if (block->address) {
				free(block->address);
				frees++;
				freed_bytes += block->size_bytes;
			}
			block->size_bytes = (r >> 32) % 512;
			block->address = site_churn(block->size_bytes);
			block->site = SITE_churn;
			if (!block->address)
				die("out of memory");
			allocations++;
			allocated_bytes += block->size_bytes;
		}
	}
	for (unsigned i = 0; i < CHURN_WINDOW; i++)
		if (window[i].address)
			keep_block(thread, &window[i]);
	truth_change(SITE_churn, allocations, allocated_bytes, frees, freed_bytes);
}

void churn(uint64_t seconds, unsigned threads)
{
	churn_end_ns = now_ns() + seconds * 1000000000;
	pool_run(churn_thread, threads, 0);
}
