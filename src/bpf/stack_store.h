/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks by number, as probes/stack_table.c and stack_hash.c have them, from memtrace's
 * side: a stack that the learner has walked gets the number that it has, or will have,
 * when the probes walk it.
 */
#ifndef BPF_STACK_STORE_H
#define BPF_STACK_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/record_windows.h"
#include "bpf/source.h"
#include "bpf/stack_pcs.h"

struct abi_control;
struct abi_stack_bucket;

struct stack_store {
	struct abi_stack_bucket *index; /* mapped; borrowed. NULL: by the hashes */
	int numbers_fd, claims_fd;      /* of probes/stack_hash.c */
	const struct source_sizes *sizes;
	struct record_windows records; /* struct abi_stack_head */
	struct stack_pcs pcs;
	struct abi_control *control; /* mapped; borrowed */
	uint64_t refused;            /* stacks that found no room */
};

/* One stack; `pcs` are `depth` return addresses, leaf first, no more than the records
 * hold. */
struct stored_stack {
	uint64_t family;
	uint32_t allocator; /* number */
	const uint64_t *pcs;
	size_t depth;
	size_t gap;   /* frames are left out before pcs[gap]; 0: none are */
	uint32_t end; /* enum abi_stack_end */
};

/* The number of the stack, or ABI_NO_STACK, counted, when there is no room. */
uint32_t stack_store_number(struct stack_store *store, const struct stored_stack *stack);

#endif
