/* SPDX-License-Identifier: Apache-2.0 */
/* The unwind rules by call site (probes/abi_walk.h), written by memtrace while the probes
 * read them. Only the miss handler writes. */
#ifndef UNWIND_MISS_RULE_TABLE_H
#define UNWIND_MISS_RULE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "util/vec.h"

struct abi_control;
struct abi_rule_bucket;

#define RULE_TABLE_SLOTS 32768 /* slots that a key can name (ABI_RULE_SLOT) */

struct rule_table {
	struct abi_rule_bucket *buckets; /* mapped, bucket_count of them; borrowed */
	uint32_t bucket_count;
	int spill_fd;
	struct abi_control *control;     /* mapped; borrowed */
	VEC(uint64_t) spilled;           /* keys that are in the spill map */
	uint64_t count, refused;         /* rules stored; rules that did not fit */
	uint32_t held[RULE_TABLE_SLOTS]; /* rules of each process */
	/* Lists of each process's rules in buckets. The rule in way w of bucket b has the
	 * number b * ABI_RULE_WAYS + w + 1; 0 ends a list. */
	uint32_t first[RULE_TABLE_SLOTS];
	uint32_t *next; /* by number - 1 */
};

/* Set the buckets, which must be empty, and the lists. The caller has zeroed the rest,
 * and sets `spill_fd` and `control` itself. Returns false if memory is out; the buckets
 * are set even then. */
bool rule_table_init(struct rule_table *table, struct abi_rule_bucket *buckets,
		     uint32_t bucket_count);
void rule_table_deinit(struct rule_table *table);

/* Add or replace a rule. A rule that does not fit is counted in `refused`: each stack
 * through its pc is then a miss. */
void rule_table_put(struct rule_table *table, uint32_t slot, uint64_t pc,
		    bool is_interrupted, uint64_t rule);

/* Get the rule at a return address, or at the pc of an interrupted frame. Returns
 * UNWIND_NONE if the buckets do not have it; does not look into the spill map. */
uint64_t rule_table_get(const struct rule_table *table, uint32_t slot, uint64_t pc,
			bool is_interrupted);

/* Is the spill map more than half full? Then further rules may soon not fit. */
bool rule_table_is_crowded(const struct rule_table *table);

/* Remove the rules of a process, except where `keep` returns true (NULL: remove all). The
 * probes must already know that the process's rules are in doubt (abi.h, code_known), or
 * that the process has ended. Takes time for the rules of this process, not for the whole
 * table: thousands of processes may exit in a second. */
void rule_table_purge(struct rule_table *table, uint32_t slot,
		      bool (*keep)(void *arg, uint64_t pc, bool is_interrupted),
		      void *arg);

#endif
