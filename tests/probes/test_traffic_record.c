// SPDX-License-Identifier: Apache-2.0
/* Updates of a traffic record by the probes' code, compiled for the host: by one thread,
 * and by many threads at once. */
#include "check.h"
#include "under_tsan.h"

#include <pthread.h>

#include "traffic_record.h"

static void buckets_are_powers_of_two(void)
{
	CHECK_INT(abi_bucket(0), 0);
	CHECK_INT(abi_bucket(1), 1);
	for (uint32_t i = 1; i < 64; i++) {
		uint64_t power = UINT64_C(1) << i;

		CHECK_INT(abi_bucket(power - 1), i);
		CHECK_INT(abi_bucket(power), i + 1);
	}
	CHECK_INT(abi_bucket(UINT64_MAX), ABI_SIZE_BUCKETS - 1);
}

static void lifetimes_are_milliseconds(void)
{
	/* Ticks of 4 ms, and of 2^20 ns. */
	CHECK_INT(abi_lifetime_bucket(0, 4000000), 0);
	CHECK_INT(abi_lifetime_bucket(1, 4000000), 3);
	CHECK_INT(abi_lifetime_bucket(250, 4000000), 10);
	CHECK_INT(abi_lifetime_bucket(256, 4000000), 11);
	CHECK_INT(abi_lifetime_bucket(1, 1 << 20), 1);
	CHECK_INT(abi_lifetime_bucket(1000, 1 << 20), 11);
	/* 2^32 ms are 49 days. */
	CHECK_INT(abi_lifetime_bucket(UINT32_MAX, 10000000), ABI_LIFETIME_BUCKETS - 1);
}

/* The resolution of a peak's time, in ticks. */
#define AT(n) ((uint64_t)(n) << ABI_PEAK_TICK_SHIFT)

static void a_peak_stays(void)
{
	struct abi_flow f = {0};

	abi_flow_allocated(&f, 1, 100, AT(5), 0);
	abi_flow_allocated(&f, 1, 50, AT(6), 0);
	abi_flow_freed(&f, 1, 100, 1);
	abi_flow_allocated(&f, 1, 100, AT(7), 0);
	CHECK_INT(f.allocations, 3);
	CHECK_INT(f.allocated_bytes, 250);
	CHECK_INT(f.frees, 1);
	CHECK_INT(f.freed_bytes, 100);
	CHECK_INT(f.temporary, 1);
	CHECK_INT(f.outstanding.live_bytes, 150);
	CHECK_INT(f.outstanding.peak_bytes, 150);
	/* The first time at which it was that high. */
	CHECK_INT(f.outstanding.peak_when >> 32, 6);
	CHECK_INT((uint32_t)f.outstanding.peak_when, 2);
	abi_flow_allocated(&f, 1, 0, AT(8), 0);
	CHECK_INT(f.outstanding.peak_when >> 32, 6);
	abi_flow_allocated(&f, 1, 1, AT(9), 0);
	CHECK_INT(f.outstanding.peak_bytes, 151);
	CHECK_INT(f.outstanding.peak_when >> 32, 9);
	CHECK_INT((uint32_t)f.outstanding.peak_when, 4);
}

static void a_resized_block_stays_one(void)
{
	struct abi_flow f = {0};

	abi_flow_allocated(&f, 1, 100, AT(1), 0);
	abi_flow_resized(&f, 0, 100, 300, AT(2), 0);
	abi_flow_resized(&f, 0, 300, 20, AT(3), 0);
	CHECK_INT(f.allocations, 1);
	CHECK_INT(f.frees, 0);
	CHECK_INT(f.allocated_bytes, 300);
	CHECK_INT(f.freed_bytes, 280);
	CHECK_INT(f.outstanding.live_bytes, 20);
	CHECK_INT(f.outstanding.peak_bytes, 300);
	CHECK_INT(f.outstanding.peak_when >> 32, 2);
	CHECK_INT((uint32_t)f.outstanding.peak_when, 1);
}

/* Frees that are counted before their allocations must not look like a peak. */
static void less_than_nothing_is_no_peak(void)
{
	struct abi_flow f = {0};

	abi_flow_freed(&f, 1, 100, 0);
	abi_flow_allocated(&f, 1, 40, AT(3), 0);
	CHECK_INT(f.outstanding.peak_bytes, 0);
	abi_flow_allocated(&f, 1, 60, AT(3), 0);
	CHECK_INT(f.outstanding.live_bytes, 0);
	CHECK_INT(f.outstanding.peak_bytes, 0);
}

/* With --sample-bytes blocks are counted in 1/65536. */
static void estimates_have_whole_blocks_at_their_peak(void)
{
	struct abi_flow f = {0};

	abi_flow_allocated(&f, 5 << 16, 500, AT(1), 16);
	abi_flow_allocated(&f, 1 << 15, 50, AT(2), 16);
	CHECK_INT(f.outstanding.peak_bytes, 550);
	CHECK_INT((uint32_t)f.outstanding.peak_when, 5);
}

#define THREADS 4
#define ROUNDS  200000

static struct abi_flow shared;
static pthread_barrier_t barrier;

/* Rises by ROUNDS blocks in every thread, then falls, and rises by half again. */
static void *rise_and_fall(void *arg)
{
	uint64_t bytes = (uint64_t)(uintptr_t)arg;

	pthread_barrier_wait(&barrier);
	for (uint32_t i = 0; i < ROUNDS; i++)
		abi_flow_allocated(&shared, 1, bytes, AT(i / 1000), 0);
	pthread_barrier_wait(&barrier);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		abi_flow_freed(&shared, 1, bytes, i % 4 == 0);
		if (i % 2)
			abi_flow_allocated(&shared, 1, bytes, AT(1000 + i / 1000), 0);
	}
	return NULL;
}

static void nothing_is_lost_between_threads(void)
{
	pthread_t threads[THREADS];
	uint64_t bytes = 0;

	pthread_barrier_init(&barrier, NULL, THREADS);
	for (uintptr_t i = 0; i < THREADS; i++) {
		REQUIRE(!pthread_create(&threads[i], NULL, rise_and_fall,
					(void *)(i + 1)));
		bytes += (i + 1) * ROUNDS;
	}
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&barrier);
	CHECK_INT(shared.allocations, THREADS * (ROUNDS + ROUNDS / 2));
	CHECK_INT(shared.frees, THREADS * ROUNDS);
	CHECK_INT(shared.allocated_bytes, bytes + bytes / 2);
	CHECK_INT(shared.freed_bytes, bytes);
	CHECK_INT(shared.temporary, THREADS * ROUNDS / 4);
	CHECK_INT(shared.outstanding.live_bytes, bytes / 2);
	/* All threads were at their maximum at the same time, after the barrier. */
	CHECK_INT(shared.outstanding.peak_bytes, bytes);
	CHECK_INT((uint32_t)shared.outstanding.peak_when, THREADS * ROUNDS);
	CHECK_INT(shared.outstanding.peak_when >> 32, (ROUNDS - 1) / 1000);
}

int main(void)
{
	check_not_under_tsan(
		"the probes are C for BPF, where volatile loads of words are atomic; "
		"ThreadSanitizer takes them for data races");
	RUN(buckets_are_powers_of_two);
	RUN(lifetimes_are_milliseconds);
	RUN(a_peak_stays);
	RUN(a_resized_block_stays_one);
	RUN(less_than_nothing_is_no_peak);
	RUN(estimates_have_whole_blocks_at_their_peak);
	RUN(nothing_is_lost_between_threads);
	return check_done();
}
