// SPDX-License-Identifier: Apache-2.0
/* The rules of a file: each once, in order, and not too many. */
#include "check.h"

#include "unwind/known_rules.h"

static void each_once(void)
{
	struct known_rules known = {0};

	known_rules_add(&known, &(struct known_rule){0x1000, false, 7});
	known_rules_add(&known, &(struct known_rule){0x1000, true, 8});
	known_rules_add(&known, &(struct known_rule){0x1000, false, 9});
	known_rules_add(&known, &(struct known_rule){0, false, 1});
	CHECK_INT(known.list.len, 3);
	CHECK_INT(known.list.data[0].rule, 7);
	CHECK(known.list.data[1].is_interrupted);
	CHECK_INT(known.list.data[1].rule, 8);
	CHECK_INT(known.list.data[2].address, 0);
	known_rules_deinit(&known);
}

static void not_too_many(void)
{
	struct known_rules known = {0};

	for (uint64_t i = 0; i < KNOWN_RULES_MAX + 10; i++)
		known_rules_add(&known, &(struct known_rule){i, false, i});
	CHECK_INT(known.list.len, KNOWN_RULES_MAX);
	CHECK_INT(known.list.data[KNOWN_RULES_MAX - 1].address, KNOWN_RULES_MAX - 1);
	known_rules_deinit(&known);
}

int main(void)
{
	RUN(each_once);
	RUN(not_too_many);
	return check_done();
}
