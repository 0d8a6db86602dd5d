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

/* Programs that return the lower and the upper half of the jiffies; -1: the kernel has no
 * such helper. */
struct jiffies_reader {
	int lower, upper;
};

static void close_reader(struct jiffies_reader *r)
{
	closep(&r->lower);
	closep(&r->upper);
}

/* Socket filters, since they can be run by BPF_PROG_TEST_RUN. */
static struct jiffies_reader load_reader(void)
{
	const struct bpf_insn insns[] = {
		{.code = BPF_JMP | BPF_CALL, .imm = HELPER_JIFFIES},
		{.code = BPF_ALU64 | BPF_RSH | BPF_K, .imm = 32},
		{.code = BPF_JMP | BPF_EXIT},
	};
	const struct bpf_insn lower[] = {insns[0], insns[2]};
	const uint32_t count = sizeof(insns) / sizeof(*insns);

	if (!kernel_loads(insns, count))
		return (struct jiffies_reader){-1, -1};
	return (struct jiffies_reader){
		.lower = kernel_load(BPF_PROG_TYPE_SOCKET_FILTER, lower, count - 1, 0),
		.upper = kernel_load(BPF_PROG_TYPE_SOCKET_FILTER, insns, count, 0),
	};
}

static bool can_read(const struct jiffies_reader *r)
{
	return r->lower >= 0 && r->upper >= 0;
}

static bool run_reader(int program, uint32_t *ret)
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

static bool read_jiffies(const struct jiffies_reader *r, uint64_t *ret)
{
	uint32_t upper, lower, after;

	/* Retry if the lower half wrapped meanwhile, which happens once a month or
	 * less. */
	do {
		if (!run_reader(r->upper, &upper) || !run_reader(r->lower, &lower) ||
		    !run_reader(r->upper, &after))
			return false;
	} while (upper != after);
	*ret = (uint64_t)upper << 32 | lower;
	return true;
}

/* The length of a jiffy: the resolution of this clock is TICK_NSEC (LOW_RES_NSEC,
 * include/vdso/ktime.h; posix_get_coarse_res(), kernel/time/posix-timers.c), the time by
 * which tick_do_update_jiffies64() (kernel/time/tick-sched.c) lets jiffies advance. */
static uint64_t jiffy_ns(void)
{
	struct timespec length;

	if (clock_getres(CLOCK_MONOTONIC_COARSE, &length) || length.tv_sec)
		return 0;
	return (uint64_t)length.tv_nsec;
}

/* This many readings, 50 us apart, see a jiffy begin even at 24 jiffies a second. */
#define READINGS_MAX 1000

/* Determine when the jiffy `ret->start_jiffies` begins: read the jiffies until the next
 * one begins. A reading gives a time at or after the beginning of its jiffy, and a time
 * long after it on a busy processor or where the kernel counts a jiffy late. Since all
 * jiffies have the same length, the earliest beginning that any reading implies is the
 * closest. Returns false if the jiffies cannot be read. */
static bool find_beginning(const struct jiffies_reader *r, struct tick_clock *ret)
{
	uint64_t now = 0;

	for (int i = 0; i < READINGS_MAX && now <= ret->start_jiffies; i++) {
		uint64_t start_ns;

		if (i)
			nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
		if (!read_jiffies(r, &now))
			return false;
		if (!i)
			ret->start_jiffies = now;
		start_ns = clock_now_ns() - (now - ret->start_jiffies) * ret->tick_ns;
		if (!i || start_ns < ret->start_ns)
			ret->start_ns = start_ns;
	}
	return true;
}

void tick_clock_begin(struct tick_clock *ret)
{
	_cleanup_(close_reader) struct jiffies_reader reader = load_reader();

	*ret = (struct tick_clock){.tick_ns = jiffy_ns()};
	ret->is_jiffies =
		ret->tick_ns && can_read(&reader) && find_beginning(&reader, ret);
	if (!ret->is_jiffies)
		*ret = (struct tick_clock){.start_ns = clock_now_ns(),
					   .tick_ns = UINT64_C(1) << ABI_TICK_SHIFT};
}

uint64_t tick_clock_now(const struct tick_clock *clock)
{
	uint64_t now_ns = clock_now_ns();

	return now_ns > clock->start_ns ? (now_ns - clock->start_ns) / clock->tick_ns : 0;
}

uint64_t tick_clock_time_ns(const struct tick_clock *clock, uint64_t ticks)
{
	return clock->start_ns + ticks * clock->tick_ns;
}
