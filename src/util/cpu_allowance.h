/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processor time for work that others can cause as much of as they like. In the long run
 * the work takes at most a share of one processor. It may be ahead of that share by a
 * burst. Several threads may work in turn, but the caller has to lock.
 */
#ifndef UTIL_CPU_ALLOWANCE_H
#define UTIL_CPU_ALLOWANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "util/budget.h"

struct cpu_allowance {
	struct budget budget;
	unsigned percent;  /* of one processor, 1..100 */
	uint64_t burst_ns; /* processor time that the work may be ahead by */
};

/* What a thread has been charged for. */
struct cpu_meter {
	/* CLOCK_MONOTONIC and CLOCK_THREAD_CPUTIME_ID of the thread then. */
	uint64_t at_ns, cpu_ns;
};

/* The calling thread is charged for what it does from here on. */
void cpu_meter_begin(struct cpu_meter *meter);

/* Charge the processor time that the calling thread, whose meter it is, has used since it
 * began, or since the last charge. */
void cpu_allowance_charge(struct cpu_allowance *allowance, struct cpu_meter *meter);

/* Is less than half of the burst used up? */
bool cpu_allowance_has_half(const struct cpu_allowance *allowance);

/* Has the work used up its share, the burst and `extra_ns` of processor time on top? */
bool cpu_allowance_is_spent(const struct cpu_allowance *allowance, uint64_t extra_ns);

/* How long the work has to rest until it may use `slice_ns` of processor time; 0: it is
 * not spent. */
uint64_t cpu_allowance_rest_ns(const struct cpu_allowance *allowance, uint64_t slice_ns);

#endif
