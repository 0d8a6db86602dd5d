// SPDX-License-Identifier: Apache-2.0
#include "large_snapshot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define CALLS      30000 /* distinct return addresses, CALLS_EACH in each function */
#define CALLS_EACH 3
#define DEPTH_MIN  8
#define DEPTH_MAX  32

#define CODE_AT    UINT64_C(0x55d0c0000000)
#define CALL_BYTES 0x40

/* xorshift64 (Marsaglia, 2003), always with the same seed. */
static uint64_t random_number(void)
{
	static uint64_t state = UINT64_C(0x9e3779b97f4a7c15);

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static void need(bool ok)
{
	if (!ok)
		die("out of memory");
}

/* Give the call a source line; every eighth also gets an inlined function. */
static void add_name(struct snapshot *snap, size_t call)
{
	size_t function = call / CALLS_EACH;
	char text[128];
	struct snapshot_name name = {
		.address = CODE_AT + call * CALL_BYTES,
		.offset = (call % CALLS_EACH + 1) * CALL_BYTES,
		.first_source = (uint32_t)snap->sources.len,
		.source_count = call % 8 ? 1 : 2,
	};
	struct snapshot_source source = {.line = (uint32_t)(call % 5000 + 1),
					 .column = (uint32_t)(call % 80 + 1)};

	snprintf(text, sizeof(text), "server::module_%zu::Handler::process_%zu(Request&)",
		 function % 100, function);
	need(string_table_add(&snap->strings, text, &name.symbol));
	snprintf(text, sizeof(text), "/srv/app/lib/libmodule_%zu.so", function % 100);
	need(string_table_add(&snap->strings, text, &name.module));
	snprintf(text, sizeof(text), "/home/build/src/module_%zu/handler_%zu.cpp",
		 function % 100, function % 1000);
	need(string_table_add(&snap->strings, text, &source.file));
	source.function = name.symbol;
	if (name.source_count == 2) {
		struct snapshot_source inlined = source;

		inlined.inlined = true;
		need(string_table_add(&snap->strings,
				      "std::vector<int>::push_back(int&&)",
				      &inlined.function) &&
		     vec_push(&snap->sources, inlined));
	}
	need(vec_push(&snap->sources, source) && vec_push(&snap->names, name));
}

/* Each new stack shares its outer frames with an earlier one, as the stacks of a program
 * form a tree. */
static void add_stack(struct snapshot *snap)
{
	struct snapshot_stack stack = {
		.first_frame = (uint32_t)snap->frames.len,
		.depth =
			(uint16_t)(DEPTH_MIN + random_number() % (DEPTH_MAX - DEPTH_MIN)),
	};
	const struct snapshot_stack *model =
		snap->stacks.len ? &snap->stacks.data[random_number() % snap->stacks.len]
				 : &stack;
	size_t own = snap->stacks.len ? 1 + random_number() % 8 : stack.depth;

	for (size_t i = 0; i < stack.depth; i++) {
		size_t to_root = stack.depth - 1u - i;
		uint64_t address = CODE_AT + random_number() % CALLS * CALL_BYTES;

		if (i >= own && to_root < model->depth)
			address = snap->frames.data[model->first_frame + model->depth -
						    1 - to_root];
		need(vec_push(&snap->frames, address));
	}
	need(vec_push(&snap->stacks, stack));
}

static void add_blocks(struct snapshot *snap, size_t blocks)
{
	for (size_t i = 0; i < blocks; i++) {
		struct snapshot_block block = {
			.address = UINT64_C(0x7f0000000000) + i * 64,
			.size_bytes = 16 + random_number() % 1000,
			.time_ns = snap->attached_ns + i * 50000,
			.stack = (uint32_t)(i < snap->stacks.len
						    ? i
						    : random_number() % snap->stacks.len),
			.tid = (uint32_t)(1000 + random_number() % 16),
		};

		need(vec_push(&snap->blocks[BLOCK_HEAP], block));
	}
}

/* What --save stores beside the blocks. */
static void add_measures(struct snapshot *snap)
{
	for (size_t i = 0; i < snap->stacks.len; i++) {
		struct snapshot_traffic traffic = {
			.allocations = 10 + random_number() % 1000,
			.peak_time_ns = snap->attached_ns + random_number() % 60000000000,
		};
		struct snapshot_lifetimes lifetimes = {.count = {0}};
		struct snapshot_path_sizes sizes = {.count = {0}};
		struct snapshot_trend trend = {
			.intervals = 12,
			.grew = (uint32_t)(random_number() % 13),
			.slope_bytes_per_s = (double)(random_number() % 100000) / 7,
			/* One stack in a hundred seems to leak. */
			.determination = i % 100 ? 0.5 : 0.99,
			.stands = 1,
		};

		traffic.allocated_bytes = traffic.allocations * 300;
		traffic.frees = traffic.allocations / 2;
		traffic.freed_bytes = traffic.frees * 300;
		traffic.temporary = traffic.frees / 3;
		traffic.peak_count = 2 * traffic.frees / 3;
		traffic.peak_bytes = traffic.peak_count * 300;
		for (size_t k = 0; k < 6; k++)
			lifetimes.count[random_number() % 16] += traffic.frees / 6;
		sizes.count[6] = traffic.frees;
		sizes.count[9] = traffic.allocations - traffic.frees;
		need(vec_push(&snap->traffic, traffic) &&
		     vec_push(&snap->lifetimes, lifetimes) &&
		     vec_push(&snap->path_sizes, sizes) &&
		     vec_push(&snap->trends[BLOCK_HEAP], trend));
	}
	snap->has_traffic = snap->has_lifetimes = snap->has_trends = true;
}

struct snapshot *large_snapshot(size_t stacks, size_t blocks)
{
	struct snapshot *snap = snapshot_create();
	struct snapshot_process *process = snap ? snapshot_add_process(snap, 1000) : NULL;

	need(process);
	process->command = strdup("server");
	snap->wall_ns = UINT64_C(1767323045000000000);
	snap->attached_ns = UINT64_C(1000000000);
	snap->time_ns = UINT64_C(61000000000);
	snap->totals[BLOCK_HEAP].allocations = blocks;
	for (size_t i = 0; i < CALLS; i++)
		add_name(snap, i);
	for (size_t i = 0; i < stacks; i++)
		add_stack(snap);
	add_blocks(snap, blocks);
	add_measures(snap);
	return snap;
}
