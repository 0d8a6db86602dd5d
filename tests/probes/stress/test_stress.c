// SPDX-License-Identifier: Apache-2.0
/*
 * The probes' accounting against a plain model: threads of several processes allocate,
 * free, fork, execute programs, leave calls by longjmp() and in signal handlers, and end
 * within calls. They are interrupted anywhere, also in the middle of the probes. All
 * follows from a seed:
 *
 *    test_probes_stress_VARIANT [SEED [ROUNDS]]
 */
#include "check.h"

#include "probes/stress/fibers.h"
#include "probes/stress/tables.h"

#define CHECKPOINTS 40
#define ACTS        400 /* between two checkpoints */

/* Losses and the like in all seeds: what never happened was not tested. */
static uint64_t happened[ABI_COUNTER_COUNT];
static uint32_t generations, parts;

static void run_seed(uint64_t seed)
{
	static struct machine machine;
	unsigned before = check_state.failures;
	struct fibers *fibers;

	machine_init(&machine, seed);
	fibers = fibers_new(&machine, seed);
	machine_start(&machine);
	for (int i = 0; i < CHECKPOINTS && check_state.failures == before; i++) {
		fibers_run(fibers, ACTS);
		fibers_finish(fibers);
		machine_collect(&machine);
		machine_compare(&machine);
		host_maps_settle();
	}
	if (check_state.failures > before)
		fprintf(stderr, "with %s, seed %" PRIu64 "\n", host_programs.variant,
			seed);
	if (tables_live() && live_table_count(tables_live()) > generations)
		generations = live_table_count(tables_live());
	if (tables_stacks()->heads.known > parts)
		parts = tables_stacks()->heads.known;
	for (int i = 0; i < ABI_COUNTER_COUNT; i++)
		happened[i] += machine.model.count[i];
	fibers_free(fibers);
	machine_deinit(&machine);
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	int rounds = argc > 2 ? atoi(argv[2]) : argc > 1 ? 1 : 8;

	for (int i = 0; i < rounds && !check_state.failures; i++)
		run_seed(seed + (uint64_t)i);
	if (rounds > 1) {
		CHECK(happened[ABI_FREES] && happened[ABI_FREES_UNKNOWN]);
		CHECK(happened[ABI_FAILURES] && happened[ABI_NESTED_CALLS]);
		CHECK(happened[ABI_CALLS_ABANDONED] && happened[ABI_BLOCKS_REPLACED]);
		CHECK_INT(!happened[ABI_BLOCKS_FULL],
			  strcmp(host_programs.variant, "full") != 0);
		CHECK_INT(generations > 3, strcmp(host_programs.variant, "growing") == 0);
		CHECK(parts > 3 || strcmp(host_programs.variant, "growing") != 0);
	}
	return check_done();
}
