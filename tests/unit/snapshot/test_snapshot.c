// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include <ctype.h>

#include "snapshot/snapshot.h"

static void starts_unfiltered(void)
{
	struct snapshot *snap = snapshot_create();

	REQUIRE(snap);
	CHECK_INT(snap->sampling.every, 1);
	CHECK_INT(snap->min_size_bytes, 0);
	CHECK(snap->max_size_bytes == UINT64_MAX);
	CHECK(!snap->processes.len && !snap->mappings_traced);
	CHECK_INT(snap->blocks[BLOCK_HEAP].len, 0);
	snapshot_destroy(snap);
	snapshot_destroy(NULL);
}

/* Names are keys of the JSON report: lower case and unique. */
static void names_losses(void)
{
	for (size_t i = 0; i < LOSS_COUNT; i++) {
		const char *name = loss_name((enum loss)i);

		REQUIRE(name && *name);
		for (const char *c = name; *c; c++)
			CHECK(islower(*c) || *c == '_');
		CHECK(strlen(loss_remedy((enum loss)i)) > 20);
		for (size_t j = 0; j < i; j++)
			CHECK(strcmp(name, loss_name((enum loss)j)));
	}
	CHECK_STR(loss_name(LOSS_BLOCKS_FULL), "blocks_full");
	CHECK_STR(loss_name(LOSS_STACKS_UNREADABLE), "stacks_unreadable");
	CHECK_STR(loss_name(LOSS_PROBES_MISSED), "probes_missed");
	CHECK_CONTAINS(loss_remedy(LOSS_BLOCKS_FULL), "--max-allocations");
	CHECK_CONTAINS(loss_remedy(LOSS_STACKS_FULL), "--max-stacks");
	CHECK_CONTAINS(loss_remedy(LOSS_STACKS_TRUNCATED), "--stack-depth");
}

static void sees_losses(void)
{
	struct snapshot *snap = snapshot_create();

	REQUIRE(snap);
	CHECK(!snapshot_has_losses(snap));
	for (size_t i = 0; i < LOSS_COUNT; i++) {
		snap->losses[i] = 1;
		CHECK(snapshot_has_losses(snap));
		snap->losses[i] = 0;
	}
	CHECK(!snapshot_has_losses(snap));
	snapshot_destroy(snap);
}

static void names_ends(void)
{
	CHECK_STR(stack_end_name(STACK_END_COMPLETE), "complete");
	CHECK_STR(stack_end_name(STACK_END_DEPTH), "depth");
	CHECK_STR(stack_end_name(STACK_END_NO_FRAME), "no_frame");
	CHECK_STR(stack_end_name(STACK_END_UNREADABLE), "unreadable");
}

static void finds_modules(void)
{
	struct snapshot *snap = snapshot_create();

	REQUIRE(snap);

	struct snapshot_process *process = snapshot_add_process(snap, 12);

	REQUIRE(process);
	CHECK_INT(process->pid, 12);
	CHECK_INT(process->namespace_pid, 12);
	CHECK(snapshot_process(snap, 0) == process);
	CHECK(!snapshot_process(snap, 1));
	CHECK(!snapshot_process(snap, SNAPSHOT_NO_PROCESS));
	CHECK(!snapshot_find_module(process, 0));
	/* 0x1000..0x1fff, 0x3000..0x3fff and so on: each module is followed by a hole. */
	for (uint64_t i = 0; i < 9; i++) {
		struct snapshot_module module = {
			.start = 0x1000 + i * 0x2000,
			.end = 0x2000 + i * 0x2000,
			.path = strdup("/lib/x"),
			.build_id = i % 2 ? strdup("ab") : NULL,
		};

		REQUIRE(vec_push(&process->modules, module));
	}
	for (uint64_t i = 0; i < 9; i++) {
		uint64_t start = 0x1000 + i * 0x2000;
		const struct snapshot_module *module = &process->modules.data[i];

		CHECK(snapshot_find_module(process, start) == module);
		CHECK(snapshot_find_module(process, start + 0xfff) == module);
		CHECK(!snapshot_find_module(process, start - 1));
		CHECK(!snapshot_find_module(process, start + 0x1000));
	}
	CHECK(!snapshot_find_module(process, 0));
	CHECK(!snapshot_find_module(process, UINT64_MAX));
	snapshot_destroy(snap);
}

int main(void)
{
	RUN(starts_unfiltered);
	RUN(names_losses);
	RUN(sees_losses);
	RUN(names_ends);
	RUN(finds_modules);
	return check_done();
}
