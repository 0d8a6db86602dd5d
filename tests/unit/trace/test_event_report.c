// SPDX-License-Identifier: Apache-2.0
/* A report of an event's hits in a process that cannot open all parts of the tables. */
#include "trace/mode_event.h"

#include <errno.h>
#include <unistd.h>

#include <linux/bpf.h>

#include "check.h"
#include "unit/bpf/create_map.h"
#include "snapshot/snapshot.h"

#define PART       512 /* elements in each part of `stacks` */
#define MAX_STACKS (2 * PART)

/* Whether a report is settled that another process than the owner of the tables makes
 * when so many stacks have a number. Only the first part of each table is there. */
static bool is_settled(uint64_t stacks_used)
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

	REQUIRE(snap);
	stack_tables_open(&t.stacks, &maps, &source.sizes, &control, true);
	t.stacks.heads.owner = t.stacks.pcs.owner = -1;
	REQUIRE(!mode_event_drain(&t, &slots, snap, &settled));
	stack_tables_close(&t.stacks);
	snapshot_destroy(snap);
	const int fds[] = {heads, pcs, maps.stacks, maps.stack_pcs, state.counts};
	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
		close(fds[i]);
	return settled;
}

static void what_cannot_be_read_is_said(void)
{
	CHECK(is_settled(0));
	CHECK(is_settled(PART));
	CHECK(!is_settled(PART + 1));
}

int main(void)
{
	RUN(what_cannot_be_read_is_said);
	return check_done();
}
