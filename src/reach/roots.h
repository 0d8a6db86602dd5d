/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that is always searched, though all blocks are known: what C libraries keep
 * beside blocks.
 */
#ifndef REACH_ROOTS_H
#define REACH_ROOTS_H

#include "reach/blocks.h"
#include "reach/memory.h"
#include "reach/threads.h"
#include "util/error.h"

/*
 * Set `has_roots` of the memory around the thread pointers of the stopped threads, up to
 * the next blocks, and of the heap that brk(2) sets from its start to its first block, or
 * to the thread pointer and the control block behind it: in static programs glibc puts
 * the thread-local data of the main thread there (__libc_setup_tls(), csu/libc-tls.c).
 */
struct error *reach_roots_keep(const struct reach_threads *threads,
			       const struct reach_blocks *blocks,
			       struct reach_regions *regions)
	__attribute__((warn_unused_result));

#endif
