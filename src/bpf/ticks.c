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

/* Possible values of CONFIG_HZ (kernel/Kconfig.hz, and other architectures). */
static const uint64_t known_hz[] = {24,  48,  64,  100,  128,  250,
				    256, 300, 500, 1000, 1024, 1200};

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

	if (!kernel_loads(BPF_PROG_TYPE_KPROBE, insns, count))
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

/* A jiffy that began at `ns`, give or take `doubt_ns`. */
struct beginning {
	uint64_t jiffies, ns, doubt_ns;
};

/* On an idle processor the beginning of a jiffy is known to within this time. */
#define SMALL_DOUBT_NS 200000

/* On a busy processor the readings may come late: up to so many jiffies are tried. */
#define LOOKS_MAX 20

/* Wait until a jiffy begins. Returns false if the jiffies cannot be read. */
static bool wait_for_jiffy(const struct jiffies_reader *r, struct beginning *ret)
{
	uint64_t before_ns = clock_now_ns(), last, now;
	int seen = 0;

	ret->doubt_ns = UINT64_MAX;
	if (!read_jiffies(r, &last))
		return false;
	for (int tries = 0; tries < 1000 && seen < LOOKS_MAX; tries++) {
		uint64_t next_ns = clock_now_ns(), doubt_ns;

		if (!read_jiffies(r, &now))
			return false;
		doubt_ns = (clock_now_ns() - before_ns + 1) / 2;
		if (now != last) {
			seen++;
			/* If more than one jiffy began since the last reading, the time
			 * of the last one is not known this well. */
			if (now == last + 1 && doubt_ns < ret->doubt_ns)
				*ret = (struct beginning){now, before_ns + doubt_ns,
							  doubt_ns};
			if (ret->doubt_ns <= SMALL_DOUBT_NS)
				break;
		}
		last = now;
		before_ns = next_ns;
		nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
	}
	if (ret->doubt_ns == UINT64_MAX)
		*ret = (struct beginning){last, clock_now_ns(), 0};
	return true;
}

void tick_clock_begin(struct tick_clock *ret)
{
	_cleanup_(close_reader) struct jiffies_reader reader = load_reader();
	struct beginning first = {0};

	ret->is_jiffies = can_read(&reader) && wait_for_jiffy(&reader, &first);
	ret->start_ns = ret->is_jiffies ? first.ns : clock_now_ns();
	ret->start_jiffies = first.jiffies;
	ret->start_doubt_ns = first.doubt_ns;
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

/* The closest values of CONFIG_HZ (1000 and 1024) differ by 2.4 %. Half of that, with a
 * margin, is the tolerated error: one DOUBT_SHARE-th. */
#define DOUBT_SHARE 100

void tick_clock_calibrate(struct tick_clock *clock)
{
	_cleanup_(close_reader) struct jiffies_reader reader = {-1, -1};
	struct beginning now;
	uint64_t passed, passed_ns;

	if (clock->is_jiffies)
		reader = load_reader();
	if (!can_read(&reader))
		return;
	for (int tries = 0; tries < LOOKS_MAX; tries++) {
		if (!wait_for_jiffy(&reader, &now))
			return;
		passed_ns = now.ns - clock->start_ns;
		if ((now.doubt_ns + clock->start_doubt_ns) * DOUBT_SHARE < passed_ns)
			break;
	}
	passed = now.jiffies - clock->start_jiffies;

	double hz = (double)passed * 1e9 / (double)(passed_ns + 1);

	clock->tick_ns = UINT64_C(1000000000) / nearest_hz(hz);
	clock->start_ns = now.ns - passed * clock->tick_ns;
}

uint64_t tick_clock_time_ns(const struct tick_clock *clock, uint64_t ticks)
{
	return clock->start_ns + ticks * clock->tick_ns;
}
