// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include "abi.h"
#include "bpf/drain.h"

static void ticks_become_times(void)
{
	const uint64_t tick_ns = UINT64_C(1) << ABI_TICK_SHIFT, wrap = tick_ns << 32;
	const uint64_t attach = 5000;

	CHECK_INT(drain_tick_ns(attach, attach + 10 * tick_ns, 3), attach + 3 * tick_ns);
	/* A block made while the snapshot is taken may be a tick ahead. */
	CHECK_INT(drain_tick_ns(attach, attach, 1), attach + tick_ns);
	/* After 52 days: before and after the wrap. */
	CHECK_INT(drain_tick_ns(attach, attach + wrap + 10 * tick_ns, 3),
		  attach + wrap + 3 * tick_ns);
	CHECK_INT(drain_tick_ns(attach, attach + wrap + 10 * tick_ns, 20),
		  attach + 20 * tick_ns);
}

int main(void)
{
	RUN(ticks_become_times);
	return check_done();
}
