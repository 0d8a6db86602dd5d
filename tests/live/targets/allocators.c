/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls each allocation function that it finds at run time, each from its own call path,
 * and counts what is outstanding. Some calls are for large blocks, and some fail. Runs
 * with other allocators preloaded, and is also built with allocators linked statically.
 * Commands: "run N" (allocate N blocks with each function, and free every other one at
 * once), "release", "truth", "count" (the number of functions), "only TEXT" (from now on
 * only functions in files whose names contain TEXT), "without NAME" (from now on without
 * this call path), "map N" (2 N calls of mmap, N of mremap; most are unmapped).
 *
 * C++ operators are called by their mangled names (Itanium ABI, size_t is unsigned long).
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NOINLINE  static __attribute__((noinline))
#define WEAK      __attribute__((weak))
#define ALIGNMENT ((size_t)64)

/* --- functions that an allocator may lack ----------------------------------------- */

void *memalign(size_t, size_t) WEAK;
void *valloc(size_t) WEAK;
void *pvalloc(size_t) WEAK;
void *reallocarray(void *, size_t, size_t) WEAK;

#define JEMALLOC(p)                                                                      \
	void *p##mallocx(size_t, int) WEAK;                                              \
	void *p##rallocx(void *, size_t, int) WEAK;                                      \
	size_t p##xallocx(void *, size_t, size_t, int) WEAK;                             \
	void p##dallocx(void *, int) WEAK;                                               \
	void p##sdallocx(void *, size_t, int) WEAK;
JEMALLOC()
JEMALLOC(je_)
void *je_malloc(size_t) WEAK;
void *je_calloc(size_t, size_t) WEAK;
void *je_realloc(void *, size_t) WEAK;
int je_posix_memalign(void **, size_t, size_t) WEAK;
void *je_aligned_alloc(size_t, size_t) WEAK;
void je_free(void *) WEAK;

void *tc_malloc(size_t) WEAK;
void *tc_malloc_skip_new_handler(size_t) WEAK;
void *tc_new(size_t) WEAK;
void tc_free(void *) WEAK;
void tc_free_sized(void *, size_t) WEAK;
void tc_delete_sized(void *, size_t) WEAK;

void *_Znwm(size_t) WEAK;
void *_Znam(size_t) WEAK;
void *_ZnwmRKSt9nothrow_t(size_t, const void *) WEAK;
void *_ZnamRKSt9nothrow_t(size_t, const void *) WEAK;
void *_ZnwmSt11align_val_t(size_t, size_t) WEAK;
void *_ZnamSt11align_val_t(size_t, size_t) WEAK;
void *_ZnwmSt11align_val_tRKSt9nothrow_t(size_t, size_t, const void *) WEAK;
void *_ZnamSt11align_val_tRKSt9nothrow_t(size_t, size_t, const void *) WEAK;
void _ZdlPv(void *) WEAK;
void _ZdaPv(void *) WEAK;
void _ZdlPvm(void *, size_t) WEAK;
void _ZdaPvm(void *, size_t) WEAK;
void _ZdlPvRKSt9nothrow_t(void *, const void *) WEAK;
void _ZdaPvRKSt9nothrow_t(void *, const void *) WEAK;
void _ZdlPvSt11align_val_t(void *, size_t) WEAK;
void _ZdaPvSt11align_val_t(void *, size_t) WEAK;
void _ZdlPvmSt11align_val_t(void *, size_t, size_t) WEAK;
void _ZdaPvmSt11align_val_t(void *, size_t, size_t) WEAK;
void _ZdlPvSt11align_val_tRKSt9nothrow_t(void *, size_t, const void *) WEAK;
void _ZdaPvSt11align_val_tRKSt9nothrow_t(void *, size_t, const void *) WEAK;

/* std::nothrow_t is empty: any object stands for std::nothrow. */
static const char nothrow;

/* --- call paths -------------------------------------------------------------------- */

static struct {
	uint64_t allocations, allocated_bytes, frees, freed_bytes, failures;
} totals;

/* More bytes than any machine has. */
#define HUGE (SIZE_MAX / 4 / 64 * 64)
/* Larger than what allocators keep ready. */
#define LARGE    (1 << 20)
#define SMALL    1024 /* bytes; the limit of mimalloc's functions for small blocks */

#define OLD_SIZE 64

/* The old block of the last realloc: it is still there if the realloc has failed. */
static void *old_block;
#define OLD(block) (old_block = (block))

/* Counts a realloc's old block, which the same call path allocates and frees, and returns
 * its size. It is larger than the new one or smaller in turn. */
static size_t first(size_t n)
{
	size_t old = n >= HUGE || n / ALIGNMENT % 2 ? OLD_SIZE : n + 64;

	totals.allocations++;
	totals.allocated_bytes += old;
	totals.frees++;
	totals.freed_bytes += old;
	return old;
}

/* Size of the last block after a resize in place, bytes. */
static size_t resized;

#define ALLOC(name, call)                                                                \
	NOINLINE void *site_##name(size_t n)                                             \
	{                                                                                \
		void *p = call;                                                          \
		return p;                                                                \
	}
#define ALLOC_OUT(name, call)                                                            \
	NOINLINE void *site_##name(size_t n)                                             \
	{                                                                                \
		void *p = NULL;                                                          \
		return call ? NULL : p;                                                  \
	}
#define RESIZE(name, make, call)                                                         \
	NOINLINE void *site_##name(size_t n)                                             \
	{                                                                                \
		void *p = make;                                                          \
		size_t m = n + 1 + n % 40;                                               \
		resized = (size_t)call >= m ? m : n;                                     \
		return p;                                                                \
	}
#define FREE(name, call)                                                                 \
	NOINLINE void end_##name(void *p, size_t n)                                      \
	{                                                                                \
		(void)n;                                                                 \
		call;                                                                    \
	}

ALLOC(malloc, malloc(n))
ALLOC(calloc, calloc(n / 8, 8))
ALLOC(realloc, realloc(OLD(malloc(first(n))), n))
ALLOC(realloc_null, realloc(NULL, n))
ALLOC(reallocarray, reallocarray(OLD(malloc(first(n))), n / 8, 8))
ALLOC(aligned_alloc, aligned_alloc(ALIGNMENT, n))
ALLOC(memalign, memalign(ALIGNMENT, n))
ALLOC(valloc, valloc(n))
ALLOC(pvalloc, pvalloc(n))
ALLOC_OUT(posix_memalign, posix_memalign(&p, ALIGNMENT, n))
FREE(free, free(p))

ALLOC(mallocx, mallocx(n, 0))
ALLOC(rallocx, rallocx(OLD(mallocx(first(n), 0)), n, 0))
RESIZE(xallocx, mallocx(n, 0), xallocx(p, m, 0, 0))
FREE(dallocx, dallocx(p, 0))
FREE(sdallocx, sdallocx(p, n, 0))

ALLOC(je_malloc, je_malloc(n))
ALLOC(je_calloc, je_calloc(n / 8, 8))
ALLOC(je_realloc, je_realloc(OLD(je_malloc(first(n))), n))
ALLOC(je_aligned_alloc, je_aligned_alloc(ALIGNMENT, n))
ALLOC_OUT(je_posix_memalign, je_posix_memalign(&p, ALIGNMENT, n))
ALLOC(je_mallocx, je_mallocx(n, 0))
ALLOC(je_rallocx, je_rallocx(OLD(je_mallocx(first(n), 0)), n, 0))
RESIZE(je_xallocx, je_mallocx(n, 0), je_xallocx(p, m, 0, 0))
FREE(je_free, je_free(p))
FREE(je_dallocx, je_dallocx(p, 0))
FREE(je_sdallocx, je_sdallocx(p, n, 0))

ALLOC(tc_malloc, tc_malloc(n))
ALLOC(tc_malloc_skip, tc_malloc_skip_new_handler(n))
ALLOC(tc_new, tc_new(n))
FREE(tc_free, tc_free(p))
FREE(tc_free_sized, tc_free_sized(p, n))
FREE(tc_delete_sized, tc_delete_sized(p, n))

#include "mimalloc_calls.h"

ALLOC(new, _Znwm(n))
ALLOC(new_array, _Znam(n))
ALLOC(new_nothrow, _ZnwmRKSt9nothrow_t(n, &nothrow))
ALLOC(new_array_nothrow, _ZnamRKSt9nothrow_t(n, &nothrow))
ALLOC(new_aligned, _ZnwmSt11align_val_t(n, ALIGNMENT))
ALLOC(new_array_aligned, _ZnamSt11align_val_t(n, ALIGNMENT))
ALLOC(new_aligned_nothrow, _ZnwmSt11align_val_tRKSt9nothrow_t(n, ALIGNMENT, &nothrow))
ALLOC(new_array_aligned_nothrow,
      _ZnamSt11align_val_tRKSt9nothrow_t(n, ALIGNMENT, &nothrow))
FREE(delete, _ZdlPv(p))
FREE(delete_array, _ZdaPv(p))
FREE(delete_sized, _ZdlPvm(p, n))
FREE(delete_array_sized, _ZdaPvm(p, n))
FREE(delete_nothrow, _ZdlPvRKSt9nothrow_t(p, &nothrow))
FREE(delete_array_nothrow, _ZdaPvRKSt9nothrow_t(p, &nothrow))
FREE(delete_aligned, _ZdlPvSt11align_val_t(p, ALIGNMENT))
FREE(delete_array_aligned, _ZdaPvSt11align_val_t(p, ALIGNMENT))
FREE(delete_sized_aligned, _ZdlPvmSt11align_val_t(p, n, ALIGNMENT))
FREE(delete_array_sized_aligned, _ZdaPvmSt11align_val_t(p, n, ALIGNMENT))
FREE(delete_aligned_nothrow, _ZdlPvSt11align_val_tRKSt9nothrow_t(p, ALIGNMENT, &nothrow))
FREE(delete_array_aligned_nothrow,
     _ZdaPvSt11align_val_tRKSt9nothrow_t(p, ALIGNMENT, &nothrow))

/* A function that allocates and one that frees. `needs` are the library functions that
 * they call. OP_RESIZE: the block is resized in place. OP_SMALL: it must be small.
 * OP_THROWS: a failed call does not return. */
static const struct op {
	const char *site;
	void *(*make)(size_t n);
	void (*end)(void *p, size_t n);
	void *needs[2];
	enum {
		USUAL,
		RESIZES,
		IS_SMALL,
		THROWS
	} kind;
} ops[] = {
#define OP_KIND(name, freeing, a, b, kind)                                               \
	{"site_" #name, site_##name, end_##freeing, {(void *)a, (void *)b}, kind},
#define OP(name, freeing, a, b)        OP_KIND(name, freeing, a, b, USUAL)
#define OP_RESIZE(name, freeing, a, b) OP_KIND(name, freeing, a, b, RESIZES)
#define OP_SMALL(name, freeing, a, b)  OP_KIND(name, freeing, a, b, IS_SMALL)
#define OP_THROWS(name, freeing, a, b) OP_KIND(name, freeing, a, b, THROWS)
	/* clang-format off */
	OP(malloc, free, malloc, free)
	OP(calloc, free, calloc, free)
	OP(realloc, free, realloc, free)
	OP(realloc_null, free, realloc, free)
	OP(reallocarray, free, reallocarray, free)
	/* glibc's reallocarray() calls the program's realloc(), whichever it is. */
	OP(reallocarray, free, reallocarray, getpid)
	OP(aligned_alloc, free, aligned_alloc, free)
	OP(memalign, free, memalign, free)
	OP(valloc, free, valloc, free)
	OP(pvalloc, free, pvalloc, free)
	OP(posix_memalign, free, posix_memalign, free)
	OP(mallocx, dallocx, mallocx, dallocx)
	OP(rallocx, sdallocx, rallocx, sdallocx)
	OP_RESIZE(xallocx, dallocx, xallocx, dallocx)
	OP(je_malloc, je_free, je_malloc, je_free)
	OP(je_calloc, je_free, je_calloc, je_free)
	OP(je_realloc, je_free, je_realloc, je_free)
	OP(je_aligned_alloc, je_free, je_aligned_alloc, je_free)
	OP(je_posix_memalign, je_free, je_posix_memalign, je_free)
	OP(je_mallocx, je_dallocx, je_mallocx, je_dallocx)
	OP(je_rallocx, je_sdallocx, je_rallocx, je_sdallocx)
	OP_RESIZE(je_xallocx, je_dallocx, je_xallocx, je_dallocx)
	OP(tc_malloc, tc_free, tc_malloc, tc_free)
	OP(tc_malloc, tc_free_sized, tc_malloc, tc_free_sized)
	OP(tc_malloc_skip, tc_free, tc_malloc_skip_new_handler, tc_free)
	OP_THROWS(tc_new, tc_delete_sized, tc_new, tc_delete_sized)
	MIMALLOC_OPS
	OP_THROWS(new, delete, _Znwm, _ZdlPv)
	OP_THROWS(new_array, delete_array, _Znam, _ZdaPv)
	OP(new_nothrow, delete_nothrow, _ZnwmRKSt9nothrow_t, _ZdlPvRKSt9nothrow_t)
	OP(new_array_nothrow, delete_array_nothrow, _ZnamRKSt9nothrow_t,
	   _ZdaPvRKSt9nothrow_t)
	OP_THROWS(new, delete_sized, _Znwm, _ZdlPvm)
	OP_THROWS(new_array, delete_array_sized, _Znam, _ZdaPvm)
	OP_THROWS(new_aligned, delete_aligned, _ZnwmSt11align_val_t, _ZdlPvSt11align_val_t)
	OP_THROWS(new_array_aligned, delete_array_aligned, _ZnamSt11align_val_t,
	   _ZdaPvSt11align_val_t)
	OP_THROWS(new_aligned, delete_sized_aligned, _ZnwmSt11align_val_t,
	   _ZdlPvmSt11align_val_t)
	OP_THROWS(new_array_aligned, delete_array_sized_aligned, _ZnamSt11align_val_t,
	   _ZdaPvmSt11align_val_t)
	OP(new_aligned_nothrow, delete_aligned_nothrow,
	   _ZnwmSt11align_val_tRKSt9nothrow_t, _ZdlPvSt11align_val_tRKSt9nothrow_t)
	OP(new_array_aligned_nothrow, delete_array_aligned_nothrow,
	   _ZnamSt11align_val_tRKSt9nothrow_t, _ZdaPvSt11align_val_tRKSt9nothrow_t)
	/* clang-format on */
};

#define OP_COUNT (sizeof(ops) / sizeof(ops[0]))
#define KEPT_MAX 250000

static struct kept {
	void *p;
	size_t n;
	const struct op *op;
} kept[KEPT_MAX];
static size_t kept_count;

/* --- the truth --------------------------------------------------------------------- */

static struct {
	uint64_t bytes, blocks;
} sites[OP_COUNT]; /* indexed by the first op with the site's name */

static size_t site_of(const struct op *op)
{
	size_t i = 0;

	while (strcmp(ops[i].site, op->site))
		i++;
	return i;
}

/* Set by "only" and "without". */
static char only[64], without[64];

/* Are both functions from one library? If pvalloc() is another library's, this free()
 * does not know its blocks. */
static bool is_there(const struct op *op)
{
	Dl_info info[2];

	if (!op->needs[0] || !op->needs[1] || !strcmp(op->site, without))
		return false;
	for (int i = 0; i < 2; i++)
		if (!dladdr(op->needs[i], &info[i]))
			return true; /* a static program */
	return info[0].dli_fbase == info[1].dli_fbase && strstr(info[0].dli_fname, only);
}

static void make(const struct op *op, size_t n, bool keep)
{
	size_t site = site_of(op);

	resized = n;
	struct kept block = {op->make(n), n, op};

	if (!block.p || kept_count == KEPT_MAX)
		_exit(97);
	block.n = resized;
	totals.allocations++;
	totals.allocated_bytes += block.n;
	if (keep) {
		sites[site].blocks++;
		sites[site].bytes += block.n;
		kept[kept_count++] = block;
		return;
	}
	op->end(block.p, block.n);
	totals.frees++;
	totals.freed_bytes += block.n;
}

/* libstdc++'s operators call the others, and fail by an exception, which is a block, too.
 * They may be in the program itself. */
static bool can_fail(const struct op *op)
{
	Dl_info info;

	if (op->kind != USUAL)
		return false;
	if (!dladdr(op->needs[0], &info))
		return strncmp(op->site, "site_new", 8) != 0;
	/* An aligned call of musl 1.2.2 crashes where it should fail. */
	if (strstr(info.dli_fname, "musl") &&
	    (strstr(op->site, "align") || strstr(op->site, "valloc")))
		return false;
	return strncmp(op->site, "site_new", 8) ||
	       (strstr(info.dli_fname, ".so") && !strstr(info.dli_fname, "libstdc++"));
}

/* A call that fails. A resized block is then still there. */
static void fail(const struct op *op)
{
	old_block = NULL;
	if (op->make(HUGE))
		_exit(96);
	totals.failures++;
	if (old_block)
		op->end(old_block, OLD_SIZE);
}

/* Sizes, bytes. Two of 2,000 are large: the allocator asks the kernel for them. */
static size_t size_of(const struct op *op, size_t i)
{
	if (op->kind == IS_SMALL)
		return ALIGNMENT * (1 + i % (SMALL / ALIGNMENT));
	return ALIGNMENT * (1 + i % 50) + (i % 2000 / 2 == 500 ? LARGE : 0);
}

static void run(size_t count)
{
	for (const struct op *op = ops; op < ops + OP_COUNT; op++) {
		bool fails = can_fail(op);

		for (size_t i = 0; is_there(op) && i < 2 * count; i++) {
			make(op, size_of(op, i), i & 1);
			if (fails && i % 500 == 250)
				fail(op);
		}
	}
}

static void release(void)
{
	while (kept_count) {
		const struct kept *block = &kept[--kept_count];
		size_t site = site_of(block->op);

		block->op->end(block->p, block->n);
		totals.frees++;
		totals.freed_bytes += block->n;
		sites[site].blocks--;
		sites[site].bytes -= block->n;
	}
}

/* --- mappings ---------------------------------------------------------------------- */

#define PAGE ((size_t)4096)

/* Maps that are kept: one of so many. Each takes one of the process's mappings. */
#define MAPS_KEPT 100

static struct {
	const char *site;
	uint64_t bytes, blocks;
} maps[] = {{"site_mmap", 0, 0}, {"site_mremap", 0, 0}};

NOINLINE void *site_mmap(size_t size)
{
	void *p = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return p;
}

NOINLINE void *site_mremap(void *old, size_t size, size_t new_size)
{
	void *p = mremap(old, size, new_size, MREMAP_MAYMOVE);
	return p;
}

/* One call of each function fails, too. */
static void map(size_t count)
{
	if (site_mmap(0) != MAP_FAILED || munmap((void *)1, PAGE) == 0 ||
	    site_mremap((void *)1, PAGE, PAGE) != MAP_FAILED)
		_exit(95);
	for (size_t i = 0; i < count; i++) {
		size_t size = PAGE * (1 + i % 7), other = PAGE * (1 + i % 5);
		void *kept_map = site_mmap(size), *p = site_mmap(size);

		if (kept_map == MAP_FAILED || p == MAP_FAILED)
			_exit(94);
		p = site_mremap(p, size, other);
		if (p == MAP_FAILED)
			_exit(93);
		if (i % MAPS_KEPT == 0) {
			maps[0].bytes += size;
			maps[0].blocks++;
			maps[1].bytes += other;
			maps[1].blocks++;
		} else if (munmap(kept_map, size) || munmap(p, other)) {
			_exit(92);
		}
	}
}

/* --- answers ----------------------------------------------------------------------- */

static char line[32768];
static size_t length;

static __attribute__((format(printf, 1, 2))) void put(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	int n = vsnprintf(line + length, sizeof(line) - length, format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= sizeof(line) - length)
		_exit(98);
	length += (size_t)n;
}

static void flush(void)
{
	put("\n");
	for (size_t at = 0; at < length;) {
		ssize_t n = write(STDOUT_FILENO, line + at, length - at);

		if (n <= 0)
			_exit(99);
		at += (size_t)n;
	}
	length = 0;
}

static void say_truth(void)
{
	const char *comma = "";

	put("{\"sites\":[");
	for (size_t i = 0; i < OP_COUNT; i++) {
		if (site_of(&ops[i]) != i)
			continue;
		put("%s{\"site\":\"%s\",\"bytes\":%llu,\"blocks\":%llu}", comma,
		    ops[i].site, (unsigned long long)sites[i].bytes,
		    (unsigned long long)sites[i].blocks);
		comma = ",";
	}
	put("],\"mappings\":[");
	for (size_t i = 0; i < 2; i++)
		put("%s{\"site\":\"%s\",\"bytes\":%llu,\"blocks\":%llu}", i ? "," : "",
		    maps[i].site, (unsigned long long)maps[i].bytes,
		    (unsigned long long)maps[i].blocks);
	put("],\"allocations\":%llu,\"allocated_bytes\":%llu,\"frees\":%llu,"
	    "\"freed_bytes\":%llu,\"failures\":%llu}",
	    (unsigned long long)totals.allocations,
	    (unsigned long long)totals.allocated_bytes, (unsigned long long)totals.frees,
	    (unsigned long long)totals.freed_bytes, (unsigned long long)totals.failures);
	flush();
}

static void say_count(void)
{
	unsigned count = 0;

	for (size_t i = 0; i < OP_COUNT; i++)
		count += is_there(&ops[i]);
	put("{\"count\":%u}", count);
	flush();
}

int main(void)
{
	char command[64];
	size_t n = 0;

	put("{\"ready\":\"allocators\"}");
	flush();
	while (read(STDIN_FILENO, command + n, 1) == 1) {
		if (command[n] != '\n' && n + 1 < sizeof(command)) {
			n++;
			continue;
		}
		command[n] = '\0';
		n = 0;
		if (!strncmp(command, "run ", 4))
			run(strtoul(command + 4, NULL, 10));
		else if (!strcmp(command, "release"))
			release();
		else if (!strncmp(command, "map ", 4))
			map(strtoul(command + 4, NULL, 10));
		else if (!strncmp(command, "only ", 5))
			strcpy(only, command + 5);
		else if (!strncmp(command, "without ", 8))
			strcpy(without, command + 8);
		if (!strcmp(command, "truth")) {
			say_truth();
		} else if (!strcmp(command, "count")) {
			say_count();
		} else {
			put("{\"done\":true}");
			flush();
		}
	}
	return 0;
}
