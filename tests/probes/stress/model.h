/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the probes should know, in the plainest form: a flat list of blocks for each slot,
 * one call for each thread, and counters. It follows the rules of docs/architecture.md,
 * not the probes' code:
 *
 * - a call within a call is part of it, if it comes from the allocator's code;
 * - a call from elsewhere means that the thread has left the call that it was in: a
 *   signal handler or longjmp(). That call is abandoned, and its old block is still live;
 * - free and realloc take their block at entry; a realloc that fails puts it back.
 */
#ifndef STRESS_MODEL_H
#define STRESS_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "abi.h"
#include "host_bpf/sites.h"

#define MODEL_SLOTS  64
#define MODEL_BLOCKS 192
#define MODEL_STACKS 65536 /* a power of two, not more than half of it used */

struct model_block {
	uint64_t key; /* 0: not live */
	uint64_t size_bytes;
	uint64_t stack; /* hash of its return addresses; 0: none */
	uint32_t tid;
};

/* Counts of a stack of a process. */
struct model_stack {
	uint64_t family, stack;
	uint64_t allocations, allocated_bytes, frees, freed_bytes;
	int64_t live_bytes;
};

/* A call between its entry and its end. */
struct model_call {
	bool is_open;
	bool is_left; /* longjmp() has left its frame */
	enum host_function fn;
	uint64_t id;
	uint64_t sp;
	uint32_t slot;
	uint32_t tid;
	uint64_t size_bytes;
	uint64_t old_key;       /* realloc, resize, free */
	struct model_block old; /* key 0: none */
	bool skips;
};

/* What the probes know of a thread. It is kept with the kernel stack, which another
 * thread may get. */
struct model_thread {
	struct model_call call;
	/* The last free that it began, if it has not allocated since: one free function
	 * may call another, and both are one free. */
	uint64_t freed_key, freed_sp;
	enum host_function freed_by;
};

struct model {
	struct model_block block[MODEL_SLOTS][MODEL_BLOCKS];
	struct model_stack stacks[MODEL_STACKS]; /* hashed; family 0: free */
	uint64_t family[MODEL_SLOTS];
	uint64_t count[ABI_COUNTER_COUNT];
	uint64_t next_id;
	bool can_be_full; /* blocks may find no room */
};

/* The block that begins at entry `index` of an allocator. */
uint64_t model_address(unsigned index);
struct model_block *model_block(struct model *model, uint64_t key);

/*
 * A call begins. Returns false if it is part of the call that is under way. Else it is
 * the thread's call from here on.
 */
bool model_begin(struct model *model, struct model_thread *thread,
		 const struct model_call *next, bool from_allocator);

/* A call ends with this result, and its stack. Ignored if it is not the thread's call any
 * more. */
void model_end(struct model *model, struct model_thread *thread, uint64_t id,
	       uint64_t result, uint64_t stack);

/* A call that only its end shows. */
void model_whole(struct model *model, struct model_thread *thread,
		 const struct model_call *next, bool from_allocator, uint64_t result,
		 uint64_t stack);

/* A free whose function has no return probe. */
void model_free(struct model *model, struct model_thread *thread,
		const struct model_call *next, bool from_allocator);

/* The process is gone: its blocks are not live any more. Returns their number. */
uint64_t model_gone(struct model *model, uint32_t slot, uint64_t *bytes);
/* The same for the open call of a thread: adds the bytes of its old block. */
uint64_t model_end_call(struct model *model, struct model_call *call, uint32_t slot,
			uint64_t *bytes);

/* NULL: the stack has no counts. */
const struct model_stack *model_stack_find(const struct model *model, uint64_t family,
					   uint64_t stack);

#endif
