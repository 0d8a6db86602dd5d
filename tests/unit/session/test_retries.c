// SPDX-License-Identifier: Apache-2.0
/* --wait-for and processes that cannot be traced. */
#include "check.h"

#include "session/retries.h"

#define S UINT64_C(1000000000)

static struct retries retries;

static void begin(void)
{
	retries = (struct retries){0};
}

static int choose(const int pids[], size_t count, uint64_t now_ns)
{
	return retries_choose(&retries, pids, count, now_ns);
}

static void pauses_double(void)
{
	static const int one[] = {7};
	uint64_t now_ns = 100 * S;

	begin();
	CHECK_INT(choose(NULL, 0, now_ns), 0);
	CHECK_INT(choose(one, 1, now_ns), 7);
	for (unsigned i = 0; i < 10; i++) {
		uint64_t pause_ns = i < 6 ? S << i : 60 * S;

		retries_failed(&retries, 7, now_ns);
		CHECK_INT(choose(one, 1, now_ns + pause_ns - 1), 0);
		CHECK_INT(choose(one, 1, now_ns + pause_ns), 7);
		now_ns += pause_ns;
	}
	retries_remove(&retries, 7);
	retries_failed(&retries, 7, now_ns);
	CHECK_INT(choose(one, 1, now_ns + S), 7);
}

/* Two of them must not take turns without a pause. */
static void each_has_its_pause(void)
{
	static const int decoys[] = {7, 8};
	unsigned runs = 0;

	begin();
	for (uint64_t now_ns = S; now_ns < 61 * S; now_ns += S / 100) {
		int pid = choose(decoys, 2, now_ns);

		if (!pid)
			continue;
		retries_failed(&retries, pid, now_ns);
		runs++;
	}
	/* After 0, 1, 3, 7, 15 and 31 s. */
	CHECK_INT(runs, 12);
}

/* The list has the lowest pids first. */
static void others_have_their_turn(void)
{
	static const int pids[] = {7, 8, 9};

	begin();
	retries_failed(&retries, 7, S);
	retries_failed(&retries, 8, 2 * S);
	CHECK_INT(choose(pids, 3, 100 * S), 9);
	retries_failed(&retries, 9, 100 * S);
	CHECK_INT(choose(pids, 3, 100 * S), 7);
	retries_failed(&retries, 7, 100 * S);
	CHECK_INT(choose(pids, 3, 200 * S), 8);
}

static void the_list_is_bounded(void)
{
	static const int first[] = {1}, second[] = {2};

	begin();
	for (int pid = 1; pid <= RETRIES_MAX; pid++)
		retries_failed(&retries, pid, S);
	CHECK_INT(choose(first, 1, S), 0);
	retries_failed(&retries, RETRIES_MAX + 1, S);
	CHECK_INT(retries.count, RETRIES_MAX);
	CHECK_INT(choose(first, 1, S), 0); /* no run begins yet */
	CHECK_INT(choose(first, 1, 2 * S - 1), 0);
	CHECK_INT(choose(first, 1, 2 * S), 1);
	CHECK_INT(choose(second, 1, 2 * S - 1), 0);
	retries_remove(&retries, 1);
	CHECK_INT(retries.count, RETRIES_MAX);
}

/* More decoys than are remembered have lower pids than the right process. */
static void the_last_of_many_has_its_turn(void)
{
	int pids[2 * RETRIES_MAX + 1];
	size_t count = sizeof(pids) / sizeof(*pids), runs = 0;
	int right = (int)count, pid = 0;

	begin();
	for (size_t i = 0; i < count; i++)
		pids[i] = (int)i + 1;
	for (uint64_t now_ns = S; pid != right && now_ns < 1000 * S; now_ns += S / 4) {
		pid = choose(pids, count, now_ns);
		if (!pid || pid == right)
			continue;
		retries_failed(&retries, pid, now_ns);
		runs++;
	}
	CHECK_INT(pid, right);
	CHECK(runs < count);
	/* One run a second. */
	runs = 0;
	for (uint64_t now_ns = 2000 * S; now_ns < 2010 * S; now_ns += S / 100) {
		pid = choose(pids, count, now_ns);
		if (!pid)
			continue;
		retries_failed(&retries, pid, now_ns);
		runs++;
	}
	CHECK(runs >= 9 && runs <= 11);
}

int main(void)
{
	RUN(pauses_double);
	RUN(each_has_its_pause);
	RUN(others_have_their_turn);
	RUN(the_list_is_bounded);
	RUN(the_last_of_many_has_its_turn);
	return check_done();
}
