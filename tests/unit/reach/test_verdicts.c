// SPDX-License-Identifier: Apache-2.0
/* What later reports say of the blocks that a search found. */
#include "check.h"

#include "reach/verdicts.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct snapshot *, snapshot_destroy);

#define PID 100

/* A snapshot of two processes and three stacks, without blocks. */
static struct snapshot *make(void)
{
	struct snapshot *snap = snapshot_create();

	REQUIRE(snap && snapshot_add_process(snap, PID) &&
		snapshot_add_process(snap, PID + 1));
	for (int i = 0; i < 3; i++)
		REQUIRE(vec_push(&snap->stacks, (struct snapshot_stack){0}));
	return snap;
}

static void add_block(struct snapshot *snap, uint64_t address, uint32_t stack,
		      uint64_t time_ns)
{
	REQUIRE(vec_push(&snap->blocks[BLOCK_HEAP],
			 (struct snapshot_block){.address = address,
						 .size_bytes = address,
						 .time_ns = time_ns,
						 .stack = stack}));
}

static void add(struct reach_verdicts *verdicts, uint64_t address, uint32_t stack,
		uint32_t for_stack, enum reach_verdict verdict)
{
	REQUIRE(reach_verdicts_add(verdicts, &(struct reach_block){.address = address,
								   .size_bytes = address,
								   .time_ns = 1,
								   .pid = PID,
								   .stack = stack,
								   .for_stack = for_stack,
								   .verdict = verdict}));
}

static void apply(struct reach_verdicts *verdicts, struct snapshot *snap)
{
	REQUIRE(reach_verdicts_audit(verdicts, snap));
	REQUIRE(reach_verdicts_fill(verdicts, snap));
}

static void sums_are_of_the_right_stacks(void)
{
	_cleanup_(reach_verdicts_deinit) struct reach_verdicts verdicts = {0};
	_cleanup_(snapshot_destroyp) struct snapshot *snap = make();
	const struct snapshot_unreachable *u;

	add(&verdicts, 300, 1, 0, REACH_HELD);
	add(&verdicts, 100, 0, 0, REACH_LOST);
	add(&verdicts, 200, 0, 0, REACH_LOST);
	add(&verdicts, 400, 2, 2, REACH_POSSIBLY_LOST);
	add(&verdicts, 500, SNAPSHOT_NO_STACK, SNAPSHOT_NO_STACK, REACH_UNVERIFIED);
	reach_verdicts_sort(&verdicts);
	add_block(snap, 400, 2, 1);
	add_block(snap, 300, 1, 1);
	add_block(snap, 200, 0, 1);
	add_block(snap, 100, 0, 1);
	add_block(snap, 500, SNAPSHOT_NO_STACK, 1);
	add_block(snap, 600, 0, 1);
	apply(&verdicts, snap);
	u = snap->unreachable.data;
	REQUIRE(snap->unreachable.len == 3);
	CHECK_INT(u[0].lost.bytes, 300);
	CHECK_INT(u[0].lost.count, 2);
	CHECK_INT(u[0].held.bytes, 300);
	CHECK_INT(u[1].held.count, 0);
	CHECK_INT(u[2].possible.bytes, 400);
	CHECK_INT(snap->search.total.unverified.bytes, 500);
	CHECK_INT(snap->search.total.lost.count, 2);
	CHECK_INT(snap->search.total.lost_but_freed.count, 0);
}

/* Freed, or freed and another block at its address. */
static void freed_blocks_are_counted_once(void)
{
	_cleanup_(reach_verdicts_deinit) struct reach_verdicts verdicts = {0};
	_cleanup_(snapshot_destroyp) struct snapshot *snap = make(), *later = make();

	add(&verdicts, 100, 0, 0, REACH_LOST);
	add(&verdicts, 200, 1, 0, REACH_HELD);
	add(&verdicts, 300, 2, 2, REACH_POSSIBLY_LOST);
	reach_verdicts_sort(&verdicts);
	add_block(snap, 100, 0, 77);
	apply(&verdicts, snap);
	CHECK_INT(snap->unreachable.data[0].lost_but_freed.bytes, 100);
	CHECK_INT(snap->unreachable.data[1].lost_but_freed.bytes, 200);
	CHECK_INT(snap->unreachable.data[0].held_but_freed.count, 0);
	CHECK_INT(snap->unreachable.data[1].held_but_freed.bytes, 200);
	CHECK_INT(snap->unreachable.data[1].held_but_freed.count, 1);
	CHECK_INT(snap->unreachable.data[2].lost_but_freed.count, 0);
	CHECK_INT(snap->search.total.lost_but_freed.count, 2);
	CHECK_INT(snap->search.total.held_but_freed.bytes, 200);
	CHECK_INT(snap->search.total.held_but_freed.count, 1);
	CHECK_INT(snap->search.total.lost.count, 0);
	apply(&verdicts, later);
	CHECK_INT(later->search.total.lost_but_freed.count, 2);
	CHECK_INT(later->search.total.held_but_freed.count, 1);
}

/* The class is kept where the call path is not known, too. */
static void freed_blocks_without_a_stack(void)
{
	_cleanup_(reach_verdicts_deinit) struct reach_verdicts verdicts = {0};
	_cleanup_(snapshot_destroyp) struct snapshot *snap = make();

	add(&verdicts, 100, SNAPSHOT_NO_STACK, 0, REACH_LOST);
	add(&verdicts, 200, SNAPSHOT_NO_STACK, 0, REACH_HELD);
	reach_verdicts_sort(&verdicts);
	apply(&verdicts, snap);
	CHECK_INT(snap->search.total.lost_but_freed.bytes, 300);
	CHECK_INT(snap->search.total.held_but_freed.bytes, 200);
	CHECK_INT(snap->unreachable.data[0].lost_but_freed.count, 0);
}

/* Lost blocks that end with their process do not count as mistakes. An inconsistent
 * snapshot proves no mistake. */
static void ended_processes_and_unsettled_snapshots(void)
{
	_cleanup_(reach_verdicts_deinit) struct reach_verdicts verdicts = {0};
	_cleanup_(snapshot_destroyp) struct snapshot *unsettled = make(), *ended = make();

	add(&verdicts, 100, 0, 0, REACH_LOST);
	unsettled->inconsistent = true;
	apply(&verdicts, unsettled);
	CHECK_INT(unsettled->search.total.lost.count, 1);
	CHECK_INT(unsettled->search.total.lost_but_freed.count, 0);
	ended->processes.data[0].exited = true;
	apply(&verdicts, ended);
	CHECK_INT(ended->search.total.lost.count, 0);
	CHECK_INT(ended->search.total.lost_but_freed.count, 0);
}

/* An exec ends a program, and its blocks with it, but not the process. */
static void programs_that_have_executed_another(void)
{
	_cleanup_(reach_verdicts_deinit) struct reach_verdicts verdicts = {0};
	_cleanup_(snapshot_destroyp) struct snapshot *old = make(), *new = make();

	add(&verdicts, 100, 0, 0, REACH_LOST);
	add_block(old, 100, 0, 1);
	apply(&verdicts, old);
	CHECK_INT(old->search.total.lost.count, 1);
	new->processes.data[0].since_ns = 7;
	/* Of the new program, by chance. */
	add_block(new, 100, 0, 1);
	apply(&verdicts, new);
	CHECK_INT(new->search.total.lost.count, 0);
	CHECK_INT(new->search.total.lost_but_freed.count, 0);
}

static void clear(struct reach_verdicts *verdicts, int pid, bool is_late)
{
	reach_verdicts_clear(verdicts, &(struct reach_judged){pid, is_late}, 1);
}

static void a_new_search_replaces_verdicts(void)
{
	_cleanup_(reach_verdicts_deinit) struct reach_verdicts verdicts = {0};

	add(&verdicts, 100, 0, 0, REACH_LOST);
	add(&verdicts, 200, 0, 0, REACH_POSSIBLY_LOST);
	reach_verdicts_sort(&verdicts);
	CHECK(reach_verdicts_know_lost(&verdicts, 2, PID, 100));
	CHECK(!reach_verdicts_know_lost(&verdicts, 2, PID, 200));
	CHECK(!reach_verdicts_know_lost(&verdicts, 2, PID + 1, 100));
	clear(&verdicts, PID + 1, false);
	CHECK_INT(verdicts.list.len, 2);
	clear(&verdicts, PID, true);
	CHECK_INT(verdicts.list.len, 1);
	clear(&verdicts, PID, false);
	CHECK_INT(verdicts.list.len, 0);
}

/* The processes have the same order as in the search. */
static void searches_of_several_processes(void)
{
	_cleanup_(reach_verdicts_deinit) struct reach_verdicts verdicts = {0};
	struct reach_judged judged[] = {
		{PID + 3, false}, {PID + 1, true}, {PID - 1, false}};

	for (int i = 3; i >= 0; i--)
		for (uint64_t k = 0; k < 2; k++)
			REQUIRE(reach_verdicts_add(
				&verdicts,
				&(struct reach_block){.address = 100 + k,
						      .pid = PID + i,
						      .verdict = k ? REACH_POSSIBLY_LOST
								   : REACH_LOST}));
	reach_verdicts_sort(&verdicts);
	reach_verdicts_clear(&verdicts, judged, 3);
	REQUIRE(verdicts.list.len == 5);
	CHECK_INT(verdicts.list.data[1].pid, PID);
	CHECK_INT(verdicts.list.data[2].pid, PID + 1);
	CHECK_INT(verdicts.list.data[2].verdict, REACH_LOST);
	CHECK_INT(verdicts.list.data[3].pid, PID + 2);
	CHECK_INT(verdicts.list.data[4].pid, PID + 2);
	reach_verdicts_clear(&verdicts, NULL, 0);
	CHECK_INT(verdicts.list.len, 5);
}

int main(void)
{
	RUN(sums_are_of_the_right_stacks);
	RUN(freed_blocks_are_counted_once);
	RUN(freed_blocks_without_a_stack);
	RUN(ended_processes_and_unsettled_snapshots);
	RUN(programs_that_have_executed_another);
	RUN(a_new_search_replaces_verdicts);
	RUN(searches_of_several_processes);
	return check_done();
}
