/* SPDX-License-Identifier: Apache-2.0 */
/* For allocators.c: the functions of mimalloc's own names, and a call path for each. A
 * version may lack some. */
#ifndef TARGETS_MIMALLOC_CALLS_H
#define TARGETS_MIMALLOC_CALLS_H

/* Distance of the aligned byte from the beginning of a block. */
#define OFFSET 16
#define HEAP   mi_heap_get_default()

void *mi_heap_get_default(void) WEAK;
void *mi_malloc(size_t) WEAK;
void *mi_zalloc(size_t) WEAK;
void *mi_calloc(size_t, size_t) WEAK;
void *mi_mallocn(size_t, size_t) WEAK;
void *mi_malloc_small(size_t) WEAK;
void *mi_zalloc_small(size_t) WEAK;
void *mi_realloc(void *, size_t) WEAK;
void *mi_reallocn(void *, size_t, size_t) WEAK;
void *mi_reallocarray(void *, size_t, size_t) WEAK;
void *mi_rezalloc(void *, size_t) WEAK;
void *mi_recalloc(void *, size_t, size_t) WEAK;
void *mi_expand(void *, size_t) WEAK;
void *mi_malloc_aligned(size_t, size_t) WEAK;
void *mi_zalloc_aligned(size_t, size_t) WEAK;
void *mi_calloc_aligned(size_t, size_t, size_t) WEAK;
void *mi_realloc_aligned(void *, size_t, size_t) WEAK;
void *mi_rezalloc_aligned(void *, size_t, size_t) WEAK;
void *mi_recalloc_aligned(void *, size_t, size_t, size_t) WEAK;
void *mi_malloc_aligned_at(size_t, size_t, size_t) WEAK;
void *mi_zalloc_aligned_at(size_t, size_t, size_t) WEAK;
void *mi_calloc_aligned_at(size_t, size_t, size_t, size_t) WEAK;
void *mi_realloc_aligned_at(void *, size_t, size_t, size_t) WEAK;
void *mi_rezalloc_aligned_at(void *, size_t, size_t, size_t) WEAK;
void *mi_recalloc_aligned_at(void *, size_t, size_t, size_t, size_t) WEAK;
void *mi_memalign(size_t, size_t) WEAK;
void *mi_aligned_alloc(size_t, size_t) WEAK;
void *mi_valloc(size_t) WEAK;
void *mi_pvalloc(size_t) WEAK;
int mi_posix_memalign(void **, size_t, size_t) WEAK;
void *mi_heap_malloc(void *, size_t) WEAK;
void *mi_heap_zalloc(void *, size_t) WEAK;
void *mi_heap_calloc(void *, size_t, size_t) WEAK;
void *mi_heap_mallocn(void *, size_t, size_t) WEAK;
void *mi_heap_malloc_small(void *, size_t) WEAK;
void *mi_heap_realloc(void *, void *, size_t) WEAK;
void *mi_heap_reallocn(void *, void *, size_t, size_t) WEAK;
void *mi_heap_rezalloc(void *, void *, size_t) WEAK;
void *mi_heap_recalloc(void *, void *, size_t, size_t) WEAK;
void *mi_heap_malloc_aligned(void *, size_t, size_t) WEAK;
void *mi_heap_zalloc_aligned(void *, size_t, size_t) WEAK;
void *mi_heap_calloc_aligned(void *, size_t, size_t, size_t) WEAK;
void *mi_heap_realloc_aligned(void *, void *, size_t, size_t) WEAK;
void *mi_heap_rezalloc_aligned(void *, void *, size_t, size_t) WEAK;
void *mi_heap_recalloc_aligned(void *, void *, size_t, size_t, size_t) WEAK;
void *mi_heap_malloc_aligned_at(void *, size_t, size_t, size_t) WEAK;
void *mi_heap_zalloc_aligned_at(void *, size_t, size_t, size_t) WEAK;
void *mi_heap_calloc_aligned_at(void *, size_t, size_t, size_t, size_t) WEAK;
void *mi_heap_realloc_aligned_at(void *, void *, size_t, size_t, size_t) WEAK;
void *mi_heap_rezalloc_aligned_at(void *, void *, size_t, size_t, size_t) WEAK;
void *mi_heap_recalloc_aligned_at(void *, void *, size_t, size_t, size_t, size_t) WEAK;
void *mi_new(size_t) WEAK;
void *mi_new_n(size_t, size_t) WEAK;
void *mi_new_aligned(size_t, size_t) WEAK;
void *mi_new_nothrow(size_t) WEAK;
void *mi_new_aligned_nothrow(size_t, size_t) WEAK;
void *mi_new_realloc(void *, size_t) WEAK;
void *mi_new_reallocn(void *, size_t, size_t) WEAK;
void *mi_heap_alloc_new(void *, size_t) WEAK;
void *mi_heap_alloc_new_n(void *, size_t, size_t) WEAK;
void mi_free(void *) WEAK;
void mi_cfree(void *) WEAK;
void cfree(void *) WEAK;
void mi_free_size(void *, size_t) WEAK;
void mi_free_aligned(void *, size_t) WEAK;
void mi_free_size_aligned(void *, size_t, size_t) WEAK;

ALLOC(mi_malloc, mi_malloc(n))
ALLOC(mi_zalloc, mi_zalloc(n))
ALLOC(mi_calloc, mi_calloc(n / 8, 8))
ALLOC(mi_mallocn, mi_mallocn(n / 8, 8))
ALLOC(mi_malloc_small, mi_malloc_small(n))
ALLOC(mi_zalloc_small, mi_zalloc_small(n))
ALLOC(mi_realloc, mi_realloc(OLD(mi_malloc(first(n))), n))
ALLOC(mi_reallocn, mi_reallocn(OLD(mi_malloc(first(n))), n / 8, 8))
ALLOC(mi_reallocarray, mi_reallocarray(OLD(mi_malloc(first(n))), n / 8, 8))
ALLOC(mi_rezalloc, mi_rezalloc(OLD(mi_zalloc(first(n))), n))
ALLOC(mi_recalloc, mi_recalloc(OLD(mi_zalloc(first(n))), n / 8, 8))
RESIZE(mi_expand, mi_malloc(n), mi_expand(p, m))
ALLOC(mi_malloc_aligned, mi_malloc_aligned(n, ALIGNMENT))
ALLOC(mi_zalloc_aligned, mi_zalloc_aligned(n, ALIGNMENT))
ALLOC(mi_calloc_aligned, mi_calloc_aligned(n / 8, 8, ALIGNMENT))
ALLOC(mi_realloc_aligned,
      mi_realloc_aligned(OLD(mi_malloc_aligned(first(n), ALIGNMENT)), n, ALIGNMENT))
ALLOC(mi_rezalloc_aligned,
      mi_rezalloc_aligned(OLD(mi_zalloc_aligned(first(n), ALIGNMENT)), n, ALIGNMENT))
ALLOC(mi_recalloc_aligned,
      mi_recalloc_aligned(OLD(mi_zalloc_aligned(first(n), ALIGNMENT)), n / 8, 8,
			  ALIGNMENT))
ALLOC(mi_malloc_aligned_at, mi_malloc_aligned_at(n, ALIGNMENT, OFFSET))
ALLOC(mi_zalloc_aligned_at, mi_zalloc_aligned_at(n, ALIGNMENT, OFFSET))
ALLOC(mi_calloc_aligned_at, mi_calloc_aligned_at(n / 8, 8, ALIGNMENT, OFFSET))
ALLOC(mi_realloc_aligned_at,
      mi_realloc_aligned_at(OLD(mi_malloc_aligned_at(first(n), ALIGNMENT, OFFSET)), n,
			    ALIGNMENT, OFFSET))
ALLOC(mi_rezalloc_aligned_at,
      mi_rezalloc_aligned_at(OLD(mi_zalloc_aligned_at(first(n), ALIGNMENT, OFFSET)), n,
			     ALIGNMENT, OFFSET))
ALLOC(mi_recalloc_aligned_at,
      mi_recalloc_aligned_at(OLD(mi_zalloc_aligned_at(first(n), ALIGNMENT, OFFSET)),
			     n / 8, 8, ALIGNMENT, OFFSET))
ALLOC(mi_memalign, mi_memalign(ALIGNMENT, n))
ALLOC(mi_aligned_alloc, mi_aligned_alloc(ALIGNMENT, n))
ALLOC(mi_valloc, mi_valloc(n))
ALLOC(mi_pvalloc, mi_pvalloc(n))
ALLOC_OUT(mi_posix_memalign, mi_posix_memalign(&p, ALIGNMENT, n))
ALLOC(mi_heap_malloc, mi_heap_malloc(HEAP, n))
ALLOC(mi_heap_zalloc, mi_heap_zalloc(HEAP, n))
ALLOC(mi_heap_calloc, mi_heap_calloc(HEAP, n / 8, 8))
ALLOC(mi_heap_mallocn, mi_heap_mallocn(HEAP, n / 8, 8))
ALLOC(mi_heap_malloc_small, mi_heap_malloc_small(HEAP, n))
ALLOC(mi_heap_realloc, mi_heap_realloc(HEAP, OLD(mi_malloc(first(n))), n))
ALLOC(mi_heap_reallocn, mi_heap_reallocn(HEAP, OLD(mi_malloc(first(n))), n / 8, 8))
ALLOC(mi_heap_rezalloc, mi_heap_rezalloc(HEAP, OLD(mi_zalloc(first(n))), n))
ALLOC(mi_heap_recalloc, mi_heap_recalloc(HEAP, OLD(mi_zalloc(first(n))), n / 8, 8))
ALLOC(mi_heap_malloc_aligned, mi_heap_malloc_aligned(HEAP, n, ALIGNMENT))
ALLOC(mi_heap_zalloc_aligned, mi_heap_zalloc_aligned(HEAP, n, ALIGNMENT))
ALLOC(mi_heap_calloc_aligned, mi_heap_calloc_aligned(HEAP, n / 8, 8, ALIGNMENT))
ALLOC(mi_heap_realloc_aligned,
      mi_heap_realloc_aligned(HEAP, OLD(mi_malloc_aligned(first(n), ALIGNMENT)), n,
			      ALIGNMENT))
ALLOC(mi_heap_rezalloc_aligned,
      mi_heap_rezalloc_aligned(HEAP, OLD(mi_zalloc_aligned(first(n), ALIGNMENT)), n,
			       ALIGNMENT))
ALLOC(mi_heap_recalloc_aligned,
      mi_heap_recalloc_aligned(HEAP, OLD(mi_zalloc_aligned(first(n), ALIGNMENT)), n / 8,
			       8, ALIGNMENT))
ALLOC(mi_heap_malloc_aligned_at, mi_heap_malloc_aligned_at(HEAP, n, ALIGNMENT, OFFSET))
ALLOC(mi_heap_zalloc_aligned_at, mi_heap_zalloc_aligned_at(HEAP, n, ALIGNMENT, OFFSET))
ALLOC(mi_heap_calloc_aligned_at,
      mi_heap_calloc_aligned_at(HEAP, n / 8, 8, ALIGNMENT, OFFSET))
ALLOC(mi_heap_realloc_aligned_at,
      mi_heap_realloc_aligned_at(HEAP,
				 OLD(mi_malloc_aligned_at(first(n), ALIGNMENT, OFFSET)),
				 n, ALIGNMENT, OFFSET))
ALLOC(mi_heap_rezalloc_aligned_at,
      mi_heap_rezalloc_aligned_at(HEAP,
				  OLD(mi_zalloc_aligned_at(first(n), ALIGNMENT, OFFSET)),
				  n, ALIGNMENT, OFFSET))
ALLOC(mi_heap_recalloc_aligned_at,
      mi_heap_recalloc_aligned_at(HEAP,
				  OLD(mi_zalloc_aligned_at(first(n), ALIGNMENT, OFFSET)),
				  n / 8, 8, ALIGNMENT, OFFSET))
ALLOC(mi_new, mi_new(n))
ALLOC(mi_new_n, mi_new_n(n / 8, 8))
ALLOC(mi_new_aligned, mi_new_aligned(n, ALIGNMENT))
ALLOC(mi_new_nothrow, mi_new_nothrow(n))
ALLOC(mi_new_aligned_nothrow, mi_new_aligned_nothrow(n, ALIGNMENT))
ALLOC(mi_new_realloc, mi_new_realloc(OLD(mi_malloc(first(n))), n))
ALLOC(mi_new_reallocn, mi_new_reallocn(OLD(mi_malloc(first(n))), n / 8, 8))
ALLOC(mi_heap_alloc_new, mi_heap_alloc_new(HEAP, n))
ALLOC(mi_heap_alloc_new_n, mi_heap_alloc_new_n(HEAP, n / 8, 8))
FREE(mi_free, mi_free(p))
FREE(mi_cfree, mi_cfree(p))
FREE(cfree, cfree(p))
FREE(mi_free_size, mi_free_size(p, n))
FREE(mi_free_aligned, mi_free_aligned(p, ALIGNMENT))
FREE(mi_free_size_aligned, mi_free_size_aligned(p, n, ALIGNMENT))

/* Rows of ops[] in allocators.c. */
#define MIMALLOC_OPS                                                                     \
	OP(mi_malloc, mi_free, mi_malloc, mi_free)                                       \
	OP(mi_zalloc, mi_free, mi_zalloc, mi_free)                                       \
	OP(mi_calloc, mi_free, mi_calloc, mi_free)                                       \
	OP(mi_mallocn, mi_free_size, mi_mallocn, mi_free_size)                           \
	OP_SMALL(mi_malloc_small, mi_free, mi_malloc_small, mi_free)                     \
	OP_SMALL(mi_zalloc_small, mi_cfree, mi_zalloc_small, mi_cfree)                   \
	OP(mi_realloc, mi_free, mi_realloc, mi_free)                                     \
	OP(mi_reallocn, mi_free, mi_reallocn, mi_free)                                   \
	OP(mi_reallocarray, mi_free, mi_reallocarray, mi_free)                           \
	OP(mi_rezalloc, mi_free, mi_rezalloc, mi_free)                                   \
	OP(mi_recalloc, mi_free, mi_recalloc, mi_free)                                   \
	OP_RESIZE(mi_expand, mi_free, mi_expand, mi_free)                                \
	OP(mi_malloc_aligned, mi_free_size_aligned, mi_malloc_aligned,                   \
	   mi_free_size_aligned)                                                         \
	OP(mi_zalloc_aligned, mi_free_aligned, mi_zalloc_aligned, mi_free_aligned)       \
	OP(mi_calloc_aligned, mi_free, mi_calloc_aligned, mi_free)                       \
	OP(mi_realloc_aligned, mi_free, mi_realloc_aligned, mi_free)                     \
	OP(mi_rezalloc_aligned, mi_free, mi_rezalloc_aligned, mi_free)                   \
	OP(mi_recalloc_aligned, mi_free, mi_recalloc_aligned, mi_free)                   \
	OP(mi_malloc_aligned_at, mi_free, mi_malloc_aligned_at, mi_free)                 \
	OP(mi_zalloc_aligned_at, mi_free, mi_zalloc_aligned_at, mi_free)                 \
	OP(mi_calloc_aligned_at, mi_free, mi_calloc_aligned_at, mi_free)                 \
	OP(mi_realloc_aligned_at, mi_free, mi_realloc_aligned_at, mi_free)               \
	OP(mi_rezalloc_aligned_at, mi_free, mi_rezalloc_aligned_at, mi_free)             \
	OP(mi_recalloc_aligned_at, mi_free, mi_recalloc_aligned_at, mi_free)             \
	OP(mi_memalign, mi_free, mi_memalign, mi_free)                                   \
	OP(mi_aligned_alloc, mi_free, mi_aligned_alloc, mi_free)                         \
	OP(mi_valloc, mi_free, mi_valloc, mi_free)                                       \
	OP(mi_pvalloc, mi_free, mi_pvalloc, mi_free)                                     \
	OP(mi_posix_memalign, mi_free, mi_posix_memalign, mi_free)                       \
	OP(mi_heap_malloc, mi_free, mi_heap_malloc, mi_free)                             \
	OP(mi_heap_zalloc, mi_free, mi_heap_zalloc, mi_free)                             \
	OP(mi_heap_calloc, mi_free, mi_heap_calloc, mi_free)                             \
	OP(mi_heap_mallocn, mi_free, mi_heap_mallocn, mi_free)                           \
	OP_SMALL(mi_heap_malloc_small, mi_free, mi_heap_malloc_small, mi_free)           \
	OP(mi_heap_realloc, mi_free, mi_heap_realloc, mi_free)                           \
	OP(mi_heap_reallocn, mi_free, mi_heap_reallocn, mi_free)                         \
	OP(mi_heap_rezalloc, mi_free, mi_heap_rezalloc, mi_free)                         \
	OP(mi_heap_recalloc, mi_free, mi_heap_recalloc, mi_free)                         \
	OP(mi_heap_malloc_aligned, mi_free, mi_heap_malloc_aligned, mi_free)             \
	OP(mi_heap_zalloc_aligned, mi_free, mi_heap_zalloc_aligned, mi_free)             \
	OP(mi_heap_calloc_aligned, mi_free, mi_heap_calloc_aligned, mi_free)             \
	OP(mi_heap_realloc_aligned, mi_free, mi_heap_realloc_aligned, mi_free)           \
	OP(mi_heap_rezalloc_aligned, mi_free, mi_heap_rezalloc_aligned, mi_free)         \
	OP(mi_heap_recalloc_aligned, mi_free, mi_heap_recalloc_aligned, mi_free)         \
	OP(mi_heap_malloc_aligned_at, mi_free, mi_heap_malloc_aligned_at, mi_free)       \
	OP(mi_heap_zalloc_aligned_at, mi_free, mi_heap_zalloc_aligned_at, mi_free)       \
	OP(mi_heap_calloc_aligned_at, mi_free, mi_heap_calloc_aligned_at, mi_free)       \
	OP(mi_heap_realloc_aligned_at, mi_free, mi_heap_realloc_aligned_at, mi_free)     \
	OP(mi_heap_rezalloc_aligned_at, mi_free, mi_heap_rezalloc_aligned_at, mi_free)   \
	OP(mi_heap_recalloc_aligned_at, mi_free, mi_heap_recalloc_aligned_at, mi_free)   \
	OP_THROWS(mi_new, mi_free, mi_new, mi_free)                                      \
	OP_THROWS(mi_new_n, mi_free, mi_new_n, mi_free)                                  \
	OP_THROWS(mi_new_aligned, mi_free, mi_new_aligned, mi_free)                      \
	OP(mi_new_nothrow, mi_free, mi_new_nothrow, mi_free)                             \
	OP(mi_new_aligned_nothrow, mi_free, mi_new_aligned_nothrow, mi_free)             \
	OP_THROWS(mi_new_realloc, mi_free, mi_new_realloc, mi_free)                      \
	OP_THROWS(mi_new_reallocn, mi_free, mi_new_reallocn, mi_free)                    \
	OP_THROWS(mi_heap_alloc_new, mi_free, mi_heap_alloc_new, mi_free)                \
	OP_THROWS(mi_heap_alloc_new_n, mi_free, mi_heap_alloc_new_n, mi_free)            \
	OP(mi_malloc, cfree, mi_malloc, cfree)

#endif
