// SPDX-License-Identifier: Apache-2.0
/* What was live at the peak, by the probes' code, compiled for the host: compared with a
 * copy that the test makes at each peak, and by many threads at once. */
#include "check.h"
#include "under_tsan.h"

#include <pthread.h>
#include <stdbool.h>

#include "peak_record.h"

#define PATHS 16

struct heap {
	struct abi_heap_peak peak;
	struct abi_path_peak paths[PATHS];
};

static struct heap heap;

static void reset(uint64_t number)
{
	memset(&heap, 0, sizeof(heap));
	heap.peak.number = number;
	heap.peak.state = number << ABI_PEAK_SHIFT | ABI_PEAK_ZERO;
}

/* What a path held at the last peak. */
static int64_t bytes_at_peak(size_t path)
{
	const struct abi_path_peak *p = &heap.paths[path];

	return (int64_t)(p->bytes_before + (p->label <= heap.peak.number ? p->bytes : 0));
}

static int64_t blocks_at_peak(size_t path)
{
	const struct abi_path_peak *p = &heap.paths[path];

	return (int64_t)(p->blocks_before +
			 (p->label <= heap.peak.number ? p->blocks : 0));
}

static void add_to_path(size_t path, uint64_t label, int64_t bytes, int64_t blocks)
{
	while (!abi_path_peak_add(&heap.paths[path], label, (uint64_t)bytes,
				  (uint64_t)blocks))
		;
}

static uint64_t add_to_heap(uint64_t bytes, uint64_t ticks)
{
	int is_peak = 0;
	uint64_t label = abi_heap_peak_add(&heap.peak, bytes, &is_peak);

	if (is_peak)
		heap.peak.ticks = ticks;
	return label;
}

static void event(size_t path, int64_t bytes, int64_t blocks, uint64_t ticks)
{
	add_to_path(path, add_to_heap((uint64_t)bytes, ticks), bytes, blocks);
}

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* --- one thread ------------------------------------------------------------------- */

static void what_is_freed_later_was_live(void)
{
	reset(0);
	event(0, 100, 1, 5);
	event(1, 50, 1, 6);
	event(0, -100, -1, 7);
	event(2, 99, 1, 8);
	CHECK_INT(heap.peak.bytes, 150);
	CHECK_INT(heap.peak.ticks, 6);
	CHECK_INT(bytes_at_peak(0), 100);
	CHECK_INT(blocks_at_peak(0), 1);
	CHECK_INT(bytes_at_peak(1), 50);
	CHECK_INT(bytes_at_peak(2), 0);
	/* A heap as large as at the peak does not replace it. */
	event(2, 1, 1, 9);
	CHECK_INT(heap.peak.ticks, 6);
	CHECK_INT(bytes_at_peak(2), 0);
	event(2, 1, 1, 10);
	CHECK_INT(heap.peak.bytes, 151);
	CHECK_INT(bytes_at_peak(0), 0);
	CHECK_INT(bytes_at_peak(2), 101);
	CHECK_INT(blocks_at_peak(2), 3);
	CHECK_INT(heap.peak.left_out, 0);
	CHECK_INT(heap.peak.missed_bytes, 0);
}

#define EVENTS  300000
#define DELAYED 64

struct delayed {
	size_t path;
	uint64_t label;
	int64_t bytes, blocks;
};

/* Random events. Some reach the record of their path later than others that came after
 * them, as events of stacks without a number do. */
static void random_events(uint64_t first_number)
{
	struct delayed delayed[DELAYED] = {{0}};
	int64_t live[PATHS] = {0}, count[PATHS] = {0}, total = 0, peak = 0;
	int64_t live_then[PATHS] = {0}, count_then[PATHS] = {0}, sum = 0;
	uint64_t state = 88172645463325252u;

	reset(first_number);
	for (size_t i = 0; i < EVENTS; i++) {
		uint64_t r = random_next(&state);
		size_t path = r % PATHS, at = (r >> 8) % DELAYED;
		int64_t bytes = (int64_t)((r >> 16) % 1000);
		/* The heap grows for a while, and then becomes smaller. */
		bool is_free = (r >> 32) % 100 < (i / 3000 % 2 ? 60u : 40u);

		if (is_free)
			bytes = live[path] < bytes ? -live[path] : -bytes;

		struct delayed now = {path, add_to_heap((uint64_t)bytes, i), bytes,
				      is_free ? -1 : 1};

		if ((r >> 44) % 4) {
			add_to_path(now.path, now.label, now.bytes, now.blocks);
		} else {
			if (delayed[at].label)
				add_to_path(delayed[at].path, delayed[at].label,
					    delayed[at].bytes, delayed[at].blocks);
			delayed[at] = now;
		}
		live[path] += bytes;
		count[path] += now.blocks;
		total += bytes;
		if (total <= peak)
			continue;
		peak = total;
		memcpy(live_then, live, sizeof(live));
		memcpy(count_then, count, sizeof(count));
	}
	for (size_t i = 0; i < DELAYED; i++)
		if (delayed[i].label)
			add_to_path(delayed[i].path, delayed[i].label, delayed[i].bytes,
				    delayed[i].blocks);
	for (size_t i = 0; i < PATHS; i++) {
		CHECK_INT(bytes_at_peak(i), live_then[i]);
		CHECK_INT(blocks_at_peak(i), count_then[i]);
		sum += bytes_at_peak(i);
	}
	CHECK_INT(heap.peak.bytes, peak);
	CHECK_INT(sum, peak);
	CHECK(heap.peak.number > first_number + 1000);
	CHECK_INT(heap.peak.left_out, 0);
}

static void random_events_equal_the_copy(void)
{
	random_events(0);
}

/* `state` has only the low bits of the number of peaks. */
static void the_number_of_peaks_may_overflow(void)
{
	random_events(ABI_PEAK_NUMBER_MASK - 500);
	random_events(77 * (ABI_PEAK_NUMBER_MASK + 1) - 3);
}

static void a_frozen_peak_stays(void)
{
	reset(0);
	event(0, 100, 1, 1);
	heap.peak.frozen = 1;
	event(1, 300, 1, 2);
	event(1, -250, -1, 3);
	CHECK_INT(heap.peak.bytes, 100);
	CHECK_INT(bytes_at_peak(0), 100);
	CHECK_INT(bytes_at_peak(1), 0);
	CHECK_INT(heap.peak.missed_bytes, 400);
	heap.peak.frozen = 0;
	/* As memtrace does when it has read: the heap as it is now is a new peak. */
	(void)add_to_heap(0, 4);
	CHECK_INT(heap.peak.bytes, 150);
	CHECK_INT(heap.peak.ticks, 4);
	CHECK_INT(bytes_at_peak(1), 50);
	event(0, 300, 1, 5);
	CHECK_INT(heap.peak.bytes, 450);
	CHECK_INT(bytes_at_peak(0), 400);
}

static void a_free_may_come_before_its_allocation(void)
{
	reset(0);
	event(0, -100, -1, 1);
	event(0, 100, 1, 2);
	CHECK_INT(heap.peak.bytes, 0);
	event(1, 7, 1, 3);
	CHECK_INT(heap.peak.bytes, 7);
	CHECK_INT(bytes_at_peak(0), 0);
	CHECK_INT(bytes_at_peak(1), 7);
}

static void what_is_too_large_is_left_out(void)
{
	reset(0);
	event(0, 10, 1, 1);
	CHECK_INT(add_to_heap(2 * ABI_PEAK_MAX_BLOCK, 2), 0);
	CHECK_INT(add_to_heap(-2 * ABI_PEAK_MAX_BLOCK, 2), 0);
	CHECK_INT(heap.peak.left_out, 2);
	event(1, 10, 1, 3);
	CHECK_INT(heap.peak.bytes, 20);
	/* Not one of these blocks, but all together. */
	for (int i = 0; i < 9; i++)
		(void)add_to_heap(ABI_PEAK_MAX_BLOCK, 4);
	CHECK_INT(heap.peak.left_out, 4);
	CHECK_INT(heap.peak.bytes, 20 + 7 * ABI_PEAK_MAX_BLOCK);
	CHECK_INT(ABI_PEAK_NUMBER(heap.peak.state), heap.peak.number);
}

/* --- many threads ----------------------------------------------------------------- */

#define THREADS 8
#define ROUNDS  40000

static pthread_barrier_t barrier;

static void *churn(void *arg)
{
	uint64_t state = 88172645463325252u * ((uintptr_t)arg * 2 + 1);
	int64_t held[PATHS] = {0};

	pthread_barrier_wait(&barrier);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t r = random_next(&state);
		size_t path = r % PATHS;
		int64_t bytes = (int64_t)((r >> 16) % 100);

		if (r >> 40 & 1) {
			event(path, -held[path], -1, 0);
			held[path] = 0;
		} else {
			event(path, bytes, 1, 0);
			held[path] += bytes;
		}
	}
	return NULL;
}

static void start_threads(void *(*work)(void *))
{
	pthread_t threads[THREADS];

	pthread_barrier_init(&barrier, NULL, THREADS);
	for (uintptr_t i = 0; i < THREADS; i++)
		REQUIRE(!pthread_create(&threads[i], NULL, work, (void *)i));
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&barrier);
}

/* Whatever the order of the events was: the parts are the whole. */
static void parts_add_up_between_threads(void)
{
	int64_t sum = 0;

	reset(0);
	start_threads(churn);
	for (size_t i = 0; i < PATHS; i++)
		sum += bytes_at_peak(i);
	CHECK(heap.peak.bytes > 0);
	CHECK_INT(sum, heap.peak.bytes);
	CHECK_INT(heap.peak.left_out, 0);
	CHECK_INT(ABI_PEAK_NUMBER(heap.peak.state),
		  heap.peak.number & ABI_PEAK_NUMBER_MASK);
}

/* All threads hold all their blocks at the same time. Each round of a thread uses another
 * path than the round before. */
static void *rise_and_fall(void *arg)
{
	int64_t bytes = (int64_t)(uintptr_t)arg + 1;

	pthread_barrier_wait(&barrier);
	for (int i = 0; i < ROUNDS; i++)
		event((size_t)i % PATHS, bytes, 1, 0);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < ROUNDS; i++) {
		event((size_t)i % PATHS, -bytes, -1, 0);
		if (i % 2)
			event(0, bytes, 1, 0);
	}
	return NULL;
}

static void a_moment_of_all_threads_is_exact(void)
{
	const int64_t each = ROUNDS / PATHS * (THREADS * (THREADS + 1) / 2);

	reset(0);
	start_threads(rise_and_fall);
	CHECK_INT(heap.peak.bytes, each * PATHS);
	for (size_t i = 0; i < PATHS; i++) {
		CHECK_INT(bytes_at_peak(i), each);
		CHECK_INT(blocks_at_peak(i), ROUNDS / PATHS * THREADS);
	}
}

int main(void)
{
	check_not_under_tsan(
		"the probes are C for BPF, where volatile loads of words are atomic; "
		"ThreadSanitizer takes them for data races");
	RUN(what_is_freed_later_was_live);
	RUN(random_events_equal_the_copy);
	RUN(the_number_of_peaks_may_overflow);
	RUN(a_frozen_peak_stays);
	RUN(a_free_may_come_before_its_allocation);
	RUN(what_is_too_large_is_left_out);
	RUN(parts_add_up_between_threads);
	RUN(a_moment_of_all_threads_is_exact);
	return check_done();
}
