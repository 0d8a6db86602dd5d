// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include "bpf/ticks.h"

static void ticks_become_times(void)
{
	const uint64_t tick = 4000000, wrap = tick << 32, start = 5000;
	const struct tick_clock clock = {.start_ns = start, .tick_ns = tick};

	CHECK_INT(tick_clock_time_ns(&clock, start + 10 * tick, 3), start + 3 * tick);
	/* A block made while the snapshot is taken may be a tick ahead. */
	CHECK_INT(tick_clock_time_ns(&clock, start, 1), start + tick);
	CHECK_INT(tick_clock_time_ns(&clock, start - 1, 0), start);
	/* After the wrap: made after it, before it, and a tick ahead. */
	CHECK_INT(tick_clock_time_ns(&clock, start + wrap + 10 * tick, 3),
		  start + wrap + 3 * tick);
	CHECK_INT(tick_clock_time_ns(&clock, start + wrap + 10 * tick, 1u << 30),
		  start + (tick << 30));
	CHECK_INT(tick_clock_time_ns(&clock, start + wrap + 10 * tick, 11),
		  start + wrap + 11 * tick);
}

int main(void)
{
	RUN(ticks_become_times);
	return check_done();
}
