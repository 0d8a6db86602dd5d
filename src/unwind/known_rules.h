/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of one file that walks have used so far. They depend on the file alone, so
 * that the next process that maps it can have all of them at once.
 */
#ifndef UNWIND_KNOWN_RULES_H
#define UNWIND_KNOWN_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "util/hashmap.h"
#include "util/vec.h"

/* Of a file. Return addresses come from the targets, who could name any number. */
#define KNOWN_RULES_MAX 16384

struct known_rule {
	uint64_t address;    /* in the file's address space */
	bool is_interrupted; /* as of struct walk_frame */
	uint64_t rule;       /* probes/unwind_step.h */
};

struct known_rules {
	VEC(struct known_rule) list; /* the oldest first */
	struct hashmap places;       /* address and is_interrupted */
};

/* All zero is a valid state without rules. */
void known_rules_deinit(struct known_rules *known);

/* Add a rule, unless there is one for its place. Without memory, and beyond
 * KNOWN_RULES_MAX, nothing happens. */
void known_rules_add(struct known_rules *known, const struct known_rule *rule);

#endif
