// SPDX-License-Identifier: Apache-2.0
/*
 * memtrace reads the tables (src/drain) while threads change them, and is interrupted
 * again and again. The snapshot must be the state of the model at the moment
 * when the journal was closed. Only the blocks of programs that were running then may
 * differ: their calls have happened or have not.
 *
 *    test_probes_reading_VARIANT [SEED [ROUNDS]]
 */
#include "check.h"

#include "probes/stress/fibers.h"
#include "probes/stress/tables.h"
#include "snapshot/snapshot.h"

#define READINGS 25
#define ACTS     150 /* between two readings */

struct expected {
	uint64_t key, size_bytes; /* key 0: no block */
	bool may_differ;
	unsigned listed; /* in the snapshot */
};

/* A reading under way. */
static struct {
	struct machine *machine;
	struct fibers *fibers;
	struct tables tables;
	struct abi_control *control;
	struct expected block[MODEL_SLOTS][MODEL_BLOCKS];
	struct snapshot *snap;
	bool settled;
} reading;

static uint64_t late_changes, journal_entries, in_flight, grown, journal_room;

/* NULL: no block of the pool. */
static struct expected *expected_at(uint64_t key)
{
	for (unsigned i = 0; i < MODEL_BLOCKS; i++)
		if (model_address(i) == ABI_KEY_ADDRESS(key))
			return &reading.block[ABI_KEY_SLOT(key)][i];
	return NULL;
}

static void expect_block(const struct model_block *b)
{
	struct expected *e;

	if (!b->key)
		return;
	e = expected_at(b->key);
	e->key = b->key;
	e->size_bytes = b->size_bytes;
}

/* Called with the journal closed to further entries, before they are applied. */
static void keep_state(void)
{
	struct machine *m = reading.machine;

	if (!reading.control->draining)
		return;
	journal_entries += reading.control->journal_used[reading.control->journal_half];
	memset(reading.block, 0, sizeof(reading.block));
	/* Blocks of calls first: a stale block of the same address is not in the table.
	 */
	for (unsigned i = 0; i < THREADS_MAX; i++)
		if (m->threads[i].model.call.is_open)
			expect_block(&m->threads[i].model.call.old);
	for (unsigned slot = 0; slot < MODEL_SLOTS; slot++)
		for (unsigned i = 0; i < MODEL_BLOCKS; i++)
			expect_block(&m->model.block[slot][i]);
	for (unsigned i = 0; i < THREADS_MAX; i++) {
		for (int k = 0; m->threads[i].program && k < 3; k++) {
			struct expected *e = expected_at(m->threads[i].touched[k]);

			if (e) {
				e->may_differ = true;
				in_flight++;
			}
		}
	}
}

static void pause_for_others(void)
{
	fibers_pause(reading.fibers);
}

static void wait_for_programs(void)
{
	uint64_t running[THREADS_MAX];

	for (unsigned i = 0; i < THREADS_MAX; i++)
		running[i] = reading.machine->threads[i].program;
	for (unsigned i = 0; i < THREADS_MAX; i++)
		while (running[i] && reading.machine->threads[i].program == running[i])
			fibers_pause(reading.fibers);
}

static void nothing_to_catch_up(void *arg)
{
	(void)arg;
}

static uint32_t same_stack(void *arg, uint32_t stack)
{
	(void)arg;
	return stack;
}

static void read_tables(void *arg)
{
	static uint32_t process[MODEL_SLOTS];
	const struct drain_slots slots = {.process = process};
	const struct tick_clock ticks = {.start_ns = 1, .tick_ns = 1 << ABI_TICK_SHIFT};
	const struct drain_resolver resolver = {nothing_to_catch_up, same_stack, NULL};

	(void)arg;
	for (uint32_t i = 0; i < MODEL_SLOTS; i++)
		process[i] = i;
	REQUIRE(!drain_blocks(&reading.tables.maps, &reading.tables.sizes,
			      reading.control, &slots, &ticks, &resolver, NULL,
			      reading.snap, &reading.settled));
}

static void compare_snapshot(void)
{
	vec_foreach (b, &reading.snap->blocks[BLOCK_HEAP]) {
		struct expected *e = expected_at(ABI_KEY(b->process, b->address));

		REQUIRE(e);
		e->listed++;
		if (e->key && !e->may_differ)
			CHECK_INT(b->size_bytes, e->size_bytes);
	}
	for (unsigned slot = 0; slot < MODEL_SLOTS; slot++) {
		for (unsigned i = 0; i < MODEL_BLOCKS; i++) {
			const struct expected *e = &reading.block[slot][i];

			check_state.checks++;
			if (e->may_differ ? e->listed > 1 : e->listed != !!e->key)
				CHECK_FAIL("block %u of slot %u is listed %u times, "
					   "and is%s live",
					   i, slot, e->listed, e->key ? "" : " not");
		}
	}
}

static uint64_t generations(void)
{
	return tables_live() ? live_table_count(tables_live()) : 0;
}

static void read_once(void)
{
	uint64_t before = generations();

	reading.snap = snapshot_create();
	REQUIRE(reading.snap);
	tables_pause = pause_for_others;
	tables_fence = wait_for_programs;
	tables_applied = keep_state;
	fibers_run_beside(reading.fibers, read_tables, NULL);
	tables_pause = tables_fence = tables_applied = NULL;
	grown += generations() > before;
	CHECK(reading.settled);
	compare_snapshot();
	snapshot_destroy(reading.snap);
}

static void run_seed(uint64_t seed)
{
	static struct machine machine;
	unsigned before = check_state.failures;

	machine_init(&machine, seed);
	/* The blocks of processes that end during a reading stay in the tables. */
	machine.model.can_be_full = true;
	reading.machine = &machine;
	reading.fibers = fibers_new(&machine, seed);
	reading.control = host_map_array(host_map_find("control"));
	tables_open(&reading.tables);
	machine_start(&machine);
	for (int i = 0; i < READINGS && check_state.failures == before; i++) {
		fibers_run(reading.fibers, ACTS);
		read_once();
		fibers_finish(reading.fibers);
		machine_collect(&machine);
		machine_compare(&machine);
		host_maps_settle();
	}
	late_changes += reading.control->late_changes;
	if (check_state.failures > before)
		fprintf(stderr, "with %s, seed %" PRIu64 "\n", host_programs.variant,
			seed);
	if (tables_journal() && tables_journal()->room[0] > journal_room)
		journal_room = tables_journal()->room[0];
	tables_close(&reading.tables);
	fibers_free(reading.fibers);
	machine_deinit(&machine);
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	int rounds = argc > 2 ? atoi(argv[2]) : argc > 1 ? 1 : 4;

	for (int i = 0; i < rounds && !check_state.failures; i++)
		run_seed(seed + (uint64_t)i);
	/* What never happened was not tested. */
	if (rounds > 1)
		CHECK(late_changes && journal_entries && in_flight);
	if (rounds > 1 && !strcmp(host_programs.variant, "growing"))
		CHECK(grown > 1 && journal_room > reading.tables.sizes.journal_entries);
	return check_done();
}
