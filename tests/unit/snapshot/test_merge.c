// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include "snapshot/merge.h"

/* Adds a process with one file at `base`. */
static uint32_t add_process(struct snapshot *snap, int pid, uint64_t base,
			    const char *build_id)
{
	struct snapshot_process *p = snapshot_add_process(snap, pid);
	struct snapshot_module module = {.start = base,
					 .end = base + 0x10000,
					 .path = strdup("/bin/x"),
					 .build_id = build_id ? strdup(build_id) : NULL};

	REQUIRE(p && vec_push(&p->modules, module));
	return (uint32_t)snap->processes.len - 1;
}

/* Adds a stack of one frame, with a block and traffic. */
static void add_stack(struct snapshot *snap, uint32_t process, uint64_t address,
		      enum stack_end end)
{
	struct snapshot_stack stack = {.first_frame = (uint32_t)snap->frames.len,
				       .depth = 1,
				       .end = (uint8_t)end,
				       .process = process};
	struct snapshot_block block = {.size_bytes = 10,
				       .stack = (uint32_t)snap->stacks.len,
				       .process = process};
	uint64_t n = snap->stacks.len + 1;

	snap->has_traffic = true;
	REQUIRE(vec_push(&snap->stacks, stack) && vec_push(&snap->frames, address));
	REQUIRE(process == SNAPSHOT_NO_PROCESS ||
		vec_push(&snap->blocks[BLOCK_HEAP], block));
	REQUIRE(vec_push(&snap->traffic, (struct snapshot_traffic){.allocations = n,
								   .allocated_bytes = 10,
								   .peak_bytes = n}));
}

static void merged_by_file_and_offset(void)
{
	struct snapshot *snap = snapshot_create();
	struct snapshot_merge *merge = snapshot_merge_create();
	struct snapshot_made made;

	REQUIRE(snap && merge);
	add_process(snap, 1, 0x10000, "aa");
	add_process(snap, 2, 0x70000, "aa");
	add_process(snap, 3, 0x10000, "bb");
	add_stack(snap, 0, 0x10100, STACK_END_COMPLETE);
	add_stack(snap, 1, 0x70100, STACK_END_COMPLETE); /* the same at another address */
	add_stack(snap, 2, 0x10100, STACK_END_COMPLETE); /* another file */
	add_stack(snap, 1, 0x70100, STACK_END_DEPTH);    /* another end */
	add_stack(snap, 0, 0x999, STACK_END_COMPLETE);   /* in no file */
	add_stack(snap, 1, 0x999, STACK_END_COMPLETE);
	REQUIRE(snapshot_merge(merge, snap, true, &made));
	for (uint32_t i = 0; i < 6; i++)
		CHECK_INT(snapshot_stack_index(made.snap, i), i == 1 ? 0 : i);
	CHECK_INT(made.snap->traffic.data[0].allocations, 3);
	CHECK_INT(made.snap->traffic.data[0].peak_bytes, 20);
	CHECK_INT(made.snap->traffic.data[1].allocations, 0);
	CHECK_INT(snap->traffic.data[0].allocations, 1);
	CHECK_INT(snapshot_stack_index(made.snap, 77), SNAPSHOT_NO_STACK);
	snapshot_made_deinit(&made);

	/* The first process has ended: the number stays, with the frames of the other
	 * process. */
	snap->stacks.data[0].process = SNAPSHOT_NO_PROCESS;
	REQUIRE(snapshot_merge(merge, snap, false, &made));
	CHECK_INT(snapshot_stack_index(made.snap, 1), 0);
	CHECK_INT(made.snap->stacks.data[0].process, 1);
	snapshot_made_deinit(&made);
	snapshot_merge_destroy(merge);
	snapshot_destroy(snap);
}

/* In one of them, frames are missing. */
static void a_gap_tells_stacks_apart(void)
{
	struct snapshot *snap = snapshot_create();
	struct snapshot_merge *merge = snapshot_merge_create();
	struct snapshot_made made;

	REQUIRE(snap && merge);
	add_process(snap, 1, 0x10000, "aa");
	add_process(snap, 2, 0x10000, "aa");
	for (int i = 0; i < 3; i++) {
		add_stack(snap, i == 2, 0x10100, STACK_END_COMPLETE);
		REQUIRE(vec_push(&snap->frames, 0x10200));
		snap->stacks.data[i].depth = 2;
		snap->stacks.data[i].gap = i != 1;
	}
	REQUIRE(snapshot_merge(merge, snap, true, &made));
	CHECK_INT(snapshot_stack_index(made.snap, 1), 1);
	CHECK_INT(snapshot_stack_index(made.snap, 2), 0);
	snapshot_made_deinit(&made);
	snapshot_merge_destroy(merge);
	snapshot_destroy(snap);
}

static void frames_out_of_range(void)
{
	struct snapshot *snap = snapshot_create();
	struct snapshot_merge *merge = snapshot_merge_create();
	struct snapshot_made made;

	REQUIRE(snap && merge);
	add_process(snap, 1, 0x10000, NULL);
	add_process(snap, 2, 0x70000, NULL);
	add_stack(snap, 0, 0x10100, STACK_END_COMPLETE);
	add_stack(snap, 1, 0x70100, STACK_END_COMPLETE);
	snap->stacks.data[0].first_frame = 5000;
	snap->stacks.data[1].process = 4000;
	snap->stacks.data[1].allocator = 200;
	snap->traffic.len = 1;
	REQUIRE(snapshot_merge(merge, snap, true, &made));
	CHECK_INT(snapshot_stack_index(made.snap, 1), 1);
	snapshot_made_deinit(&made);
	snapshot_merge_destroy(merge);
	snapshot_destroy(snap);
}

static void split_by_process_of_blocks(void)
{
	struct snapshot *snap = snapshot_create();
	struct snapshot_made made;

	REQUIRE(snap);
	add_process(snap, 1, 0x10000, NULL);
	add_process(snap, 2, 0x10000, NULL);
	add_stack(snap, 0, 0x10100, STACK_END_COMPLETE);
	REQUIRE(vec_push(&snap->blocks[BLOCK_HEAP],
			 (struct snapshot_block){.size_bytes = 3, .process = 1}));
	REQUIRE(snapshot_split(snap, true, &made));
	REQUIRE(made.snap->stacks.len == 2);
	CHECK_INT(made.snap->stacks.data[1].process, 1);
	CHECK_INT(made.snap->blocks[BLOCK_HEAP].data[1].stack, 1);
	CHECK_INT(snap->blocks[BLOCK_HEAP].data[1].stack, 0);
	snapshot_made_deinit(&made);
	snapshot_destroy(snap);
}

int main(void)
{
	RUN(merged_by_file_and_offset);
	RUN(a_gap_tells_stacks_apart);
	RUN(frames_out_of_range);
	RUN(split_by_process_of_blocks);
	return check_done();
}
