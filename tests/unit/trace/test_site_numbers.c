// SPDX-License-Identifier: Apache-2.0
/* Functions with probes get numbers of their own, as long as there are any. */
#include "check.h"
#include "trace/site_numbers.h"

/* As many as docs/limitations.md says. */
#define OWN 4095

static struct site_numbers numbers;

static unsigned take_number(void)
{
	unsigned number = site_numbers_find(&numbers);

	REQUIRE(number < ABI_MAX_SITES);
	numbers.used[number] = true;
	return number;
}

static void each_has_its_own(void)
{
	for (unsigned i = 0; i < OWN; i++)
		CHECK_INT(take_number(), i);
}

static void further_ones_share_the_last(void)
{
	for (int i = 0; i < 3; i++)
		CHECK_INT(take_number(), OWN);
}

/* Sites that are removed give their numbers back, also while others share one. */
static void a_number_is_reused(void)
{
	numbers.used[1234] = false;
	CHECK_INT(take_number(), 1234);
	CHECK_INT(take_number(), OWN);
}

int main(void)
{
	RUN(each_has_its_own);
	RUN(further_ones_share_the_last);
	RUN(a_number_is_reused);
	return check_done();
}
