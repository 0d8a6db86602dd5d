// SPDX-License-Identifier: Apache-2.0
#include "bpf/families.h"

#include "abi.h"
#include "check.h"
#include "snapshot/snapshot.h"

static void the_best_names_a_family(void)
{
	struct families families = {0};

	CHECK(families_add(&families,
			   (struct family){.number = 7, .rank = 1, .process = 0}));
	CHECK(families_add(&families,
			   (struct family){.number = 5, .rank = 4, .process = 1}));
	CHECK(families_add(&families,
			   (struct family){.number = 7, .rank = 5, .process = 2}));
	CHECK(families_add(&families,
			   (struct family){.number = 7, .rank = 5, .process = 3}));
	CHECK(families_add(&families,
			   (struct family){.number = 5, .rank = 0, .process = 4}));
	families_settle(&families);
	CHECK_INT(families.list.len, 2);
	CHECK_INT(families_process(&families, 7), 2);
	CHECK_INT(families_process(&families, 5), 1);
	CHECK_INT(families_process(&families, 6), SNAPSHOT_NO_PROCESS);
	CHECK_INT(families_process(&families, 8), SNAPSHOT_NO_PROCESS);
	families_deinit(&families);
}

static void none_is_named_by_nobody(void)
{
	struct families families = {0};

	families_settle(&families);
	CHECK_INT(families_process(&families, 0), SNAPSHOT_NO_PROCESS);
	families_deinit(&families);
}

/* Slots make different families, and so do times that are more than 1,024 ns apart. */
static void numbers_differ(void)
{
	const uint64_t now_ns = UINT64_C(5) * 1000 * 1000 * 1000 * 1000 * 1000;
	uint64_t family = ABI_FAMILY(now_ns, 0xffff);

	CHECK_INT(ABI_FAMILY_SLOT(family), 0xffff);
	CHECK_INT(ABI_FAMILY_SLOT(family + 0xfff), 0xffff);
	CHECK(ABI_FAMILY(now_ns, 0xfffe) != family);
	CHECK(ABI_FAMILY(now_ns + 1024, 0xffff) != family);
	CHECK(!ABI_FAMILY_IS_LAST(family));
	CHECK(!ABI_FAMILY_IS_LAST(family + 0xffe));
	CHECK(ABI_FAMILY_IS_LAST(family + 0xfff));
}

int main(void)
{
	RUN(the_best_names_a_family);
	RUN(none_is_named_by_nobody);
	RUN(numbers_differ);
	return check_done();
}
