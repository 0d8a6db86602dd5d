/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processor time for work that others can cause without limit. In the long run the work
 * gets at most a share of one processor. It may be ahead of that share by a burst.
 * Several threads may work in turn; the caller must lock.
 */
#ifndef UTIL_CPU_ALLOWANCE_H
#define UTIL_CPU_ALLOWANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "util/budget.h"

struct cpu_allowance {
	struct budget budget;
	unsigned percent;  /* of one processor, 1..100 */
	uint64_t burst_ns; /* the work may be ahead by this much processor time */
};

/* The state of charging a thread. */
struct cpu_meter {
	/* CLOCK_MONOTONIC and the thread's CLOCK_THREAD_CPUTIME_ID at the last charge. */
	uint64_t at_ns, cpu_ns;
};

/* Start to charge the calling thread. */
void cpu_meter_begin(struct cpu_meter *meter);

/* Charge the processor time that the calling thread has used since cpu_meter_begin() or
 * the last charge. `meter` must be its own. */
void cpu_allowance_charge(struct cpu_allowance *allowance, struct cpu_meter *meter);

/* Is less than half of the burst used up? */
bool cpu_allowance_has_half(const struct cpu_allowance *allowance);

/* Has the work used up its share, the burst and another `extra_ns` of processor time? */
bool cpu_allowance_is_spent(const struct cpu_allowance *allowance, uint64_t extra_ns);

/* The time that the work must rest until it may use `slice_ns` of processor time; 0:
 * none. */
uint64_t cpu_allowance_rest_ns(const struct cpu_allowance *allowance, uint64_t slice_ns);

#endif
