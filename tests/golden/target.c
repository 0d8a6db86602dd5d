// SPDX-License-Identifier: Apache-2.0
#include "golden/target.h"

#include "check.h"

static void add_module(struct snapshot *snap, uint64_t start, uint64_t end,
		       const char *path, const char *build_id)
{
	REQUIRE(vec_push(&snap->processes.data[0].modules,
			 (struct snapshot_module){
				 .start = start,
				 .end = end,
				 .path = strdup(path),
				 .build_id = build_id ? strdup(build_id) : NULL,
			 }));
}

uint32_t add_stack(struct snapshot *snap, enum stack_end end, size_t depth,
		   const uint64_t *frames)
{
	struct snapshot_stack stack = {
		.first_frame = (uint32_t)snap->frames.len,
		.depth = (uint16_t)depth,
		.end = (uint8_t)end,
	};

	for (size_t i = 0; i < depth; i++)
		REQUIRE(vec_push(&snap->frames, frames[i]));
	REQUIRE(vec_push(&snap->stacks, stack));
	return (uint32_t)snap->stacks.len - 1;
}

void add_block(struct snapshot *snap, enum block_class class, uint64_t address,
	       uint64_t size_bytes, uint64_t age_ns, uint32_t stack)
{
	REQUIRE(vec_push(&snap->blocks[class], (struct snapshot_block){
						       .address = address,
						       .size_bytes = size_bytes,
						       .time_ns = snap->time_ns - age_ns,
						       .stack = stack,
						       .tid = 4321 + stack % 7,
					       }));
}

struct snapshot *empty_snapshot(uint64_t elapsed_ns)
{
	struct snapshot *snap = snapshot_create();

	REQUIRE(snap);

	struct snapshot_process *process = snapshot_add_process(snap, 4321);

	REQUIRE(process);
	process->command = strdup("leaky");
	process->executable = strdup("/srv/app/bin/leaky");
	process->memory = (struct snapshot_memory){
		.vm_size_bytes = 1536 * 1024,
		.vm_rss_bytes = 800 * 1024,
		.vm_data_bytes = 512 * 1024,
		.vm_hwm_bytes = 900 * 1024,
	};
	snap->wall_ns = WALL_NS;
	snap->attached_ns = 1000 * SECOND;
	snap->time_ns = snap->attached_ns + elapsed_ns;
	snap->max_allocations = 1048576;
	snap->max_stacks = 65536;
	snap->max_threads = 16384;
	add_module(snap, 0x400000, 0x402000, "/srv/app/bin/leaky",
		   "00112233445566778899aabbccddeeff00112233");
	add_module(snap, 0x7f0000000000, 0x7f0000100000, "/usr/lib/libc.so.6", NULL);
	add_module(snap, 0x7f0000200000, 0x7f0000210000, "/opt/vendor/libblob.so",
		   "abcdef");
	return snap;
}

struct snapshot *heap_snapshot(uint64_t elapsed_ns)
{
	struct snapshot *snap = empty_snapshot(elapsed_ns);
	const uint64_t insert[] = {MALLOC_AT + 0x12, INSERT_AT + 0x34, LOOP_AT + 0x56};
	const uint64_t blob[] = {MALLOC_AT + 0x12, STRIPPED_AT + 0x1234, LOOP_AT + 0x78};
	const uint64_t jit[] = {MALLOC_AT + 0x12, NOWHERE_AT};

	add_stack(snap, STACK_END_COMPLETE, 3, insert);
	add_stack(snap, STACK_END_DEPTH, 3, blob);
	add_stack(snap, STACK_END_NO_FRAME, 2, jit);
	add_block(snap, BLOCK_HEAP, 0x10010, 1000, 9 * SECOND, 0);
	add_block(snap, BLOCK_HEAP, 0x10810, 1050, 4 * SECOND, 0);
	add_block(snap, BLOCK_HEAP, 0x11010, 1050, 3 * SECOND + 500 * MS, 0);
	add_block(snap, BLOCK_HEAP, 0x7e0000000010, 1024 * 1024, 8 * SECOND, 1);
	add_block(snap, BLOCK_HEAP, 0x7e0000200010, 1024 * 1024, 600 * MS, 1);
	add_block(snap, BLOCK_HEAP, 0x12010, 64, 200 * MS, 2);
	snap->totals[BLOCK_HEAP] = (struct snapshot_totals){
		.allocations = 12345,
		.allocated_bytes = 12345678,
		.frees = 12339,
		.freed_bytes = 10245362,
		.frees_unknown = 53,
	};
	return snap;
}

struct snapshot *shared_snapshot(uint64_t elapsed_ns)
{
	struct snapshot *snap = heap_snapshot(elapsed_ns);
	const struct snapshot_allocator allocators[] = {
		{strdup("glibc"), strdup("/usr/lib/libc.so.6")},
		{strdup("jemalloc"), strdup("/usr/lib/libjemalloc.so.2")},
	};
	struct snapshot_process *exited = snapshot_add_process(snap, 5000);

	REQUIRE(exited);
	exited->command = strdup("worker");
	exited->exited = true;

	struct snapshot_process *idle = snapshot_add_process(snap, 77);

	REQUIRE(idle);
	idle->command = strdup("idle");
	for (size_t i = 0; i < 2; i++)
		REQUIRE(vec_push(&snap->allocators, allocators[i]));
	snap->processes.data[0].namespace_pid = 7;
	snap->library = strdup("/usr/lib/libjemalloc.so.2");
	snap->stacks.data[1].process = 1;
	snap->stacks.data[1].allocator = 1;
	snap->blocks[BLOCK_HEAP].data[3].process = 1;
	snap->blocks[BLOCK_HEAP].data[4].process = 1;
	snap->totals[BLOCK_HEAP].gone = 40;
	snap->totals[BLOCK_HEAP].gone_bytes = 2048;
	return snap;
}

struct snapshot *lines_snapshot(void)
{
	struct snapshot *snap = heap_snapshot(10 * SECOND);
	const uint64_t frames[] = {HOSTILE_AT + 2, HOSTILE_AT + 0x12, LOOP_AT + 0x56};

	add_stack(snap, STACK_END_COMPLETE, 3, frames);
	add_block(snap, BLOCK_HEAP, 0x14010, 77, 5 * SECOND, 3);
	return snap;
}
