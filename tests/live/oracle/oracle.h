/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The oracle: a target program that knows what it has allocated. It takes commands on
 * stdin, answers each with one JSON line on stdout, and counts the outstanding bytes and
 * blocks of each call path. Its bookkeeping allocates nothing: all tables are static, and
 * it reads and writes lines with read(2) and write(2).
 *
 * A call path is named after its innermost function. Each `site_NAME` calls exactly one
 * allocation function of libc. No `site_` function makes an allocation that the truth
 * does not count.
 *
 *    before N                      allocate N blocks before the attach; not in the truth
 *    run SCENARIO BLOCKS THREADS   THREADS is 1 (the main thread) or up to POOL_SIZE
 *    churn SECONDS THREADS         allocate and free without pause; answers when done
 *    truth                         print what is outstanding now
 *    quit
 */
#ifndef ORACLE_H
#define ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POOL_SIZE 8

/* All call paths. The first group allocates heap blocks, the second mappings. */
#define HEAP_SITES(X)                                                                    \
	X(malloc)                                                                        \
	X(malloc_zero)                                                                   \
	X(malloc_large)                                                                  \
	X(malloc_fail)                                                                   \
	X(calloc)                                                                        \
	X(calloc_fail)                                                                   \
	X(realloc)                                                                       \
	X(realloc_null)                                                                  \
	X(realloc_fail)                                                                  \
	X(realloc_zero)                                                                  \
	X(realloc_before)                                                                \
	X(reallocarray)                                                                  \
	X(reallocarray_null)                                                             \
	X(reallocarray_fail)                                                             \
	X(posix_memalign)                                                                \
	X(posix_memalign_bad)                                                            \
	X(posix_memalign_fail)                                                           \
	X(aligned_alloc)                                                                 \
	X(memalign)                                                                      \
	X(memalign_small)                                                                \
	X(valloc)                                                                        \
	X(pvalloc)                                                                       \
	X(produce)                                                                       \
	X(keep)                                                                          \
	X(short_thread)                                                                  \
	X(after_death)                                                                   \
	X(same_tid)                                                                      \
	X(same_slot)                                                                     \
	X(longjmp_shallower)                                                             \
	X(longjmp_same)                                                                  \
	X(longjmp_deeper)                                                                \
	X(longjmp_buffer)                                                                \
	X(huge)                                                                          \
	X(huge_realloc)                                                                  \
	X(churn)                                                                         \
	X(path)                                                                          \
	X(even)                                                                          \
	X(odd)                                                                           \
	X(no_frame_pointer)                                                              \
	X(with_a_name_that_is_much_longer_than_thirty_one_characters_and_is_shown_whole)

#define MAPPING_SITES(X)                                                                 \
	X(mmap)                                                                          \
	X(mmap64)                                                                        \
	X(mmap_fixed)                                                                    \
	X(mmap_over)                                                                     \
	X(mmap_fail)                                                                     \
	X(mremap_shrink)                                                                 \
	X(mremap_grow)                                                                   \
	X(mremap_move)                                                                   \
	X(mremap_part)                                                                   \
	X(mremap_copy)                                                                   \
	X(mremap_fail)

enum site {
#define X(name) SITE_##name,
	HEAP_SITES(X) HEAP_SITE_COUNT,
	SITE_mapping_base = HEAP_SITE_COUNT - 1,
	MAPPING_SITES(X)
#undef X
	SITE_COUNT
};

/* One outstanding block. */
struct block {
	void *address;
	uint64_t size_bytes; /* the requested size */
	enum site site;
};

/* The call paths (sites.c, no_frame_pointer.c). Each returns what libc returned. */
void *site_malloc(size_t size);
void *site_malloc_zero(size_t size);
void *site_malloc_large(size_t size);
void *site_malloc_fail(size_t size);
void *site_calloc(size_t count, size_t size);
void *site_calloc_fail(size_t count, size_t size);
void *site_realloc(void *old, size_t size);
void *site_realloc_null(size_t size);
void *site_realloc_fail(void *old, size_t size);
void *site_realloc_zero(void *old);
void *site_realloc_before(void *old, size_t size);
void *site_reallocarray(void *old, size_t count, size_t size);
void *site_reallocarray_null(size_t count, size_t size);
void *site_reallocarray_fail(void *old, size_t count, size_t size);
int site_posix_memalign(void **ret, size_t alignment, size_t size);
int site_posix_memalign_bad(void **ret, size_t alignment, size_t size);
int site_posix_memalign_fail(void **ret, size_t alignment, size_t size);
void *site_aligned_alloc(size_t alignment, size_t size);
void *site_memalign(size_t alignment, size_t size);
void *site_memalign_small(size_t alignment, size_t size);
void *site_valloc(size_t size);
void *site_pvalloc(size_t size);
void *site_produce(size_t size);
void *site_keep(size_t size);
void *site_short_thread(size_t size);
void *site_after_death(size_t size);
void *site_same_tid(size_t size);
void *site_same_slot(size_t size);
void *site_longjmp_shallower(size_t size);
void *site_longjmp_same(size_t size);
void *site_longjmp_deeper(size_t size);
void *site_longjmp_buffer(size_t size);
void *site_huge(size_t size);
void *site_huge_realloc(void *old, size_t size);
void *site_churn(size_t size);
void *site_path(size_t size);
void *site_even(size_t size);
void *site_odd(size_t size);
void *site_no_frame_pointer(size_t size);
void *site_with_a_name_that_is_much_longer_than_thirty_one_characters_and_is_shown_whole(
	size_t size);
void *site_mmap(size_t size);
void *site_mmap64(size_t size);
void *site_mmap_fixed(void *address, size_t size);
void *site_mmap_over(void *address, size_t size);
void *site_mmap_fail(void *address, size_t size);
void *site_mremap_shrink(void *old, size_t old_size, size_t size);
void *site_mremap_grow(void *old, size_t old_size, size_t size);
void *site_mremap_move(void *old, size_t old_size, size_t size, void *address);
void *site_mremap_part(void *old, size_t old_size, size_t size, void *address);
void *site_mremap_copy(void *old, size_t size);
void *site_mremap_fail(void *old, size_t old_size, size_t size);
/* A call that never returns: realloc reads the header before an unreadable address. Not
 * named site_: it allocates nothing. */
void abandon_realloc(void *unreadable, size_t size);

/* What is outstanding (truth.c). These functions may be called on any thread. */
void truth_add(enum site site, uint64_t bytes);
void truth_remove(enum site site, uint64_t bytes);
/* Count many calls at once. */
void truth_change(enum site site, uint64_t allocations, uint64_t allocated_bytes,
		  uint64_t frees, uint64_t freed_bytes);
/* Count a call that failed: it returned no block and freed none. */
void truth_failure(void);
/* Count the free of a block that was allocated before the attach. */
void truth_free_before(void);
/* Count a call that never returns. */
void truth_abandon(void);
/* Set the sums of one site's mappings. */
void truth_set_mapping(enum site site, uint64_t bytes, uint64_t pieces);
/* Report a part that was not possible. `note` is a string literal without quotes. */
void truth_note(const char *note);
/* Write the whole truth, or {"done":what}, or {"error":what}, as one line. */
void truth_print(void);
void truth_reply(const char *key, const char *what);
/* End the program with a message. For bugs of the oracle, or if memory is exhausted. */
void die(const char *why) __attribute__((noreturn));

/* Threads that start before the attach (pool.c). */
void pool_start(void);
/* Run `work` on the threads 0..threads-1 at once. 1 means the calling thread. */
void pool_run(void (*work)(unsigned thread, size_t blocks), unsigned threads,
	      size_t blocks);

/* Blocks that a thread keeps until the end or until `release` (heap.c). */
void keep_block(unsigned thread, const struct block *block);
void free_block(const struct block *block);
/* The `n`th block that `thread` keeps, or NULL if it keeps fewer. */
struct block *kept_block(unsigned thread, size_t n);
/* Count a new block. Ends the program if `address` is NULL. */
struct block new_block(enum site site, void *address, uint64_t size_bytes);
uint64_t random_next(uint64_t *state);

/* The scenarios. `blocks` is the share of each thread if there are several. */
void before_blocks(size_t blocks);
void scenario_mixed(unsigned thread, size_t blocks);
void scenario_keep(unsigned thread, size_t blocks);
void scenario_release(unsigned thread, size_t blocks);
void scenario_failures(unsigned thread, size_t blocks);
void scenario_before(size_t blocks, unsigned threads);
void scenario_handover(size_t blocks, unsigned threads);
void scenario_short_threads(size_t blocks, unsigned threads);
void scenario_death(size_t blocks, unsigned threads);
void scenario_tid_reuse(size_t blocks, unsigned threads);
void scenario_longjmp(unsigned thread, size_t blocks);
void scenario_huge(size_t blocks, unsigned threads);
void scenario_paths(unsigned thread, size_t blocks);
void scenario_alternate(unsigned thread, size_t blocks);
void scenario_names(unsigned thread, size_t blocks);
void scenario_fork(size_t blocks, unsigned threads);
void scenario_mappings(unsigned thread, size_t blocks);
void churn(uint64_t seconds, unsigned threads);

/* Install the handler for faults (faults.c). Called before the first fault. */
void faults_install(void);
/* End the calling thread inside realloc. */
void die_in_call(void);
/* Set the sums of the mappings in the truth (mappings.c). */
void mappings_count(void);

#endif
