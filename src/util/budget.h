/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds work that others can cause without limit: in the long run it gets a share of
 * the time, in bursts more than that. */
#ifndef UTIL_BUDGET_H
#define UTIL_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/* The amount spent so far, as the time (util/clock.h) at which it is paid off. {0}:
 * nothing. */
struct budget {
	uint64_t paid_until_ns;
};

/* Charge work that began at `begun_ns` and takes `pay_off_ns` to pay off. */
static inline void budget_charge(struct budget *budget, uint64_t begun_ns,
				 uint64_t pay_off_ns)
{
	if (budget->paid_until_ns < begun_ns)
		budget->paid_until_ns = begun_ns;
	budget->paid_until_ns += pay_off_ns;
}

/* Charge work that began at `begun_ns` and used `used_ns` of processor time. It may use
 * a `share`-th of the time: a share of 10 means one tenth. */
static inline void budget_spend(struct budget *budget, uint64_t begun_ns,
				uint64_t used_ns, unsigned share)
{
	budget_charge(budget, begun_ns, share * used_ns);
}

/* Must the work wait? It may be ahead of its share by an amount that takes `ahead_ns`
 * to pay off. */
static inline bool budget_is_spent(const struct budget *budget, uint64_t now_ns,
				   uint64_t ahead_ns)
{
	return budget->paid_until_ns > now_ns + ahead_ns;
}

#endif
