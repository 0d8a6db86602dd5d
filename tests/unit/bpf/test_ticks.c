// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "abi.h"
#include "bpf/ticks.h"
#include "traffic_record.h"
#include "util/clock.h"

#define DAY_NS   UINT64_C(86400000000000)
#define LAST_TID ((1u << 22) - 1) /* PID_MAX_LIMIT - 1 */

static void ticks_become_times(void)
{
	const struct tick_clock clock = {.start_ns = 5000, .tick_ns = 4000000};

	CHECK_INT(tick_clock_time_ns(&clock, 0), 5000);
	CHECK_INT(tick_clock_time_ns(&clock, 3), 5000 + 3 * 4000000);
}

/* The ticks that the probes store for a block, on a clock of 1,000 ticks/s that has run
 * for `days` days: is the age right? */
static void check_day(unsigned days)
{
	const struct tick_clock clock = {.start_ns = 5000, .tick_ns = 1000000};
	uint64_t ticks = days * DAY_NS / clock.tick_ns;
	struct abi_block block = {.thread = ABI_THREAD(LAST_TID, ticks),
				  .tick = (uint32_t)ticks};

	CHECK_INT(ABI_TID(block.thread), LAST_TID);
	CHECK_INT(ABI_TICKS(block.thread, block.tick), ticks);
	CHECK_INT(tick_clock_time_ns(&clock, ABI_TICKS(block.thread, block.tick)),
		  clock.start_ns + days * DAY_NS);
}

/* 32 bits of ticks wrap after 49.7 days. */
static void long_runs(void)
{
	check_day(0);
	check_day(49);
	check_day(50);
	check_day(99);
	check_day(100);
	check_day(365);
	check_day(50000);
}

/* A peak's time is known within 16 ticks. */
static void peaks_of_long_runs(void)
{
	for (uint64_t days = 1; days < 700; days += 33) {
		uint64_t ticks = days * DAY_NS / 1000000;
		uint64_t when = abi_peak_when(ticks, 7);

		CHECK_INT(when & UINT32_MAX, 7);
		CHECK(ABI_PEAK_TICKS(when) <= ticks);
		CHECK(ABI_PEAK_TICKS(when) + 16 > ticks);
	}
}

/* A block that lived for 2^32 ticks and a little more must not count as young. */
static void long_lives(void)
{
	uint64_t age_ticks = (UINT64_C(1) << 32) + 10;

	CHECK(abi_lifetime_bucket(age_ticks, 1000000) > abi_lifetime_bucket(10, 1000000));
	CHECK_INT(abi_lifetime_bucket(age_ticks, 1000000),
		  abi_lifetime_bucket(UINT32_MAX, 1000000));
}

/* All bits of the kernel's counter: the lower half wraps five minutes after boot
 * (INITIAL_JIFFIES in include/linux/jiffies.h). */
static void reads_the_clock(void)
{
	struct tick_clock clock;

	tick_clock_begin(&clock);
	if (!clock.is_jiffies)
		check_skip("no jiffies can be read");
	if (clock_now_ns() > UINT64_C(400000000000))
		CHECK(clock.start_jiffies > UINT32_MAX);
}

enum {
	BUSY = 8,
	ROUNDS = 25
};

static void start_busy(pid_t *busy)
{
	for (int i = 0; i < BUSY; i++) {
		busy[i] = fork();
		REQUIRE(busy[i] >= 0);
		if (!busy[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (volatile int x = 0;; x++)
				;
		}
	}
}

static void stop_busy(const pid_t *busy)
{
	for (int i = 0; i < BUSY; i++) {
		kill(busy[i], SIGKILL);
		waitpid(busy[i], NULL, 0);
	}
}

/* Two clocks that start at different times, while other processes use the processors,
 * must agree about the length and the start of a jiffy. They may differ by the delay of a
 * reading, so the closest pair counts. */
static void agrees_with_itself(void)
{
	struct tick_clock first, clock;
	uint64_t least_ns = UINT64_MAX;
	pid_t busy[BUSY];

	tick_clock_begin(&first);
	if (!first.is_jiffies)
		check_skip("no jiffies can be read");
	start_busy(busy);
	for (int i = 0; i < ROUNDS; i++) {
		nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
		tick_clock_begin(&clock);
		CHECK_INT(clock.tick_ns, first.tick_ns);
		CHECK(clock.start_jiffies > first.start_jiffies);

		uint64_t expected_ns = tick_clock_time_ns(
			&first, clock.start_jiffies - first.start_jiffies);
		uint64_t away_ns = clock.start_ns > expected_ns
					   ? clock.start_ns - expected_ns
					   : expected_ns - clock.start_ns;

		if (away_ns < least_ns)
			least_ns = away_ns;
	}
	stop_busy(busy);
	CHECK(least_ns < first.tick_ns);
}

/* The number of jiffies in half a second, measured by CLOCK_MONOTONIC. If the length of a
 * jiffy is wrong, the two differ by the same share: by 12 ms for the closest values of
 * CONFIG_HZ, 1000 and 1024. On a busy machine a jiffy may be read late, so the best of
 * several tries counts. */
static void agrees_with_the_time(void)
{
	uint64_t least_ns = UINT64_MAX;

	for (int i = 0; i < 5; i++) {
		struct tick_clock begin, end;
		uint64_t ticks_ns, passed_ns, away_ns;

		tick_clock_begin(&begin);
		if (!begin.is_jiffies)
			check_skip("no jiffies can be read");
		nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
		tick_clock_begin(&end);
		ticks_ns = (end.start_jiffies - begin.start_jiffies) * begin.tick_ns;
		passed_ns = end.start_ns - begin.start_ns;
		away_ns = ticks_ns > passed_ns ? ticks_ns - passed_ns
					       : passed_ns - ticks_ns;
		if (away_ns < least_ns)
			least_ns = away_ns;
	}
	CHECK(least_ns < 6000000);
}

int main(void)
{
	RUN(ticks_become_times);
	RUN(long_runs);
	RUN(peaks_of_long_runs);
	RUN(long_lives);
	RUN(reads_the_clock);
	RUN(agrees_with_itself);
	RUN(agrees_with_the_time);
	return check_done();
}
