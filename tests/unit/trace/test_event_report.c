// SPDX-License-Identifier: Apache-2.0
/* A report of an event's hits in a process that cannot open all parts of the tables. */
#include "trace/mode_event.h"

#include <errno.h>
#include <unistd.h>

#include <linux/bpf.h>

#include "bpf/mapped.h"
#include "check.h"
#include "unit/bpf/create_map.h"
#include "snapshot/snapshot.h"

#define PART       512 /* elements in each part of `stacks` */
#define MAX_STACKS (48 * PART)
#define FEW        8192 /* elements of `event_counts` that stay mapped */

static const size_t counts_bytes = (MAX_STACKS + 1) * sizeof(uint64_t);

/* Make a report when so many stacks have a number, in another process than the owner of
 * the tables. Only the first part of each table is there. `hit`: elements of
 * `event_counts` with a hit, and 0 at the end. *hits becomes the number of hits in the
 * report. Returns whether it is settled. */
static bool report(uint64_t stacks_used, const uint32_t hit[], uint64_t *hits)
{
	char text[] = "software:page-faults";
	const int heads = create_array(sizeof(struct abi_stack_head), PART, 0);
	const int pcs = create_array(ABI_PCS_BLOCK_BYTES(1), 1, 0);
	const struct stack_maps maps = {create_array_of_maps(heads, 2),
					heads,
					create_array_of_maps(pcs, 2),
					pcs,
					-1,
					-1};
	const struct event_spec event = {
		.kind = EVENT_SOFTWARE, .text = text, .number = 1};
	struct source source = {.sizes = {.cpu_slots = 1,
					  .process_slots = 1,
					  .max_stacks = MAX_STACKS,
					  .stack_depth = 1,
					  .stacks_part = PART,
					  .stack_pcs_blocks = 1,
					  .stack_pcs_part = 1}};
	struct abi_control control = {.stacks_used = stacks_used};
	struct abi_counters counters = {{0}};
	struct event_state state = {
		.counts = create_array(sizeof(uint64_t), MAX_STACKS + 1, 0)};
	struct tracer t = {
		.mode_state = &state,
		.run = {.event = &event},
		.source = &source,
		.control = &control,
		.maps = {.class = BLOCK_EVENT,
			 .counters = &counters,
			 .pending = -1,
			 .pending_spill = -1,
			 .stacks = &t.stacks},
	};
	uint32_t process = SNAPSHOT_NO_PROCESS;
	const struct drain_slots slots = {.process = &process};
	struct snapshot *snap = snapshot_create();
	bool settled = true;
	uint64_t sum = 0;

	REQUIRE(snap);
	state.few = mapped_open(state.counts, counts_bytes);
	REQUIRE(state.few);
	for (size_t i = 0; hit[i]; i++)
		state.few[hit[i]] = 1;
	state.few[0] = 1;
	/* A report reads the others by windows. */
	mapped_close(state.few + FEW, counts_bytes - FEW * sizeof(uint64_t));
	stack_tables_open(&t.stacks, &maps, &source.sizes, &control, true);
	t.stacks.heads.owner = t.stacks.pcs.owner = -1;
	REQUIRE(!mode_event_drain(&t, &slots, snap, &settled));
	vec_foreach (row, &snap->events)
		sum += row->count;
	CHECK_INT(sum, snap->totals[BLOCK_EVENT].allocations);
	*hits = sum;
	mapped_close(state.few, FEW * sizeof(uint64_t));
	stack_tables_close(&t.stacks);
	snapshot_destroy(snap);
	const int fds[] = {heads, pcs, maps.stacks, maps.stack_pcs, state.counts};
	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
		close(fds[i]);
	return settled;
}

static bool is_settled(uint64_t stacks_used)
{
	const uint32_t none[] = {0};
	uint64_t hits;

	return report(stacks_used, none, &hits);
}

/* The hits of all stacks that have a number, and of those without a stack. */
static void all_hits_are_read(void)
{
	const uint32_t hit[] = {1, FEW - 1, FEW, FEW + 1, 2 * FEW, MAX_STACKS, 0};
	const struct {
		uint64_t stacks_used, hits;
	} cases[] = {
		{0, 1},
		{1, 2},
		{FEW - 2, 2},
		{FEW - 1, 3},
		{FEW, 4},
		{FEW + 1, 5},
		{2 * FEW - 1, 5},
		{2 * FEW, 6},
		{MAX_STACKS - 1, 6},
		{MAX_STACKS, 7},
		{MAX_STACKS + 1, 7},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint64_t hits;

		(void)report(cases[i].stacks_used, hit, &hits);
		CHECK_INT(hits, cases[i].hits);
	}
}

static void what_cannot_be_read_is_said(void)
{
	CHECK(is_settled(0));
	CHECK(is_settled(PART));
	CHECK(!is_settled(PART + 1));
}

int main(void)
{
	RUN(all_hits_are_read);
	RUN(what_cannot_be_read_is_said);
	return check_done();
}
