/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of stacks and of their return addresses (probes/abi_walk.h), which grow. */
#ifndef DRAIN_STACK_TABLES_H
#define DRAIN_STACK_TABLES_H

#include "compile/source_sizes.h"
#include "drain/part_table.h"
#include "drain/stack_pcs.h"

#define STACK_TABLES 3 /* the tables in struct stack_tables */

struct stack_tables {
	struct part_table heads; /* `stacks`: struct abi_stack_head */
	struct part_table pcs;   /* `stack_pcs` */
	struct part_table index; /* `stack_index`; not if by_hash */
	const struct source_sizes *sizes;
	struct abi_control *control; /* mapped; borrowed */
	uint64_t hash_seed; /* ABI_RUN_STACK_SEED; set after stack_tables_open() */
	bool by_hash;       /* each stack has room for the largest depth */
	int grower_fd; /* an eventfd that wakes the thread that adds parts; -1: none */
	struct record_windows read_heads; /* for drain_stacks(): of `heads` */
	struct stack_pcs read_pcs;        /* the same: of `pcs` */
};

/* Descriptors of the maps; all are borrowed. */
struct stack_maps {
	int stacks, stacks_part, stack_pcs, stack_pcs_part, stack_index, stack_index_part;
};

/* The probes can use the tables after part_table_put() for each. */
void stack_tables_open(struct stack_tables *t, const struct stack_maps *maps,
		       const struct source_sizes *sizes, struct abi_control *control,
		       bool by_hash);
/* Can be called on an all-zero struct. */
void stack_tables_close(struct stack_tables *t);

/* `table`: the map `stacks`; borrowed. */
static inline void stack_heads_init(struct record_windows *windows,
				    struct part_table *table)
{
	/* 24 KiB per window. */
	record_windows_init(windows, table, 1024);
}

/* Unmap `read_heads` and `read_pcs`. They are mapped again when they are used. */
void stack_tables_unmap(struct stack_tables *t);

/* Create the parts that the tables should have: for all stacks that have a number, and
 * ahead of them as many as the probes ask for. Any thread may call this. The caller
 * passes the new parts to part_table_put(). */
struct error *stack_tables_create(struct stack_tables *t,
				  struct new_parts ret[STACK_TABLES])
	__attribute__((warn_unused_result));

/* Wake the thread that adds parts, if parts are needed. */
void stack_tables_ask(const struct stack_tables *t);

/* Every stack that has a number so far has one below this. */
uint32_t stack_tables_used(const struct stack_tables *t);

/* The number of stacks that this process can read. */
uint32_t stack_tables_count(struct stack_tables *t);

/* False if this process could not open a part that it has looked for (part_table.h). */
bool stack_tables_is_whole(const struct stack_tables *t);

#endif
