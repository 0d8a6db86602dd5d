/* SPDX-License-Identifier: Apache-2.0 */
/* Reads mmapable BPF arrays through small windows: the kernel fills the page tables of
 * such a mapping at once, so a whole table would count as memtrace's resident memory. */
#ifndef BPF_MAPPED_H
#define BPF_MAPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

/* Called with `count` elements; the first one has number `first`. Return false to
 * stop. */
typedef bool (*mapped_fn)(const void *elements, uint32_t first, uint32_t count,
			  void *arg);

/* Call `fn` for elements 0..count-1 of the array `fd`; each has `element_bytes` (a
 * multiple of 8). Returns ERROR_IO if the array cannot be mapped, ERROR_NO_MEMORY if `fn`
 * returned false. */
struct error *mapped_walk(int fd, uint32_t count, uint32_t element_bytes, mapped_fn fn,
			  void *arg) __attribute__((warn_unused_result));

/* As mapped_walk(), but `fn` may write to the elements. */
struct error *mapped_walk_writable(int fd, uint32_t count, uint32_t element_bytes,
				   mapped_fn fn, void *arg)
	__attribute__((warn_unused_result));

/* As mapped_walk_writable(), from element `begin` on, which must begin on a page. */
struct error *mapped_walk_part(int fd, uint32_t begin, uint32_t count,
			       uint32_t element_bytes, mapped_fn fn, void *arg)
	__attribute__((warn_unused_result));

/* Map `bytes` of the array `fd` for reading and writing. Returns NULL with errno set on
 * failure. The whole mapping counts as resident memory: only for small arrays and arrays
 * that memtrace writes to. */
void *mapped_open(int fd, size_t bytes);

/* As mapped_open(). ERROR_IO if the array cannot be mapped. */
struct error *mapped_table(int fd, size_t bytes, void **ret)
	__attribute__((warn_unused_result));

/* Unmap; `bytes` as for mapped_open(). `mapped` may be NULL. */
void mapped_close(void *mapped, size_t bytes);

#endif
