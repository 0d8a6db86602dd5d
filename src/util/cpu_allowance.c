// SPDX-License-Identifier: Apache-2.0
#include "util/cpu_allowance.h"

#include "util/clock.h"

/* The time until the share amounts to `cpu_ns` of processor time. */
static uint64_t pay_off_ns(const struct cpu_allowance *allowance, uint64_t cpu_ns)
{
	return cpu_ns * 100 / allowance->percent;
}

void cpu_meter_begin(struct cpu_meter *meter)
{
	meter->at_ns = clock_now_ns();
	meter->cpu_ns = clock_thread_cpu_ns();
}

void cpu_allowance_charge(struct cpu_allowance *allowance, struct cpu_meter *meter)
{
	const struct cpu_meter before = *meter;

	cpu_meter_begin(meter);
	budget_charge(&allowance->budget, before.at_ns,
		      pay_off_ns(allowance, meter->cpu_ns - before.cpu_ns));
}

bool cpu_allowance_has_half(const struct cpu_allowance *allowance)
{
	return !budget_is_spent(&allowance->budget, clock_now_ns(),
				pay_off_ns(allowance, allowance->burst_ns / 2));
}

bool cpu_allowance_is_spent(const struct cpu_allowance *allowance, uint64_t extra_ns)
{
	return budget_is_spent(&allowance->budget, clock_now_ns(),
			       pay_off_ns(allowance, allowance->burst_ns + extra_ns));
}

uint64_t cpu_allowance_rest_ns(const struct cpu_allowance *allowance, uint64_t slice_ns)
{
	uint64_t ahead_ns = pay_off_ns(allowance, allowance->burst_ns);
	uint64_t begin_ns = clock_now_ns() + ahead_ns;

	if (allowance->budget.paid_until_ns <= begin_ns)
		return 0;
	return allowance->budget.paid_until_ns - begin_ns +
	       pay_off_ns(allowance, slice_ns);
}
