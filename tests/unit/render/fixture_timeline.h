/* SPDX-License-Identifier: Apache-2.0 */
/* Adds timeline, threads, traffic and trends to the fixture's standard case. */
#ifndef TESTS_RENDER_FIXTURE_COURSE_H
#define TESTS_RENDER_FIXTURE_COURSE_H

#include "fixture.h"

/* Six moments, one second apart, up to the snapshot. The heap grows to its final size,
 * except at the third moment. */
static inline void fixture_fill_moments(struct fixture *f)
{
	static const uint64_t live[] = {100000,  400000,  350000,
					1200000, 1800000, 2100323};

	for (size_t i = 0; i < 6; i++) {
		struct snapshot_moment m = {
			.time_ns = f->snap->time_ns - (5 - i) * FIXTURE_NS,
			.live_bytes = {live[i]},
			.live_blocks = {i + 2},
			.allocations = 1000 * (i + 1),
			.allocated_bytes = 1000000 * (i + 1) + 500000 * (i > 3),
			.frees = 1000 * (i + 1) - (i + 2),
			.vm_rss_bytes = (10 + i) << 20,
		};

		REQUIRE(vec_push(&f->snap->moments, m));
	}
}

/* Two threads; one has ended. A target could have chosen the names and numbers. */
static inline void fixture_fill_threads(struct fixture *f)
{
	const struct snapshot_thread threads[] = {
		{
			.tid = 4321,
			.name = strdup("main"),
			.allocations = 900,
			.allocated_bytes = 900000,
			.frees = 800,
			.freed_bytes = 700000,
			.freed_own = 700,
			.freed_own_bytes = 600000,
			.freed_by_others = 10,
			.freed_by_others_bytes = 50000,
		},
		{
			.tid = 4322,
			.name = strdup("wor<ker>\n"),
			.exited = true,
			.allocations = 100,
			.allocated_bytes = 3000000,
			.freed_by_others = 100,
			.freed_by_others_bytes = 100000,
		},
	};

	for (size_t i = 0; i < 2; i++)
		REQUIRE(vec_push(&f->snap->threads, threads[i]));
}

/* Each stack has allocated ten times what it holds, and freed the rest. So has the last
 * one, which holds nothing. All blocks of a stack have the size of its first block. */
static inline void fixture_fill_traffic(struct fixture *f)
{
	f->snap->has_traffic = f->snap->has_lifetimes = true;
	for (size_t i = 0; i < f->snap->stacks.len; i++) {
		struct snapshot_traffic t = {
			.allocations = 10 * (i + 1),
			.allocated_bytes = 1000 * (i + 1),
			.temporary = i,
			.peak_bytes = 900 * (i + 1),
			.peak_count = i + 1,
			.peak_time_ns = f->snap->attached_ns + (i + 1) * FIXTURE_NS,
		};
		struct snapshot_lifetimes l = {.count = {i, 3, 0, 7 * i}};

		vec_foreach (block, &f->snap->blocks[BLOCK_HEAP]) {
			if (block->stack == i) {
				t.allocations++;
				t.allocated_bytes += block->size_bytes;
				t.peak_bytes += block->size_bytes;
			}
		}
		t.frees = 10 * (i + 1);
		t.freed_bytes = 1000 * (i + 1);
		REQUIRE(vec_push(&f->snap->traffic, t));
		REQUIRE(vec_push(&f->snap->lifetimes, l));
	}
	f->snap->sizes[7] = 100;
	f->snap->sizes[11] = 25;
	f->snap->peak_bytes = 3000000;
	f->snap->peak_time_ns = f->snap->attached_ns + 4 * FIXTURE_NS;
}

/* The first stack grows at each snapshot; the others do not change. */
static inline void fixture_fill_trends(struct fixture *f)
{
	f->snap->has_trends = true;
	for (size_t i = 0; i < f->snap->stacks.len; i++) {
		struct snapshot_trend still = {.intervals = 9, .stands = 9};
		struct snapshot_trend leak = {.intervals = 9,
					      .grew = 9,
					      .slope_bytes_per_s = 204.8,
					      .determination = 0.995};

		REQUIRE(vec_push(&f->snap->trends[BLOCK_HEAP], i ? still : leak));
	}
}

/* Adds all of these. */
static inline void fixture_fill_timeline(struct fixture *f)
{
	fixture_fill_moments(f);
	fixture_fill_threads(f);
	fixture_fill_traffic(f);
	fixture_fill_trends(f);
}

#endif
