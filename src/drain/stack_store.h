/* SPDX-License-Identifier: Apache-2.0 */
/* Stores stacks in the tables of probes/arrays/ and hashes/ from memtrace's
 * side: a stack that the miss handler has unwound gets the same number as if the probes
 * had unwound it. */
#ifndef DRAIN_STACK_STORE_H
#define DRAIN_STACK_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "drain/record_windows.h"
#include "compile/source.h"
#include "drain/stack_pcs.h"
#include "drain/stack_tables.h"

struct abi_control;
struct abi_stack_bucket;

struct stack_store {
	struct abi_stack_bucket *index[ABI_INDEX_PARTS]; /* mapped parts; NULL: not yet */
	int numbers_fd, claims_fd; /* maps of probes/hashes/stack_number.c */
	struct stack_tables *tables;
	struct record_windows records; /* struct abi_stack_head */
	struct stack_pcs pcs;
	uint64_t refused;   /* stacks that did not fit into the tables */
	uint64_t failed_ns; /* when no part could be added; 0: the last time it could */
};

/* One stack. `pcs` are `depth` return addresses, leaf first, at most the records'
 * depth. */
struct stored_stack {
	uint64_t family;
	uint32_t allocator; /* number */
	const uint64_t *pcs;
	size_t depth;
	size_t gap;   /* frames are left out before pcs[gap]; 0: none */
	uint32_t end; /* enum abi_stack_end */
};

/* Everything is borrowed. `numbers_fd` and `claims_fd` are -1 if stacks have no numbers
 * by hash. */
void stack_store_init(struct stack_store *store, struct stack_tables *tables,
		      int numbers_fd, int claims_fd);
/* Unmap what was mapped. Can be called on an all-zero struct. */
void stack_store_deinit(struct stack_store *store);

/* Get the number of the stack; store it if necessary. Returns ABI_NO_STACK if the tables
 * are full, and counts that. */
uint32_t stack_store_number(struct stack_store *store, const struct stored_stack *stack);

#endif
