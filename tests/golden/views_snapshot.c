// SPDX-License-Identifier: Apache-2.0
#include <stdbool.h>

#include "unit/render/fixture.h"
#include "views_snapshot.h"

/* Add one block of a stack, `age_ms` old. */
static void add_block(struct fixture *f, uint32_t stack, uint64_t size_bytes,
		      uint64_t age_ms, uint32_t tid)
{
	size_t at = f->snap->blocks[BLOCK_HEAP].len;

	fixture_block(f, BLOCK_HEAP, size_bytes, tid, stack);
	f->snap->blocks[BLOCK_HEAP].data[at].time_ns = f->snap->time_ns - age_ms * MS;
}

static void add_measured(struct fixture *f, const struct snapshot_traffic *traffic,
			 const struct snapshot_lifetimes *lifetimes,
			 const struct snapshot_path_sizes *sizes,
			 const struct snapshot_trend *trend)
{
	REQUIRE(vec_push(&f->snap->traffic, *traffic));
	REQUIRE(vec_push(&f->snap->lifetimes, *lifetimes));
	REQUIRE(vec_push(&f->snap->path_sizes, *sizes));
	REQUIRE(vec_push(&f->snap->trends[BLOCK_HEAP], *trend));
	REQUIRE(vec_push(&f->snap->trends[BLOCK_MAPPING], (struct snapshot_trend){0}));
}

static void add_thread(struct fixture *f, const struct snapshot_thread *thread,
		       const char *name)
{
	REQUIRE(vec_push(&f->snap->threads, *thread));
	f->snap->threads.data[f->snap->threads.len - 1].name = name ? strdup(name) : NULL;
}

/* A leak, a full cache, and churn with no live block. */
void fill_stacks(struct fixture *f)
{
	uint64_t start = fixture_symbol(f, "_start", "/srv/app/bin/leaky");
	uint64_t loop = fixture_symbol(f, "main_loop", "/srv/app/bin/leaky");
	uint64_t leak = fixture_symbol(f, "parse_request", "/srv/app/bin/leaky");
	uint64_t cache =
		fixture_symbol(f, "Cache::insert(Key const&)", "/usr/lib/libcache.so.2");
	uint64_t churn = fixture_symbol(f, "=format(\"x\")", "/srv/app/bin/leaky");
	uint64_t end_ns = f->snap->time_ns;

	FIXTURE_STACK(f, STACK_END_COMPLETE, leak, loop, start);
	FIXTURE_STACK(f, STACK_END_COMPLETE, cache, loop, start);
	FIXTURE_STACK(f, STACK_END_NO_FRAME, churn, loop);
	for (uint32_t i = 0; i < 9; i++)
		add_block(f, 0, 100 + i, 1000 + 1000 * i, 4321);
	add_block(f, 1, 4096, 9500, 4322);
	add_block(f, 1, 65536, 9000, 4322);
	add_measured(f,
		     &(struct snapshot_traffic){.allocations = 10,
						.allocated_bytes = 1000,
						.frees = 1,
						.freed_bytes = 64,
						.temporary = 0,
						.peak_bytes = 936,
						.peak_time_ns = end_ns - 1000 * MS,
						.peak_count = 9},
		     &(struct snapshot_lifetimes){{[3] = 1}},
		     &(struct snapshot_path_sizes){{[7] = 10}},
		     &(struct snapshot_trend){12, 11, 0, 93.5, 0.9942, 0, 1122, 0});
	add_measured(
		f,
		&(struct snapshot_traffic){.allocations = 40,
					   .allocated_bytes = 409600,
					   .frees = 38,
					   .freed_bytes = 339968,
					   .temporary = 2,
					   .peak_bytes = 131072,
					   .peak_time_ns = end_ns - 7500 * MS,
					   .peak_count = 4},
		&(struct snapshot_lifetimes){{[0] = 2, [5] = 30, [11] = 6}},
		&(struct snapshot_path_sizes){{[13] = 38, [SNAPSHOT_PATH_SIZES - 1] = 2}},
		&(struct snapshot_trend){12, 3, 2, 1500, 0.61, 8, 18000, 4096});
	add_measured(f,
		     &(struct snapshot_traffic){.allocations = 5000,
						.allocated_bytes = 160000,
						.frees = 5000,
						.freed_bytes = 160000,
						.temporary = 4900,
						.peak_bytes = 64,
						.peak_time_ns = end_ns - 9999 * MS,
						.peak_count = 2},
		     &(struct snapshot_lifetimes){
			     {[0] = 4990, [1] = 9, [SNAPSHOT_LIFETIMES - 1] = 1}},
		     &(struct snapshot_path_sizes){{[6] = 5000}},
		     &(struct snapshot_trend){12, 5, 6, -0.5, 0.002, 3, 0, 512});
}

static void fill_run(struct fixture *f)
{
	struct snapshot *snap = f->snap;

	snap->has_traffic = snap->has_lifetimes = snap->has_trends = true;
	snap->totals[BLOCK_HEAP] = (struct snapshot_totals){
		.allocations = 5050,
		.allocated_bytes = 570600,
		.frees = 5039,
		.freed_bytes = 500032,
	};
	snap->sizes[6] = 5000;
	snap->sizes[7] = 10;
	snap->sizes[13] = 38;
	snap->sizes[17] = 2;
	snap->peak_bytes = 131500;
	snap->peak_time_ns = snap->time_ns - 7400 * MS;
	snap->has_at_peak = true;
	REQUIRE(vec_push(&snap->at_peak, (struct snapshot_at_peak){864, 8}));
	REQUIRE(vec_push(&snap->at_peak, (struct snapshot_at_peak){130048, 4}));
	REQUIRE(vec_push(&snap->at_peak, (struct snapshot_at_peak){64, 2}));
	add_thread(f,
		   &(struct snapshot_thread){.tid = 4321,
					     .allocations = 5010,
					     .allocated_bytes = 161000,
					     .frees = 5020,
					     .freed_bytes = 250000,
					     .freed_own = 5000,
					     .freed_own_bytes = 160000,
					     .freed_by_others = 1,
					     .freed_by_others_bytes = 64},
		   "leaky");
	add_thread(f,
		   &(struct snapshot_thread){.tid = 4322,
					     .exited = true,
					     .allocations = 40,
					     .allocated_bytes = 409600,
					     .frees = 18,
					     .freed_bytes = 249968,
					     .freed_own = 18,
					     .freed_own_bytes = 249968,
					     .freed_by_others = 20,
					     .freed_by_others_bytes = 90000},
		   "\x1b[2J=1+1,\"");
	snap->processes.data[0].memory =
		(struct snapshot_memory){.vm_size_bytes = 1536 * 1024,
					 .vm_rss_bytes = 800 * 1024,
					 .vm_data_bytes = 512 * 1024,
					 .vm_hwm_bytes = 900 * 1024};
	for (uint64_t i = 0; i <= 12; i++) {
		struct snapshot_moment moment = {
			.time_ns = snap->attached_ns + i * (10 * FIXTURE_NS / 12),
			.live_bytes = {i < 4 ? i * 32768 : 69632 + i * 80, 0},
			.live_blocks = {i, 0},
			.allocations = i * 400,
			.allocated_bytes = i * 40000,
			.frees = i * 399,
			.vm_rss_bytes = (700 + i * 8) * 1024,
		};

		REQUIRE(vec_push(&snap->moments, moment));
	}
}

void fill(struct fixture *f)
{
	fixture_init(f);
	fill_stacks(f);
	fill_run(f);
}
