// SPDX-License-Identifier: Apache-2.0
/*
 * The search for unreachable blocks (src/reach) in a process with a heap of its own: what
 * of its memory is read each second, how long it is stopped, and how much memory the
 * search takes; beside memcpy() of as much memory and LeakSanitizer's search of a heap
 * like it, in the same run.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

#include "bench/bench.h"
#include "reach/scan.h"
#include "util/huge_array.h"

#define GIB       ((size_t)1 << 30)
#define RUNS      3
#define LOST_EACH 100 /* one block in so many is lost */

struct heap {
	size_t bytes, blocks, block_bytes; /* with 16 bytes between blocks */
	char *at;
	uint64_t *table; /* a pointer to each block that is not lost, and of each block
			    another one */
};

static char *map(size_t bytes)
{
	char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		die("no memory for a heap of %zu MiB", bytes >> 20);
	return at;
}

/* Not inlined: the address of the first block must not stay in a register. */
static __attribute__((noinline)) uint64_t address_of(const struct heap *heap,
						     size_t block)
{
	return (uint64_t)(uintptr_t)heap->at + block * (heap->block_bytes + 16) + 16;
}

/* In the target: write all blocks, and point to them. */
static void fill(const struct heap *heap)
{
	uint64_t state = 88172645463325252u;

	memset(heap->at, 1, heap->bytes);
	for (size_t i = 0; i < heap->blocks; i++) {
		uint64_t *block = (uint64_t *)(uintptr_t)address_of(heap, i);
		size_t other;

		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		other = state % heap->blocks;
		if (other % LOST_EACH)
			block[0] = address_of(heap, other);
		if (i % LOST_EACH)
			heap->table[i] = address_of(heap, i);
	}
}

static pid_t start_target(const struct heap *heap)
{
	int ready[2];
	char byte;
	pid_t pid;

	if (pipe(ready))
		die("no pipe");
	fflush(stdout);
	pid = fork();
	if (pid < 0)
		die("cannot fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fill(heap);
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		die("the target has ended");
	close(ready[0]);
	return pid;
}

/* Figures of one search. */
struct figures {
	double look_ns, pause_ns, kb; /* kb: memory of the search */
	double read_bytes;
	unsigned long lost;
};

static long peak_kb(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

static struct reach_table make_table(const struct heap *heap, uint32_t count)
{
	struct reach_table table = {malloc(count * 8ul),
				    malloc(count * 8ul),
				    malloc(count),
				    malloc(count * 4ul),
				    count,
				    false};

	if (!table.start || !table.end || !table.level || !table.head)
		die("no memory for a table");
	for (uint32_t i = 0; i < count; i++) {
		table.start[i] = address_of(heap, i);
		table.end[i] = table.start[i] + heap->block_bytes;
	}
	return table;
}

static void search(const struct heap *heap, pid_t pid, struct figures *ret)
{
	const struct reach_words words = {.unaligned = false};
	struct reach_target target = {.pid = pid};
	struct reach_effort effort = {0};
	uint64_t begin_ns = now_ns(), far_ns = begin_ns + UINT64_C(100000000000);
	struct reach_table table;
	uint32_t candidates = 0;
	long before_kb = peak_kb();

	table = make_table(heap, (uint32_t)heap->blocks);
	begin_ns = now_ns();
	if (reach_scan_first(&target, &words, &table, far_ns, &effort))
		die("the search has failed");
	ret->look_ns = (double)(now_ns() - begin_ns);
	ret->read_bytes = (double)effort.read_bytes;
	ret->kb = (double)(peak_kb() - before_kb);
	for (uint32_t i = 0; i < table.count; i++)
		if (table.level[i] != REACH_REACHED) {
			table.start[candidates] = table.start[i];
			table.end[candidates++] = table.end[i];
		}
	table.count = candidates;
	if (reach_scan_stop(&target, far_ns) ||
	    reach_scan_verify(&target, &words, &table, far_ns, &effort))
		die("the verification has failed");
	ret->pause_ns = (double)effort.pause_ns;
	for (uint32_t i = 0; i < candidates; i++)
		ret->lost += table.level[i] == REACH_UNREACHED;
}

/* In a process of its own, so that its peak of memory is the peak of the search. */
static struct figures search_apart(const struct heap *heap, pid_t target)
{
	struct figures figures = {0};
	int result[2];
	pid_t pid;

	if (pipe(result))
		die("no pipe");
	fflush(stdout);
	pid = fork();
	if (pid < 0)
		die("cannot fork");
	if (!pid) {
		search(heap, target, &figures);
		_exit(write(result[1], &figures, sizeof(figures)) != sizeof(figures));
	}
	close(result[1]);
	if (read(result[0], &figures, sizeof(figures)) != sizeof(figures))
		die("the search has ended");
	close(result[0]);
	waitpid(pid, NULL, 0);
	return figures;
}

/* Bytes per second of memcpy() of memory that is not in the cache. */
static double copy_speed(void)
{
	size_t bytes = GIB / 2;
	char *from = map(bytes), *to = map(bytes);
	double ns[RUNS];

	memset(from, 1, bytes);
	memset(to, 2, bytes);
	for (int i = 0; i < RUNS; i++) {
		uint64_t begin_ns = now_ns();

		memcpy(to, from, bytes);
		__asm__ volatile("" ::"r"(to) : "memory");
		ns[i] = (double)(now_ns() - begin_ns);
	}
	munmap(from, bytes);
	munmap(to, bytes);
	return (double)bytes / median(ns, RUNS) * 1e9;
}

/* Time of one access to one of `count` bytes at random, while others are under way. Each
 * pointer costs a search one such access at least: to what it knows of the block. */
static double access_ns(size_t count)
{
	unsigned char *bytes = huge_array_create(count);
	uint64_t state = 88172645463325252u, sum = 0;
	double ns[RUNS];

	if (!bytes)
		die("no memory");
	memset(bytes, 1, count);
	for (int i = 0; i < RUNS; i++) {
		uint64_t begin_ns = now_ns();

		for (size_t k = 0; k < count; k++) {
			state = state * UINT64_C(6364136223846793005) + 1;
			sum += bytes[(state >> 32) * count >> 32];
		}
		ns[i] = (double)(now_ns() - begin_ns) / (double)count;
		if (sum % count)
			die("not all bytes were read");
	}
	huge_array_destroy(bytes, count);
	return median(ns, RUNS);
}

/* Bytes per second of LeakSanitizer's search in a heap of as many blocks, in its own
 * process, which is stopped meanwhile. 0: it cannot run here. */
static double leak_sanitizer_speed(const struct heap *heap)
{
	char command[256], line[64] = "";
	FILE *output;
	double ns;

	snprintf(command, sizeof(command), "%s %zu %zu %d 2>/dev/null", LEAK_CHECK_BINARY,
		 heap->bytes, heap->blocks, LOST_EACH);
	output = popen(command, "r");
	if (!output)
		return 0;
	ns = fgets(line, sizeof(line), output) ? strtod(line, NULL) : 0;
	return pclose(output) == 0 && ns > 0 ? (double)heap->bytes / ns * 1e9 : 0;
}

static void measure(size_t gib, size_t blocks)
{
	struct heap heap = {.bytes = gib * GIB, .blocks = blocks};
	double look[RUNS], pause_ms[RUNS], copy = copy_speed(), lsan, limit;
	struct figures figures = {0};
	pid_t target;

	heap.block_bytes = (heap.bytes / blocks - 16) / 16 * 16;
	heap.at = map(heap.bytes);
	heap.table = (uint64_t *)(void *)map(blocks * 8);
	target = start_target(&heap);
	for (int i = 0; i < RUNS; i++) {
		figures = search_apart(&heap, target);
		look[i] = figures.read_bytes / figures.look_ns * 1e9;
		pause_ms[i] = figures.pause_ns / 1e6;
	}
	kill(target, SIGKILL);
	waitpid(target, NULL, 0);
	munmap(heap.at, heap.bytes);
	munmap(heap.table, blocks * 8);
	lsan = leak_sanitizer_speed(&heap);
	/* Of a search that only copies the memory, and accesses a byte for each pointer:
	 * two to each block. */
	limit = 1 / (1 / copy +
		     2.0 * (double)blocks * access_ns(blocks) / 1e9 / figures.read_bytes);
	printf("%4zu GiB %5zu k %10.2f %10.2f %10.2f %7.2f %10.2f %12.0f %14.0f %12.1f "
	       "%10lu\n",
	       gib, blocks / 1000, median(look, RUNS) / 1e9, limit / 1e9, copy / 1e9,
	       median(look, RUNS) / copy, lsan / 1e9, median(pause_ms, RUNS),
	       median(pause_ms, RUNS) / (double)gib, figures.kb * 1024 / (double)blocks,
	       figures.lost);
}

void section_search(void)
{
	printf("\nThe search for unreachable blocks; one in %d is lost\n"
	       "%8s %7s %10s %10s %10s %7s %10s %12s %14s %12s %10s\n",
	       LOST_EACH, "heap", "blocks", "read GB/s", "limit", "memcpy", "ratio",
	       "LSan GB/s", "stopped ms", "stopped ms/GiB", "B per block", "lost");
	measure(1, 1000000);
	measure(1, 10000000);
	measure(5, 10000000);
}
