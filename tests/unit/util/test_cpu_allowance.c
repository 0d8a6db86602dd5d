// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include <time.h>

#include "util/clock.h"
#include "util/cpu_allowance.h"

#define MS UINT64_C(1000000)

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void burn(uint64_t ns)
{
	uint64_t until_ns = cpu_ns() + ns;

	while (cpu_ns() < until_ns)
		;
}

static void sleep_ns(uint64_t ns)
{
	const struct timespec t = {.tv_nsec = (long)ns};

	nanosleep(&t, NULL);
}

static void the_burst_is_free(void)
{
	struct cpu_meter meter;
	struct cpu_allowance a = {.percent = 10, .burst_ns = 1000 * MS};

	cpu_meter_begin(&meter);
	burn(20 * MS);
	cpu_allowance_charge(&a, &meter);
	CHECK(!cpu_allowance_is_spent(&a, 0));
	CHECK_INT(cpu_allowance_rest_ns(&a, 5 * MS), 0);
}

static void what_is_beyond_is_paid_off_by_rest(void)
{
	struct cpu_meter meter;
	struct cpu_allowance a = {.percent = 10, .burst_ns = 10 * MS};
	uint64_t rest_ns, begun_ns = clock_now_ns();

	cpu_meter_begin(&meter);
	burn(30 * MS);
	cpu_allowance_charge(&a, &meter);
	/* 20 ms too many at a tenth, minus the time that has passed. */
	CHECK(cpu_allowance_is_spent(&a, 0) || clock_now_ns() - begun_ns > 200 * MS);
	CHECK(!cpu_allowance_is_spent(&a, 30 * MS));
	rest_ns = cpu_allowance_rest_ns(&a, 5 * MS);
	CHECK(rest_ns <= 250 * MS);
	if (rest_ns)
		sleep_ns(rest_ns);
	CHECK(!cpu_allowance_is_spent(&a, 0));
	CHECK_INT(cpu_allowance_rest_ns(&a, 5 * MS), 0);
}

/* Only processor time counts. */
static void sleep_costs_nothing(void)
{
	struct cpu_meter meter;
	struct cpu_allowance a = {.percent = 100, .burst_ns = 0};

	cpu_meter_begin(&meter);
	sleep_ns(30 * MS);
	cpu_allowance_charge(&a, &meter);
	CHECK(!cpu_allowance_is_spent(&a, 0));
}

/* Each charge begins where the last one ended. */
static void nothing_is_charged_twice(void)
{
	struct cpu_meter meter;
	struct cpu_allowance a = {.percent = 1, .burst_ns = 500 * MS};

	cpu_meter_begin(&meter);
	burn(5 * MS);
	for (int i = 0; i < 100; i++)
		cpu_allowance_charge(&a, &meter);
	CHECK(!cpu_allowance_is_spent(&a, 0));
}

int main(void)
{
	RUN(the_burst_is_free);
	RUN(what_is_beyond_is_paid_off_by_rest);
	RUN(sleep_costs_nothing);
	RUN(nothing_is_charged_twice);
	return check_done();
}
