/* SPDX-License-Identifier: Apache-2.0 */
/* The made-up target of the reports: its code, blocks and names. */
#ifndef TESTS_GOLDEN_TARGET_H
#define TESTS_GOLDEN_TARGET_H

#include <stdbool.h>

#include "snapshot/snapshot.h"
#include "symbol/symbolizer.h"

#define SECOND UINT64_C(1000000000)
#define MS     UINT64_C(1000000)

/* 2026-01-02 03:04:05 UTC */
#define WALL_NS (UINT64_C(1767323045) * SECOND + 123456789)

/* Code of the target. Frames are return addresses inside it. */
#define MALLOC_AT   UINT64_C(0x7f0000081000)
#define INSERT_AT   UINT64_C(0x401100)
#define LOOP_AT     UINT64_C(0x401000)
#define STRIPPED_AT UINT64_C(0x7f0000200000)
#define NOWHERE_AT  UINT64_C(0xdead0000)
#define HOSTILE_AT  UINT64_C(0x500000)

uint32_t add_stack(struct snapshot *snap, enum stack_end end, size_t depth,
		   const uint64_t *frames);
void add_block(struct snapshot *snap, enum block_class class, uint64_t address,
	       uint64_t size_bytes, uint64_t age_ns, uint32_t stack);

/* A target that was attached `elapsed_ns` ago, without blocks. */
struct snapshot *empty_snapshot(uint64_t elapsed_ns);

/* Three stacks: 0 has 3 blocks and 3100 bytes; 1 has two blocks and 2 MiB; 2 has one
 * block of 64 bytes that is 200 ms old. */
struct snapshot *heap_snapshot(uint64_t elapsed_ns);

/* Three processes that map a library: one in another pid namespace, one that has exited,
 * one without live blocks; two allocators. Frames of the second process have no names. */
struct snapshot *shared_snapshot(uint64_t elapsed_ns);

/* Source lines and inlined functions, ordinary and hostile ones. */
struct snapshot *lines_snapshot(void);

/* The names of the target's code, with source lines if `with_lines`. Owned by the
 * caller. */
struct symbolizer *target_names(bool with_lines);

#endif
