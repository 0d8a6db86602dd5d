/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The times that the probes keep. bpf_ktime_get_ns() costs them 30 ns a call and
 * bpf_jiffies64() (Linux 5.6) next to nothing, so ticks are the kernel's jiffies where it
 * has that, and else 2^20 ns long.
 */
#ifndef BPF_TICKS_H
#define BPF_TICKS_H

#include <stdbool.h>
#include <stdint.h>

struct tick_clock {
	uint64_t start_ns; /* CLOCK_MONOTONIC when tick 0 began */
	uint64_t tick_ns;
	bool is_jiffies;
	uint64_t start_jiffies; /* of tick 0 */
	/* Until it is calibrated: start_ns may be so much too early or late. */
	uint64_t start_doubt_ns;
};

/* Tick 0 is now; where ticks are jiffies one begins, which is waited for. How long they
 * are is not known before tick_clock_calibrate(). */
void tick_clock_begin(struct tick_clock *ret);

/* Find out how long a jiffy is (CONFIG_HZ) and when they begin, from what has passed
 * since tick_clock_begin(). Waits for one to begin, and for so many more until those that
 * CONFIG_HZ may be can be told apart: it may be 250 or 256. */
void tick_clock_calibrate(struct tick_clock *clock);

/* When a tick (ABI_TICKS) began: CLOCK_MONOTONIC in ns. */
uint64_t tick_clock_time_ns(const struct tick_clock *clock, uint64_t ticks);

#endif
