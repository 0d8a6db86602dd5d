// SPDX-License-Identifier: Apache-2.0
#include "unwind/known_rules.h"

void known_rules_deinit(struct known_rules *known)
{
	vec_deinit(&known->list);
	hashmap_deinit(&known->places);
}

void known_rules_add(struct known_rules *known, const struct known_rule *rule)
{
	uint64_t place = rule->address << 1 | rule->is_interrupted;

	if (known->list.len >= KNOWN_RULES_MAX ||
	    hashmap_get(&known->places, place, NULL) ||
	    !hashmap_put(&known->places, place, known->list.len))
		return;
	/* A place without its rule is learned by each process for itself. */
	(void)vec_push(&known->list, *rule);
}
