// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include "snapshot/join.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct snapshot *, snapshot_destroy);

static void add_stack(struct snapshot *snap, uint64_t frame, unsigned allocator)
{
	struct snapshot_stack stack = {.first_frame = (uint32_t)snap->frames.len,
				       .depth = 1,
				       .allocator = (uint8_t)allocator};

	REQUIRE(vec_push(&snap->stacks, stack) && vec_push(&snap->frames, frame));
}

static void add_block(struct snapshot *snap, enum block_class class, uint32_t stack)
{
	REQUIRE(vec_push(&snap->blocks[class],
			 (struct snapshot_block){.size_bytes = stack, .stack = stack}));
}

static void add_allocator(struct snapshot *snap, const char *label)
{
	struct snapshot_allocator a = {strdup(label), strdup("file")};

	REQUIRE(a.label && a.module && vec_push(&snap->allocators, a));
}

/* A process with `stacks` stacks, each with a block and traffic. */
static struct snapshot *of_process(unsigned stacks)
{
	struct snapshot *snap = snapshot_create();

	REQUIRE(snap && snapshot_add_process(snap, 12));
	add_allocator(snap, "glibc");
	snap->has_traffic = true;
	for (unsigned i = 0; i < stacks; i++) {
		add_stack(snap, 0x1000 + i, 0);
		add_block(snap, BLOCK_HEAP, i);
		add_block(snap, BLOCK_MAPPING, i);
		REQUIRE(vec_push(&snap->traffic,
				 (struct snapshot_traffic){.allocations = i + 1}));
	}
	add_block(snap, BLOCK_HEAP, SNAPSHOT_NO_STACK);
	snap->losses[LOSS_PROBES_MISSED] = 3;
	return snap;
}

static struct snapshot *of_kernel(unsigned stacks)
{
	struct snapshot *snap = snapshot_create();
	struct snapshot_kernel_class class = {.name = strdup("slab")};

	REQUIRE(snap && class.name && vec_push(&snap->kernel_classes, class));
	add_allocator(snap, "slab");
	add_allocator(snap, "pages");
	for (unsigned i = 0; i < stacks; i++) {
		add_stack(snap, 0x9000 + i, i % 2);
		add_block(snap, BLOCK_KERNEL, i);
	}
	add_block(snap, BLOCK_KERNEL, SNAPSHOT_NO_STACK);
	snap->totals[BLOCK_KERNEL].allocations = stacks;
	snap->losses[LOSS_PROBES_MISSED] = 4;
	return snap;
}

static uint64_t frame_of(const struct snapshot *snap, uint32_t stack)
{
	REQUIRE(stack < snap->stacks.len);
	REQUIRE(snap->stacks.data[stack].first_frame < snap->frames.len);
	return snap->frames.data[snap->stacks.data[stack].first_frame];
}

/* Each block must still have its frame; `size_bytes` says which one. */
static void check_joined(const struct snapshot *snap, unsigned process, unsigned kernel)
{
	CHECK_INT(snap->blocks[BLOCK_HEAP].len, process + 1);
	CHECK_INT(snap->blocks[BLOCK_KERNEL].len, kernel + 1);
	for (int class = BLOCK_HEAP; class <= BLOCK_MAPPING; class ++)
		vec_foreach (block, &snap->blocks[class])
			if (block->stack != SNAPSHOT_NO_STACK) {
				CHECK_INT(frame_of(snap, block->stack),
					  0x1000 + block->size_bytes);
				CHECK_INT(snap->traffic.data[block->stack].allocations,
					  block->size_bytes + 1);
				CHECK_INT(snap->stacks.data[block->stack].allocator, 0);
			}
	vec_foreach (block, &snap->blocks[BLOCK_KERNEL])
		if (block->stack != SNAPSHOT_NO_STACK) {
			CHECK_INT(frame_of(snap, block->stack),
				  0x9000 + block->size_bytes);
			CHECK_INT(snap->traffic.data[block->stack].allocations, 0);
			CHECK_INT(snap->stacks.data[block->stack].allocator,
				  1 + block->size_bytes % 2);
		}
	CHECK_INT(snap->traffic.len, process ? snap->stacks.len : 0);
	CHECK_INT(snap->allocators.len, 3);
	CHECK_STR(snap->allocators.data[1].label, "slab");
	CHECK_INT(snap->kernel_classes.len, 1);
	CHECK(snap->kernel_traced && !snap->heap_untraced);
	CHECK_INT(snap->totals[BLOCK_KERNEL].allocations, kernel);
	CHECK_INT(snap->losses[LOSS_PROBES_MISSED], 7);
}

/* Both get more stacks each time. Existing stacks keep their numbers. */
static void numbers_stay(void)
{
	static const struct {
		unsigned process, kernel;
	} times[] = {{2, 3}, {5, 3}, {5, 7}, {0, 0}, {6, 8}};
	uint32_t first[2][8], seen[2] = {0};
	struct snapshot_join join = {.count = 0};

	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
		_cleanup_(snapshot_destroyp) struct snapshot *snap =
			of_process(times[i].process);
		_cleanup_(snapshot_destroyp) struct snapshot *kernel =
			of_kernel(times[i].kernel);

		REQUIRE(snapshot_join(&join, snap, kernel));
		check_joined(snap, times[i].process, times[i].kernel);
		for (int k = 0; k < 2; k++) {
			enum block_class class = k ? BLOCK_KERNEL : BLOCK_MAPPING;

			vec_foreach (block, &snap->blocks[class]) {
				uint64_t which = block->size_bytes;

				if (block->stack == SNAPSHOT_NO_STACK)
					continue;
				if (which >= seen[k])
					first[k][seen[k]++] = block->stack;
				CHECK_INT(block->stack, first[k][which]);
			}
		}
	}
	CHECK_INT(join.count, 6 + 8);
	snapshot_join_deinit(&join);
}

/* No process is left. */
static void of_nobody(void)
{
	_cleanup_(snapshot_destroyp) struct snapshot *snap = snapshot_create();
	_cleanup_(snapshot_destroyp) struct snapshot *kernel = of_kernel(2);
	struct snapshot_join join = {.count = 0};

	REQUIRE(snap && snapshot_join(&join, snap, kernel));
	CHECK_INT(snap->blocks[BLOCK_KERNEL].len, 0);
	snapshot_join_deinit(&join);
}

int main(void)
{
	RUN(numbers_stay);
	RUN(of_nobody);
	return check_done();
}
