/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading mmapable BPF arrays. They are mapped a window at a time: the kernel fills the
 * page table at once, so that a whole table would count as resident memory of ours.
 */
#ifndef BPF_MAPPED_H
#define BPF_MAPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

/* Called with `count` elements, the first of which has number `first`. False stops. */
typedef bool (*mapped_fn)(const void *elements, uint32_t first, uint32_t count,
			  void *arg);

/*
 * Walk elements 0..count-1 of the array `fd`, `element_bytes` each (a multiple of 8).
 * ERROR_IO when it cannot be mapped, ERROR_NO_MEMORY when `fn` stopped.
 */
struct error *mapped_walk(int fd, uint32_t count, uint32_t element_bytes, mapped_fn fn,
			  void *arg) __attribute__((warn_unused_result));

/* The same; `fn` may write to the elements. */
struct error *mapped_walk_writable(int fd, uint32_t count, uint32_t element_bytes,
				   mapped_fn fn, void *arg)
	__attribute__((warn_unused_result));

/* The same from element `begin` on, which must begin a page. */
struct error *mapped_walk_part(int fd, uint32_t begin, uint32_t count,
			       uint32_t element_bytes, mapped_fn fn, void *arg)
	__attribute__((warn_unused_result));

/* Map all `bytes` of the array `fd` for reading and writing, or NULL (errno says why). It
 * counts as resident memory as a whole: for small ones, and those that are written to. */
void *mapped_open(int fd, size_t bytes);

/* Take it away; NULL is fine. `bytes` as for mapped_open(). */
void mapped_close(void *mapped, size_t bytes);

#endif
