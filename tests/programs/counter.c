// SPDX-License-Identifier: Apache-2.0
/*
 * A library to preload. It counts the program's calls of the allocation functions and the
 * outstanding blocks, for comparison with memtrace's counts. It forwards each call to the
 * next definition of the function: the C library's or an allocator library's.
 *
 * It does not see calls that a program binds to its own definitions, and functions that
 * it does not interpose (such as mallocx).
 */
#include "counter_blocks.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define EXPORT      __attribute__((visibility("default")))
#define EARLY_BYTES 65536

/* --- the functions behind --------------------------------------------------------- */

#define FUNCTIONS(X)                                                                     \
	X(malloc)                                                                        \
	X(free)                                                                          \
	X(calloc)                                                                        \
	X(realloc)                                                                       \
	X(reallocarray)                                                                  \
	X(posix_memalign)                                                                \
	X(aligned_alloc)                                                                 \
	X(memalign)                                                                      \
	X(valloc)                                                                        \
	X(pvalloc)

EXPORT void *memalign(size_t alignment, size_t size);
EXPORT void *valloc(size_t size);
EXPORT void *pvalloc(size_t size);

static struct {
#define X(name) __typeof__(name) *name;
	FUNCTIONS(X)
#undef X
} next;

#define OPERATORS(X)                                                                     \
	X(_Znwm)                                                                         \
	X(_Znam)                                                                         \
	X(_ZnwmRKSt9nothrow_t)                                                           \
	X(_ZnamRKSt9nothrow_t)                                                           \
	X(_ZnwmSt11align_val_t)                                                          \
	X(_ZnamSt11align_val_t)                                                          \
	X(_ZnwmSt11align_val_tRKSt9nothrow_t)                                            \
	X(_ZnamSt11align_val_tRKSt9nothrow_t)                                            \
	X(_ZdlPv)                                                                        \
	X(_ZdaPv)                                                                        \
	X(_ZdlPvm)                                                                       \
	X(_ZdaPvm)                                                                       \
	X(_ZdlPvRKSt9nothrow_t)                                                          \
	X(_ZdaPvRKSt9nothrow_t)                                                          \
	X(_ZdlPvSt11align_val_t)                                                         \
	X(_ZdaPvSt11align_val_t)                                                         \
	X(_ZdlPvmSt11align_val_t)                                                        \
	X(_ZdaPvmSt11align_val_t)                                                        \
	X(_ZdlPvSt11align_val_tRKSt9nothrow_t)                                           \
	X(_ZdaPvSt11align_val_tRKSt9nothrow_t)

enum {
#define X(name) OPERATOR_##name,
	OPERATORS(X) OPERATOR_COUNT
#undef X
};

static struct {
	const char *name;
	void *function;  /* NULL: not found at the start */
	bool is_runtime; /* libstdc++'s or libc++'s */
} operators[] = {
#define X(name) {#name, NULL, false},
	OPERATORS(X)
#undef X
};

enum {
	NOT_READY,
	BEING_READY,
	READY
};
static atomic_int state;

/* Memory for dlsym()'s own allocations, before calls can be forwarded. Never freed. */
static struct {
	_Alignas(16) unsigned char bytes[EARLY_BYTES];
	size_t used;
} early;

static void *early_allocate(size_t size)
{
	size_t need = (size + 15) & ~(size_t)15;

	if (size > EARLY_BYTES || need > EARLY_BYTES - early.used)
		return NULL;
	early.used += need;
	return early.bytes + early.used - need;
}

static bool is_early(const void *block)
{
	return (uintptr_t)block - (uintptr_t)early.bytes < EARLY_BYTES;
}

static void *next_symbol(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

static void find_operators(void)
{
	Dl_info info;

	for (unsigned i = 0; i < OPERATOR_COUNT; i++) {
		void *function = next_symbol(operators[i].name);
		operators[i].function = function;
		operators[i].is_runtime = function && dladdr(function, &info) &&
					  info.dli_fname && strstr(info.dli_fname, "c++");
	}
}

/* Can calls be forwarded? The first call comes from the dynamic linker, while there is
 * one thread. dlsym() calls back while this function runs. */
static bool is_ready(void)
{
	if (atomic_load_explicit(&state, memory_order_acquire) == READY)
		return true;
	if (atomic_load(&state) == BEING_READY)
		return false;
	atomic_store(&state, BEING_READY);
#define X(name) *(void **)&next.name = next_symbol(#name);
	FUNCTIONS(X)
#undef X
	find_operators();
	begin();
	atomic_store_explicit(&state, READY, memory_order_release);
	return true;
}

static void in_child(void)
{
	/* The parent's blocks are not ours: their frees do not count. */
	if (counts)
		munmap(counts, sizeof(*counts));
	begin();
}

__attribute__((constructor)) static void watch_forks(void)
{
	is_ready();
	pthread_atfork(NULL, NULL, in_child);
}

/* --- counted calls ---------------------------------------------------------------- */

/* Counts the result of a function. NULL counts as a failure. */
static void *result(void *block, uint64_t size)
{
	if (counts && block)
		note_allocation(block, size, false);
	else if (counts)
		__atomic_fetch_add(&counts->failures, 1, __ATOMIC_RELAXED);
	return block;
}

EXPORT void *malloc(size_t size)
{
	if (!is_ready())
		return early_allocate(size);
	return result(next.malloc(size), size);
}

EXPORT void *calloc(size_t count, size_t size)
{
	uint64_t total;

	if (__builtin_mul_overflow(count, size, &total))
		total = 0; /* the call below then fails */
	if (!is_ready())
		return total ? early_allocate(total) : NULL;
	return result(next.calloc(count, size), total);
}

EXPORT void free(void *block)
{
	uint64_t size;

	if (!block || is_early(block) || !is_ready())
		return;
	/* Before the call: another thread may get the address at once. */
	if (counts)
		launder(block, &size);
	next.free(block);
}

/* realloc() of a block of early_allocate(). It may be shorter than `size`. */
static void *move_early(const void *old, size_t size)
{
	size_t held = (size_t)(early.bytes + EARLY_BYTES - (const unsigned char *)old);
	void *block = malloc(size);

	if (block)
		memcpy(block, old, size < held ? size : held);
	return block;
}

/* Counts as a free, which is undone if the call fails, and an allocation. */
EXPORT void *realloc(void *old, size_t size)
{
	bool known = false;
	uint64_t old_size = 0;

	if (is_early(old) || !is_ready())
		return old ? move_early(old, size) : early_allocate(size);
	if (counts && old)
		known = launder(old, &old_size);
	void *block = next.realloc(old, size);
	if (counts && !block && old) {
		if (!size)
			return NULL; /* the block was freed */
		if (known)
			undo_remove(old, old_size);
	}
	return result(block, size);
}

EXPORT void *reallocarray(void *old, size_t count, size_t size)
{
	uint64_t total;

	if (!__builtin_mul_overflow(count, size, &total))
		return realloc(old, total);
	errno = ENOMEM;
	return NULL;
}

EXPORT int posix_memalign(void **ret, size_t alignment, size_t size)
{
	if (!is_ready())
		return ENOMEM;
	int error = next.posix_memalign(ret, alignment, size);
	result(error ? NULL : *ret, size);
	return error;
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	if (!is_ready())
		return NULL;
	return result(next.aligned_alloc(alignment, size), size);
}

EXPORT void *memalign(size_t alignment, size_t size)
{
	if (!is_ready())
		return NULL;
	return result(next.memalign(alignment, size), size);
}

EXPORT void *valloc(size_t size)
{
	if (!is_ready())
		return NULL;
	return result(next.valloc(size), size);
}

EXPORT void *pvalloc(size_t size)
{
	if (!is_ready())
		return NULL;
	return result(next.pvalloc(size), size);
}

/* --- C++ -------------------------------------------------------------------------- */

/*
 * Operators new and delete, by their mangled names. An allocator library has its own,
 * which may not call malloc and free: a block is counted here unless malloc has counted
 * it. The operators of the C++ runtime call malloc and free. They may request more than
 * the program did, and memtrace sees their request. If no operator exists at the start,
 * because its library is loaded later, malloc and free are used instead.
 */
static void *plain_new(size_t size)
{
	void *block = malloc(size ? size : 1);

	if (!block)
		abort();
	return block;
}

static void *aligned_nothrow(size_t size, size_t alignment)
{
	return aligned_alloc(alignment, (size + alignment - 1) & ~(alignment - 1));
}

static void *aligned_new(size_t size, size_t alignment)
{
	void *block = aligned_nothrow(size, alignment);

	if (!block)
		abort();
	return block;
}

#define OPERATOR_NEW(name, parameters, arguments, instead)                               \
	EXPORT void *name parameters;                                                    \
	EXPORT void *name parameters                                                     \
	{                                                                                \
		if (!operators[OPERATOR_##name].function)                                \
			return instead;                                                  \
		__typeof__(name) *function;                                              \
		*(void **)&function = operators[OPERATOR_##name].function;               \
		if (operators[OPERATOR_##name].is_runtime)                               \
			return function arguments;                                       \
		void *block = function arguments;                                        \
		if (counts && block)                                                     \
			note_allocation(block, size, true);                              \
		return block;                                                            \
	}

#define OPERATOR_DELETE(name, parameters, arguments)                                     \
	EXPORT void name parameters;                                                     \
	EXPORT void name parameters                                                      \
	{                                                                                \
		uint64_t counted;                                                        \
		if (!operators[OPERATOR_##name].function) {                              \
			free(block);                                                     \
			return;                                                          \
		}                                                                        \
		__typeof__(name) *function;                                              \
		*(void **)&function = operators[OPERATOR_##name].function;               \
		if (operators[OPERATOR_##name].is_runtime) {                             \
			function arguments;                                              \
			return;                                                          \
		}                                                                        \
		if (counts && block)                                                     \
			launder(block, &counted);                                        \
		function arguments;                                                      \
	}

OPERATOR_NEW(_Znwm, (size_t size), (size), plain_new(size))
OPERATOR_NEW(_Znam, (size_t size), (size), plain_new(size))
OPERATOR_NEW(_ZnwmRKSt9nothrow_t, (size_t size, const void *tag), (size, tag),
	     malloc(size ? size : 1))
OPERATOR_NEW(_ZnamRKSt9nothrow_t, (size_t size, const void *tag), (size, tag),
	     malloc(size ? size : 1))
OPERATOR_NEW(_ZnwmSt11align_val_t, (size_t size, size_t alignment), (size, alignment),
	     aligned_new(size, alignment))
OPERATOR_NEW(_ZnamSt11align_val_t, (size_t size, size_t alignment), (size, alignment),
	     aligned_new(size, alignment))
OPERATOR_NEW(_ZnwmSt11align_val_tRKSt9nothrow_t,
	     (size_t size, size_t alignment, const void *tag), (size, alignment, tag),
	     aligned_nothrow(size, alignment))
OPERATOR_NEW(_ZnamSt11align_val_tRKSt9nothrow_t,
	     (size_t size, size_t alignment, const void *tag), (size, alignment, tag),
	     aligned_nothrow(size, alignment))
OPERATOR_DELETE(_ZdlPv, (void *block), (block))
OPERATOR_DELETE(_ZdaPv, (void *block), (block))
OPERATOR_DELETE(_ZdlPvm, (void *block, size_t size), (block, size))
OPERATOR_DELETE(_ZdaPvm, (void *block, size_t size), (block, size))
OPERATOR_DELETE(_ZdlPvRKSt9nothrow_t, (void *block, const void *tag), (block, tag))
OPERATOR_DELETE(_ZdaPvRKSt9nothrow_t, (void *block, const void *tag), (block, tag))
OPERATOR_DELETE(_ZdlPvSt11align_val_t, (void *block, size_t alignment),
		(block, alignment))
OPERATOR_DELETE(_ZdaPvSt11align_val_t, (void *block, size_t alignment),
		(block, alignment))
OPERATOR_DELETE(_ZdlPvmSt11align_val_t, (void *block, size_t size, size_t alignment),
		(block, size, alignment))
OPERATOR_DELETE(_ZdaPvmSt11align_val_t, (void *block, size_t size, size_t alignment),
		(block, size, alignment))
OPERATOR_DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t,
		(void *block, size_t alignment, const void *tag), (block, alignment, tag))
OPERATOR_DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t,
		(void *block, size_t alignment, const void *tag), (block, alignment, tag))
