/* SPDX-License-Identifier: Apache-2.0 */
/* The call paths. Each function makes one call. */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "oracle.h"

/* These may not be merged, cloned, inlined or called by tail calls: the truth uses their
 * names. */
#if defined(__has_attribute) && __has_attribute(noipa)
#define SITE __attribute__((noinline, noipa))
#else
#define SITE __attribute__((noinline))
#endif

#define RETURN_BLOCK(call)                                                               \
	do {                                                                             \
		void *block_ = (call);                                                   \
		__asm__ volatile("" : "+r"(block_) : : "memory");                        \
		return block_;                                                           \
	} while (0)

#define RETURN_CODE(call)                                                                \
	do {                                                                             \
		int code_ = (call);                                                      \
		__asm__ volatile("" : "+r"(code_) : : "memory");                         \
		return code_;                                                            \
	} while (0)

#define SITE_SIZE(name)                                                                  \
	SITE void *site_##name(size_t size)                                              \
	{                                                                                \
		RETURN_BLOCK(malloc(size));                                              \
	}

SITE_SIZE(malloc)
SITE_SIZE(malloc_zero)
SITE_SIZE(malloc_large)
SITE_SIZE(malloc_fail)
SITE_SIZE(produce)
SITE_SIZE(keep)
SITE_SIZE(short_thread)
SITE_SIZE(after_death)
SITE_SIZE(same_tid)
SITE_SIZE(same_slot)
SITE_SIZE(longjmp_shallower)
SITE_SIZE(longjmp_same)
SITE_SIZE(longjmp_deeper)
SITE_SIZE(longjmp_buffer)
SITE_SIZE(huge)
SITE_SIZE(churn)
SITE_SIZE(path)
SITE_SIZE(even)
SITE_SIZE(odd)
SITE_SIZE(with_a_name_that_is_much_longer_than_thirty_one_characters_and_is_shown_whole)

#define SITE_COUNT_SIZE(name)                                                            \
	SITE void *site_##name(size_t count, size_t size)                                \
	{                                                                                \
		RETURN_BLOCK(calloc(count, size));                                       \
	}

SITE_COUNT_SIZE(calloc)
SITE_COUNT_SIZE(calloc_fail)

#define SITE_OLD_SIZE(name)                                                              \
	SITE void *site_##name(void *old, size_t size)                                   \
	{                                                                                \
		RETURN_BLOCK(realloc(old, size));                                        \
	}

SITE_OLD_SIZE(realloc)
SITE_OLD_SIZE(realloc_fail)
SITE_OLD_SIZE(realloc_before)
SITE_OLD_SIZE(huge_realloc)

SITE void *site_realloc_null(size_t size)
{
	RETURN_BLOCK(realloc(NULL, size));
}

SITE void *site_realloc_zero(void *old)
{
	RETURN_BLOCK(realloc(old, 0));
}

SITE void *site_reallocarray(void *old, size_t count, size_t size)
{
	RETURN_BLOCK(reallocarray(old, count, size));
}

SITE void *site_reallocarray_null(size_t count, size_t size)
{
	RETURN_BLOCK(reallocarray(NULL, count, size));
}

SITE void *site_reallocarray_fail(void *old, size_t count, size_t size)
{
	RETURN_BLOCK(reallocarray(old, count, size));
}

#define SITE_OUT(name)                                                                   \
	SITE int site_##name(void **ret, size_t alignment, size_t size)                  \
	{                                                                                \
		RETURN_CODE(posix_memalign(ret, alignment, size));                       \
	}

SITE_OUT(posix_memalign)
SITE_OUT(posix_memalign_bad)
SITE_OUT(posix_memalign_fail)

SITE void *site_aligned_alloc(size_t alignment, size_t size)
{
	RETURN_BLOCK(aligned_alloc(alignment, size));
}

SITE void *site_memalign(size_t alignment, size_t size)
{
	RETURN_BLOCK(memalign(alignment, size));
}

SITE void *site_memalign_small(size_t alignment, size_t size)
{
	RETURN_BLOCK(memalign(alignment, size));
}

SITE void *site_valloc(size_t size)
{
	RETURN_BLOCK(valloc(size));
}

SITE void *site_pvalloc(size_t size)
{
	RETURN_BLOCK(pvalloc(size));
}

#define PRIVATE (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)
#define ACCESS  (PROT_READ | PROT_WRITE)

/* A shared mapping, so that mremap can copy it (old size 0). */
SITE void *site_mmap(size_t size)
{
	RETURN_BLOCK(mmap(NULL, size, ACCESS, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
}

SITE void *site_mmap64(size_t size)
{
	RETURN_BLOCK(mmap64(NULL, size, ACCESS, PRIVATE, -1, 0));
}

SITE void *site_mmap_fixed(void *address, size_t size)
{
	RETURN_BLOCK(mmap(address, size, ACCESS, PRIVATE | MAP_FIXED, -1, 0));
}

SITE void *site_mmap_over(void *address, size_t size)
{
	RETURN_BLOCK(mmap(address, size, ACCESS, PRIVATE | MAP_FIXED, -1, 0));
}

SITE void *site_mmap_fail(void *address, size_t size)
{
	RETURN_BLOCK(mmap(address, size, ACCESS, PRIVATE | MAP_FIXED, -1, 0));
}

SITE void *site_mremap_shrink(void *old, size_t old_size, size_t size)
{
	RETURN_BLOCK(mremap(old, old_size, size, 0));
}

SITE void *site_mremap_grow(void *old, size_t old_size, size_t size)
{
	RETURN_BLOCK(mremap(old, old_size, size, MREMAP_MAYMOVE));
}

SITE void *site_mremap_move(void *old, size_t old_size, size_t size, void *address)
{
	RETURN_BLOCK(mremap(old, old_size, size, MREMAP_MAYMOVE | MREMAP_FIXED, address));
}

SITE void *site_mremap_part(void *old, size_t old_size, size_t size, void *address)
{
	RETURN_BLOCK(mremap(old, old_size, size, MREMAP_MAYMOVE | MREMAP_FIXED, address));
}

SITE void *site_mremap_copy(void *old, size_t size)
{
	RETURN_BLOCK(mremap(old, 0, size, MREMAP_MAYMOVE));
}

SITE void *site_mremap_fail(void *old, size_t old_size, size_t size)
{
	RETURN_BLOCK(mremap(old, old_size, size, MREMAP_MAYMOVE));
}

SITE void abandon_realloc(void *unreadable, size_t size)
{
	void *block = realloc(unreadable, size);

	__asm__ volatile("" : : "r"(block) : "memory");
}
