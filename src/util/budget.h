/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds on work that others can make as much of as they like: it takes a part of the
 * time in the long run, and more than that for a while. */
#ifndef UTIL_BUDGET_H
#define UTIL_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/* What was spent so far, as the time (util/clock.h) at which it is paid off; {0} is
 * nothing. */
struct budget {
	uint64_t paid_until_ns;
};

/* Work that began at `begun_ns` was done, and takes `pay_off_ns` to pay off. */
static inline void budget_charge(struct budget *budget, uint64_t begun_ns,
				 uint64_t pay_off_ns)
{
	if (budget->paid_until_ns < begun_ns)
		budget->paid_until_ns = begun_ns;
	budget->paid_until_ns += pay_off_ns;
}

/* Work that may take one `share`-th of the time was done from `begun_ns` on, and took
 * `used_ns` of processor time. */
static inline void budget_spend(struct budget *budget, uint64_t begun_ns,
				uint64_t used_ns, unsigned share)
{
	budget_charge(budget, begun_ns, share * used_ns);
}

/* Has the work to wait? It may be ahead by what takes `ahead_ns` to pay off. */
static inline bool budget_is_spent(const struct budget *budget, uint64_t now_ns,
				   uint64_t ahead_ns)
{
	return budget->paid_until_ns > now_ns + ahead_ns;
}

#endif
