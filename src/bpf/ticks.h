/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of the probes. bpf_ktime_get_ns() costs 30 ns a call, and bpf_jiffies64()
 * (Linux 5.6) next to nothing. So a tick is a jiffy if the kernel has that helper, else
 * 2^20 ns. */
#ifndef BPF_TICKS_H
#define BPF_TICKS_H

#include <stdbool.h>
#include <stdint.h>

struct tick_clock {
	uint64_t start_ns; /* CLOCK_MONOTONIC ns when tick 0 began */
	uint64_t tick_ns;  /* length of a tick */
	bool is_jiffies;
	uint64_t start_jiffies; /* jiffies at tick 0 */
};

/* Start the clock: tick 0 is now. With jiffies, waits until one begins. */
void tick_clock_begin(struct tick_clock *ret);

/* The tick that is now, as if all ticks had the same length. */
uint64_t tick_clock_now(const struct tick_clock *clock);

/* CLOCK_MONOTONIC ns when a tick (ABI_TICKS) began. */
uint64_t tick_clock_time_ns(const struct tick_clock *clock, uint64_t ticks);

#endif
