/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules that the probes walk by (probes/abi_walk.h), as memtrace writes them while
 * the probes read. Only the learner does.
 */
#ifndef BPF_RULE_TABLE_H
#define BPF_RULE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "util/vec.h"

struct abi_control;
struct abi_rule_bucket;

#define RULE_TABLE_SLOTS 32768 /* that a key can name (ABI_RULE_SLOT) */

struct rule_table {
	struct abi_rule_bucket *buckets; /* mapped, bucket_count of them; borrowed */
	uint32_t bucket_count;
	int spill_fd;
	struct abi_control *control;     /* mapped; borrowed */
	VEC(uint64_t) spilled;           /* the keys in the spill map */
	uint64_t count, refused;         /* rules that are there; that found no room */
	uint32_t held[RULE_TABLE_SLOTS]; /* of each process */
};

void rule_table_deinit(struct rule_table *table);

/* Add a rule or put it in place of another. One that finds no room is counted: walks
 * through its pc are handed over each time. */
void rule_table_put(struct rule_table *table, uint32_t slot, uint64_t pc,
		    bool is_interrupted, uint64_t rule);

/* The rule at a return address, or at the pc of an interrupted frame; or UNWIND_NONE:
 * also for one in the spill map. */
uint64_t rule_table_get(const struct rule_table *table, uint32_t slot, uint64_t pc,
			bool is_interrupted);

/* Is the spill map half full? Then there may soon be no room for further rules. */
bool rule_table_is_crowded(const struct rule_table *table);

/*
 * Take out the rules of a process, but those that `keep` wants; NULL: all. The probes
 * must know that its rules are in doubt (abi.h, code_known), or that it is no more.
 */
void rule_table_purge(struct rule_table *table, uint32_t slot,
		      bool (*keep)(void *arg, uint64_t pc, bool is_interrupted),
		      void *arg);

#endif
