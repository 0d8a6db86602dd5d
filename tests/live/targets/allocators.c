/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls each allocation function that it finds at run time, each from its own call path,
 * and counts what is outstanding. Runs with other allocators preloaded, and is also built
 * with allocators linked statically. Commands: "run N" (allocate N blocks with each
 * function, and free every other one at once), "release", "truth", "count" (the number of
 * functions).
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
void tc_delete_sized(void *, size_t) WEAK;

void *mi_malloc(size_t) WEAK;
void *mi_zalloc(size_t) WEAK;
void *mi_calloc(size_t, size_t) WEAK;
void *mi_mallocn(size_t, size_t) WEAK;
void *mi_realloc(void *, size_t) WEAK;
void *mi_reallocn(void *, size_t, size_t) WEAK;
void *mi_recalloc(void *, size_t, size_t) WEAK;
void *mi_expand(void *, size_t) WEAK;
void *mi_malloc_aligned(size_t, size_t) WEAK;
void *mi_calloc_aligned(size_t, size_t, size_t) WEAK;
void *mi_realloc_aligned(void *, size_t, size_t) WEAK;
void *mi_memalign(size_t, size_t) WEAK;
int mi_posix_memalign(void **, size_t, size_t) WEAK;
void *mi_heap_get_default(void) WEAK;
void *mi_heap_malloc(void *, size_t) WEAK;
void *mi_heap_calloc(void *, size_t, size_t) WEAK;
void *mi_heap_realloc(void *, void *, size_t) WEAK;
void *mi_heap_malloc_aligned(void *, size_t, size_t) WEAK;
void *mi_new(size_t) WEAK;
void *mi_new_n(size_t, size_t) WEAK;
void mi_free(void *) WEAK;
void mi_free_size(void *, size_t) WEAK;
void mi_free_size_aligned(void *, size_t, size_t) WEAK;

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
	uint64_t allocations, allocated_bytes, frees, freed_bytes;
} totals;

/* Counts a realloc's old block, which the same call path allocates and frees. It is 64
 * bytes larger. */
static size_t first(size_t n)
{
	totals.allocations++;
	totals.allocated_bytes += n + 64;
	totals.frees++;
	totals.freed_bytes += n + 64;
	return n + 64;
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
ALLOC(realloc, realloc(malloc(first(n)), n))
ALLOC(realloc_null, realloc(NULL, n))
ALLOC(reallocarray, reallocarray(malloc(first(n)), n / 8, 8))
ALLOC(aligned_alloc, aligned_alloc(ALIGNMENT, n))
ALLOC(memalign, memalign(ALIGNMENT, n))
ALLOC(valloc, valloc(n))
ALLOC(pvalloc, pvalloc(n))
ALLOC_OUT(posix_memalign, posix_memalign(&p, ALIGNMENT, n))
FREE(free, free(p))

ALLOC(mallocx, mallocx(n, 0))
ALLOC(rallocx, rallocx(mallocx(first(n), 0), n, 0))
RESIZE(xallocx, mallocx(n, 0), xallocx(p, m, 0, 0))
FREE(dallocx, dallocx(p, 0))
FREE(sdallocx, sdallocx(p, n, 0))

ALLOC(je_malloc, je_malloc(n))
ALLOC(je_calloc, je_calloc(n / 8, 8))
ALLOC(je_realloc, je_realloc(je_malloc(first(n)), n))
ALLOC(je_aligned_alloc, je_aligned_alloc(ALIGNMENT, n))
ALLOC_OUT(je_posix_memalign, je_posix_memalign(&p, ALIGNMENT, n))
ALLOC(je_mallocx, je_mallocx(n, 0))
ALLOC(je_rallocx, je_rallocx(je_mallocx(first(n), 0), n, 0))
RESIZE(je_xallocx, je_mallocx(n, 0), je_xallocx(p, m, 0, 0))
FREE(je_free, je_free(p))
FREE(je_dallocx, je_dallocx(p, 0))
FREE(je_sdallocx, je_sdallocx(p, n, 0))

ALLOC(tc_malloc, tc_malloc(n))
ALLOC(tc_malloc_skip, tc_malloc_skip_new_handler(n))
ALLOC(tc_new, tc_new(n))
FREE(tc_free, tc_free(p))
FREE(tc_delete_sized, tc_delete_sized(p, n))

ALLOC(mi_malloc, mi_malloc(n))
ALLOC(mi_zalloc, mi_zalloc(n))
ALLOC(mi_calloc, mi_calloc(n / 8, 8))
ALLOC(mi_mallocn, mi_mallocn(n / 8, 8))
ALLOC(mi_realloc, mi_realloc(mi_malloc(first(n)), n))
ALLOC(mi_reallocn, mi_reallocn(mi_malloc(first(n)), n / 8, 8))
ALLOC(mi_recalloc, mi_recalloc(mi_zalloc(first(n)), n / 8, 8))
RESIZE(mi_expand, mi_malloc(n), mi_expand(p, m))
ALLOC(mi_malloc_aligned, mi_malloc_aligned(n, ALIGNMENT))
ALLOC(mi_calloc_aligned, mi_calloc_aligned(n / 8, 8, ALIGNMENT))
ALLOC(mi_realloc_aligned,
      mi_realloc_aligned(mi_malloc_aligned(first(n), ALIGNMENT), n, ALIGNMENT))
ALLOC(mi_memalign, mi_memalign(ALIGNMENT, n))
ALLOC_OUT(mi_posix_memalign, mi_posix_memalign(&p, ALIGNMENT, n))
ALLOC(mi_heap_malloc, mi_heap_malloc(mi_heap_get_default(), n))
ALLOC(mi_heap_calloc, mi_heap_calloc(mi_heap_get_default(), n / 8, 8))
ALLOC(mi_heap_realloc, mi_heap_realloc(mi_heap_get_default(), mi_malloc(first(n)), n))
ALLOC(mi_heap_malloc_aligned, mi_heap_malloc_aligned(mi_heap_get_default(), n, ALIGNMENT))
ALLOC(mi_new, mi_new(n))
ALLOC(mi_new_n, mi_new_n(n / 8, 8))
FREE(mi_free, mi_free(p))
FREE(mi_free_size, mi_free_size(p, n))
FREE(mi_free_size_aligned, mi_free_size_aligned(p, n, ALIGNMENT))

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
 * they call. OP_RESIZE: the block is resized in place. */
static const struct op {
	const char *site;
	void *(*make)(size_t n);
	void (*end)(void *p, size_t n);
	void *needs[2];
	bool resizes;
} ops[] = {
#define OP(name, freeing, a, b)                                                          \
	{"site_" #name, site_##name, end_##freeing, {(void *)a, (void *)b}, false},
#define OP_RESIZE(name, freeing, a, b)                                                   \
	{"site_" #name, site_##name, end_##freeing, {(void *)a, (void *)b}, true},
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
	OP(tc_malloc_skip, tc_free, tc_malloc_skip_new_handler, tc_free)
	OP(tc_new, tc_delete_sized, tc_new, tc_delete_sized)
	OP(mi_malloc, mi_free, mi_malloc, mi_free)
	OP(mi_zalloc, mi_free, mi_zalloc, mi_free)
	OP(mi_calloc, mi_free, mi_calloc, mi_free)
	OP(mi_mallocn, mi_free_size, mi_mallocn, mi_free_size)
	OP(mi_realloc, mi_free, mi_realloc, mi_free)
	OP(mi_reallocn, mi_free, mi_reallocn, mi_free)
	OP(mi_recalloc, mi_free, mi_recalloc, mi_free)
	OP_RESIZE(mi_expand, mi_free, mi_expand, mi_free)
	OP(mi_malloc_aligned, mi_free_size_aligned, mi_malloc_aligned, mi_free_size_aligned)
	OP(mi_calloc_aligned, mi_free, mi_calloc_aligned, mi_free)
	OP(mi_realloc_aligned, mi_free, mi_realloc_aligned, mi_free)
	OP(mi_memalign, mi_free, mi_memalign, mi_free)
	OP(mi_posix_memalign, mi_free, mi_posix_memalign, mi_free)
	OP(mi_heap_malloc, mi_free, mi_heap_malloc, mi_free)
	OP(mi_heap_calloc, mi_free, mi_heap_calloc, mi_free)
	OP(mi_heap_realloc, mi_free, mi_heap_realloc, mi_free)
	OP(mi_heap_malloc_aligned, mi_free, mi_heap_malloc_aligned, mi_free)
	OP(mi_new, mi_free, mi_new, mi_free)
	OP(mi_new_n, mi_free, mi_new_n, mi_free)
	OP(new, delete, _Znwm, _ZdlPv)
	OP(new_array, delete_array, _Znam, _ZdaPv)
	OP(new_nothrow, delete_nothrow, _ZnwmRKSt9nothrow_t, _ZdlPvRKSt9nothrow_t)
	OP(new_array_nothrow, delete_array_nothrow, _ZnamRKSt9nothrow_t,
	   _ZdaPvRKSt9nothrow_t)
	OP(new, delete_sized, _Znwm, _ZdlPvm)
	OP(new_array, delete_array_sized, _Znam, _ZdaPvm)
	OP(new_aligned, delete_aligned, _ZnwmSt11align_val_t, _ZdlPvSt11align_val_t)
	OP(new_array_aligned, delete_array_aligned, _ZnamSt11align_val_t,
	   _ZdaPvSt11align_val_t)
	OP(new_aligned, delete_sized_aligned, _ZnwmSt11align_val_t,
	   _ZdlPvmSt11align_val_t)
	OP(new_array_aligned, delete_array_sized_aligned, _ZnamSt11align_val_t,
	   _ZdaPvmSt11align_val_t)
	OP(new_aligned_nothrow, delete_aligned_nothrow,
	   _ZnwmSt11align_val_tRKSt9nothrow_t, _ZdlPvSt11align_val_tRKSt9nothrow_t)
	OP(new_array_aligned_nothrow, delete_array_aligned_nothrow,
	   _ZnamSt11align_val_tRKSt9nothrow_t, _ZdaPvSt11align_val_tRKSt9nothrow_t)
	/* clang-format on */
};

#define OP_COUNT (sizeof(ops) / sizeof(ops[0]))
#define KEPT_MAX 100000

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

/* Are both functions from one library? If pvalloc() is another library's, this free()
 * does not know its blocks. */
static bool is_there(const struct op *op)
{
	Dl_info info[2];

	if (!op->needs[0] || !op->needs[1])
		return false;
	for (int i = 0; i < 2; i++)
		if (!dladdr(op->needs[i], &info[i]))
			return true; /* a static program */
	return info[0].dli_fbase == info[1].dli_fbase;
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

static void run(size_t count)
{
	for (const struct op *op = ops; op < ops + OP_COUNT; op++)
		for (size_t i = 0; is_there(op) && i < 2 * count; i++)
			make(op, ALIGNMENT * (1 + i % 50), i & 1);
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
	put("],\"allocations\":%llu,\"allocated_bytes\":%llu,\"frees\":%llu,"
	    "\"freed_bytes\":%llu,\"failures\":0}",
	    (unsigned long long)totals.allocations,
	    (unsigned long long)totals.allocated_bytes, (unsigned long long)totals.frees,
	    (unsigned long long)totals.freed_bytes);
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
