// SPDX-License-Identifier: Apache-2.0
#include "bpf/ticks.h"

#include <string.h>
#include <time.h>

#include <linux/bpf.h>

#include "abi.h"
#include "bpf/features.h"
#include "bpf/syscall.h"
#include "util/cleanup.h"
#include "util/clock.h"

#define HELPER_JIFFIES 118 /* BPF_FUNC_jiffies64 */

/* A tick is taken for one to come, not for one of 2^32 ticks ago, if it is at most so far
 * ahead: clocks are read one after the other. */
#define AHEAD_MAX_TICKS 1000

/* What CONFIG_HZ can be (kernel/Kconfig.hz, and for other architectures). */
static const uint64_t known_hz[] = {24,  48,  64,  100,  128,  250,
				    256, 300, 500, 1000, 1024, 1200};

/* A program that returns the lower half of the jiffies; -1 when there is no such helper
 * for probes. Programs for sockets can be run at will (BPF_PROG_TEST_RUN). */
static int load_reader(void)
{
	const struct bpf_insn insns[] = {
		{.code = BPF_JMP | BPF_CALL, .imm = HELPER_JIFFIES},
		{.code = BPF_JMP | BPF_EXIT},
	};
	const uint32_t count = sizeof(insns) / sizeof(*insns);

	if (!kernel_loads(BPF_PROG_TYPE_KPROBE, insns, count))
		return -1;
	return kernel_load(BPF_PROG_TYPE_SOCKET_FILTER, insns, count, 0);
}

static bool read_jiffies(int program, uint32_t *ret)
{
	char packet[64] = {0};
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.test.prog_fd = (uint32_t)program;
	attr.test.data_in = (uint64_t)(uintptr_t)packet;
	attr.test.data_size_in = sizeof(packet);
	if (sys_bpf(BPF_PROG_TEST_RUN, &attr, sizeof(attr)))
		return false;
	*ret = attr.test.retval;
	return true;
}

/* Wait until a jiffy begins, as far as we can see; its lower half. */
static bool wait_for_jiffy(int program, uint32_t *ret)
{
	uint32_t first;

	if (!read_jiffies(program, &first))
		return false;
	for (int tries = 0; tries < 1000; tries++) {
		if (!read_jiffies(program, ret))
			return false;
		if (*ret != first)
			break;
		nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
	}
	return true;
}

void tick_clock_begin(struct tick_clock *ret)
{
	_cleanup_(closep) int program = load_reader();
	uint32_t jiffies = 0;

	ret->is_jiffies = program >= 0 && wait_for_jiffy(program, &jiffies);
	ret->start_ns = clock_now_ns();
	ret->start_jiffies = jiffies;
	ret->tick_ns = UINT64_C(1) << ABI_TICK_SHIFT;
}

static uint64_t nearest_hz(double hz)
{
	uint64_t best = known_hz[0];

	for (size_t i = 1; i < sizeof(known_hz) / sizeof(*known_hz); i++) {
		double distance = hz - (double)known_hz[i], least = hz - (double)best;

		if (distance * distance < least * least)
			best = known_hz[i];
	}
	return best;
}

void tick_clock_calibrate(struct tick_clock *clock)
{
	_cleanup_(closep) int program = clock->is_jiffies ? load_reader() : -1;
	uint32_t jiffies;
	uint64_t now_ns;

	if (program < 0 || !wait_for_jiffy(program, &jiffies))
		return;
	now_ns = clock_now_ns();

	uint32_t passed = jiffies - (uint32_t)clock->start_jiffies;
	double hz = (double)passed * 1e9 / (double)(now_ns - clock->start_ns + 1);

	clock->tick_ns = UINT64_C(1000000000) / nearest_hz(hz);
	clock->start_ns = now_ns - passed * clock->tick_ns;
}

uint64_t tick_clock_time_ns(const struct tick_clock *clock, uint64_t now_ns,
			    uint32_t tick)
{
	uint64_t now = now_ns > clock->start_ns
			       ? (now_ns - clock->start_ns) / clock->tick_ns
			       : 0;
	uint64_t then = (now & ~(uint64_t)UINT32_MAX) | tick;

	if (then > now + AHEAD_MAX_TICKS && then > UINT32_MAX)
		then -= (uint64_t)UINT32_MAX + 1;
	return clock->start_ns + then * clock->tick_ns;
}
