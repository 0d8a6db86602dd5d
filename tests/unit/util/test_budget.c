// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include "util/budget.h"

static void work_is_paid_off(void)
{
	struct budget budget = {0};

	CHECK(!budget_is_spent(&budget, 1000, 0));
	/* 20 units at a fifth: paid off 100 after they began. */
	budget_spend(&budget, 1000, 20, 5);
	CHECK(budget_is_spent(&budget, 1020, 79));
	CHECK(!budget_is_spent(&budget, 1020, 80));
	CHECK(budget_is_spent(&budget, 1099, 0));
	CHECK(!budget_is_spent(&budget, 1100, 0));
	/* Ten more are added, and time without work is not saved up. */
	budget_spend(&budget, 1030, 10, 5);
	CHECK(budget_is_spent(&budget, 1149, 0));
	CHECK(!budget_is_spent(&budget, 1150, 0));
	budget_spend(&budget, 9000, 1, 5);
	CHECK(budget_is_spent(&budget, 9004, 0));
	CHECK(!budget_is_spent(&budget, 9005, 0));
}

int main(void)
{
	RUN(work_is_paid_off);
	return check_done();
}
