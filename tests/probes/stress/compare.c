// SPDX-License-Identifier: Apache-2.0
/* Compares the tables of the probes with the model. */
#include <string.h>

#include "check.h"
#include "probes/stress/machine.h"
#include "probes/stress/tables.h"

#include "abi_walk.h"

static void *array_of(const char *name)
{
	const struct host_map *map = host_map_find(name);

	return map ? host_map_array(map) : NULL;
}

bool machine_has_block(uint64_t key)
{
	static struct host_map *spill;
	struct live_table *live = tables_live();

	if (!spill)
		spill = host_map_find("live_spill");
	for (uint32_t i = 0; live && i < 2 * live_table_count(live); i++) {
		const struct host_map *map = host_map_of(live->part[i / 2]);
		const struct abi_live_bucket *buckets = host_map_array(map);
		const struct abi_live_bucket *b =
			&buckets[abi_live_hash(key >> 3, map->count, i % 2)];

		for (int way = 0; way < ABI_LIVE_WAYS; way++)
			if (!(key & 7) &&
			    __atomic_load_n(&b->key[way], __ATOMIC_ACQUIRE) == key >> 3)
				return true;
	}
	return host_map_has(spill, &key);
}

/* An element of a table in parts, or NULL. */
static const void *element_of(struct part_table *table, uint32_t number)
{
	int fd = part_table_part(table, number / table->part_entries);
	const struct host_map *map = fd < 0 ? NULL : host_map_of(fd);

	return map ? (const char *)host_map_array(map) +
			       number % table->part_entries * host_map_stride(map)
		   : NULL;
}

uint64_t machine_stack(uint32_t number, uint64_t *family)
{
	const struct abi_stack_head *head = element_of(&tables_stacks()->heads, number);
	const char *block;
	uint64_t hash = 0;

	*family = 0;
	if (!head || !head->check)
		return 0;
	block = element_of(&tables_stacks()->pcs, head->at / ABI_PCS_BLOCK);
	REQUIRE(block);

	for (uint32_t i = 0; i < head->depth; i++) {
		uint64_t pc;

		memcpy(&pc, block + (head->at % ABI_PCS_BLOCK + i) * 8, 8);
		hash = sim_hash(hash, pc);
	}
	*family = head->family;
	return hash;
}

static bool compare_block(struct machine *m, uint64_t key, const struct abi_block *block)
{
	const struct model_block *b = model_block(&m->model, key);
	uint64_t family;

	if (!b) {
		CHECK_FAIL("block %#" PRIx64 " is in the table, but not live", key);
		return false;
	}
	CHECK_INT(block->size_bytes, b->size_bytes);
	CHECK_INT(ABI_TID(block->thread), b->tid);
	CHECK(machine_stack(block->stack, &family) == b->stack);
	CHECK_INT(family, m->model.family[ABI_KEY_SLOT(key)]);
	return true;
}

static unsigned compare_generation(struct machine *m, const struct host_map *map)
{
	const struct abi_live_bucket *buckets = host_map_array(map);
	unsigned n = 0;

	for (uint32_t i = 0; i < map->count; i++) {
		for (int way = 0; way < ABI_LIVE_WAYS; way++) {
			const struct abi_live_entry *e = &buckets[i].entry[way];
			const struct abi_block block = {e->size_bytes, e->stack,
							e->thread, e->tick, 0};

			CHECK(buckets[i].key[way] != ABI_LIVE_CLAIMED);
			if (buckets[i].key[way])
				n += compare_block(m, buckets[i].key[way] << 3, &block);
		}
	}
	return n;
}

static void compare_blocks(struct machine *m)
{
	const struct abi_control *control = array_of("control");
	struct host_map *spill = host_map_find("live_spill");
	struct live_table *table = tables_live();
	unsigned live = 0, found = 0;
	const void *key;

	for (uint32_t g = 0; table && g < live_table_count(table); g++)
		found += compare_generation(m, host_map_of(table->part[g]));

	for (void *at = NULL; (at = host_map_next(spill, at, &key));)
		found += compare_block(m, *(const uint64_t *)key, at);
	if (host_map_find("live"))
		CHECK_INT(control->spilled_blocks, host_map_used(spill));
	for (unsigned slot = 0; slot < MODEL_SLOTS; slot++)
		for (unsigned i = 0; i < MODEL_BLOCKS; i++)
			live += m->model.block[slot][i].key != 0;
	CHECK_INT(found, live);
}

static void compare_call(struct machine *m, const struct abi_pending *p, unsigned *found)
{
	for (unsigned i = 0; i < THREADS_MAX; i++) {
		const struct model_call *c = &m->threads[i].model.call;

		if (!c->is_open || c->sp != p->sp || c->slot != p->process)
			continue;
		++*found;
		CHECK_INT(ABI_CALLER_TID(p->owner), c->tid);
		CHECK_INT(!!(p->flags & ABI_PENDING_HAS_OLD), c->old.key != 0);
		if (c->old.key) {
			CHECK(p->address == c->old.key);
			CHECK_INT(p->old.size_bytes, c->old.size_bytes);
		}
		return;
	}
	CHECK_FAIL("a call is open that has ended, at %#" PRIx64, p->sp);
}

static void compare_calls(struct machine *m)
{
	const struct abi_control *control = array_of("control");
	const struct host_map *map = host_map_find("pending");
	const struct abi_pending *slots = map ? host_map_array(map) : NULL;
	struct host_map *spill = host_map_find("pending_spill");
	unsigned found = 0, open = 0;
	const void *key;

	for (uint32_t i = 0; map && i < map->count; i++)
		if (slots[i].owner)
			compare_call(m, &slots[i], &found);
	for (void *at = NULL; (at = host_map_next(spill, at, &key));)
		compare_call(m, at, &found);
	CHECK_INT(control->spilled_pending, host_map_used(spill));
	for (unsigned i = 0; i < THREADS_MAX; i++)
		open += m->threads[i].model.call.is_open;
	CHECK_INT(found, open);
}

static void compare_counters(struct machine *m)
{
	static const struct {
		enum abi_counter counter;
		const char *name;
	} counters[] = {
		{ABI_ALLOCATIONS, "allocations"},
		{ABI_ALLOCATED_BYTES, "allocated bytes"},
		{ABI_FREES, "frees"},
		{ABI_FREED_BYTES, "freed bytes"},
		{ABI_FREES_UNKNOWN, "unknown frees"},
		{ABI_FAILURES, "failures"},
		{ABI_BLOCKS_FULL, "blocks without room"},
		{ABI_STACKS_FULL, "stacks without room"},
		{ABI_PENDING_FULL, "calls without room"},
		{ABI_CALLS_ABANDONED, "abandoned calls"},
		{ABI_READ_FAILED, "failed reads"},
		{ABI_BLOCKS_REPLACED, "replaced blocks"},
		{ABI_EVENTS_LOST, "lost events"},
		{ABI_NESTED_CALLS, "nested calls"},
		{ABI_PROCESSES_FULL, "processes without room"},
		{ABI_SCRATCH_FULL, "walks without room"},
		{ABI_ESTIMATED_ALLOCATIONS, "estimated allocations"},
		{ABI_ESTIMATED_ALLOCATED_BYTES, "estimated allocated bytes"},
		{ABI_ESTIMATED_FREES, "estimated frees"},
		{ABI_ESTIMATED_FREED_BYTES, "estimated freed bytes"},
	};
	const struct host_map *map = host_map_find("counters");
	const struct abi_counters *records = host_map_array(map);

	for (size_t i = 0; i < sizeof(counters) / sizeof(*counters); i++) {
		uint64_t sum = 0, expected = m->model.count[counters[i].counter];

		for (uint32_t cpu = 0; cpu < map->count; cpu++)
			sum += records[cpu].value[counters[i].counter];
		check_state.checks++;
		if (sum != expected)
			CHECK_FAIL("%s: %" PRIu64 ", expected %" PRIu64, counters[i].name,
				   sum, expected);
	}
}

/* --- traffic -------------------------------------------------------------------------
 */

static void compare_stacks(struct machine *m)
{
	const struct abi_control *control = array_of("control");
	const struct abi_traffic *traffic = array_of("traffic");
	unsigned counted = 0, expected = 0;

	for (uint32_t i = 0; i < control->stacks_used; i++) {
		const struct abi_flow *flow = &traffic[i].flow;
		uint64_t family, hash = machine_stack(i, &family);
		const struct model_stack *s =
			flow->allocations ? model_stack_find(&m->model, family, hash)
					  : NULL;

		if (!flow->allocations)
			continue;
		counted++;
		if (!s) {
			CHECK_FAIL("stack %u allocated nothing", i);
			continue;
		}
		CHECK_INT(flow->allocations, s->allocations);
		CHECK_INT(flow->allocated_bytes, s->allocated_bytes);
		CHECK_INT(flow->frees, s->frees);
		CHECK_INT(flow->freed_bytes, s->freed_bytes);
		CHECK_INT(flow->outstanding.live_bytes, s->live_bytes);
		if (host_map_find("live"))
			CHECK(flow->outstanding.peak_bytes >=
			      flow->outstanding.live_bytes);
	}
	for (unsigned i = 0; i < MODEL_STACKS; i++)
		expected += m->model.stacks[i].allocations != 0;
	CHECK_INT(counted, expected);
}

static void compare_processes(struct machine *m)
{
	const struct abi_process_live *live = array_of("process_live");
	const struct abi_traffic_all *all = array_of("traffic_all");
	uint64_t total = 0;

	for (unsigned slot = 0; slot < MODEL_SLOTS; slot++) {
		uint64_t bytes = 0;

		for (unsigned i = 0; i < MODEL_BLOCKS; i++)
			if (m->model.block[slot][i].key)
				bytes += m->model.block[slot][i].size_bytes;
		for (unsigned i = 0; i < THREADS_MAX; i++) {
			const struct model_call *c = &m->threads[i].model.call;

			if (c->is_open && c->old.key && c->slot == slot)
				bytes += c->old.size_bytes;
		}
		CHECK_INT(live[slot].bytes, bytes);
		total += bytes;
	}
	if (!host_map_find("heap_peak")) {
		CHECK_INT(all->traced.live_bytes, total);
		/* Without atomics peaks are not exact (probes/claim.c). */
		if (host_map_find("live"))
			CHECK(all->traced.peak_bytes >= total);
	}
	CHECK_INT(all->threads_full, 0);
}

void machine_compare(struct machine *m)
{
	compare_blocks(m);
	compare_calls(m);
	compare_counters(m);
	if (host_map_find("events"))
		machine_compare_events(m);
	if (host_programs.has_traffic) {
		compare_stacks(m);
		compare_processes(m);
	}
}

/* --- processes that have ended --------------------------------------------------------
 */

struct collected {
	struct tables tables;
	uint64_t bytes[MODEL_SLOTS], blocks[MODEL_SLOTS];
};

static void count_taken(void *arg, uint32_t slot, const struct abi_block *block)
{
	struct collected *c = arg;

	c->blocks[slot]++;
	c->bytes[slot] += block->size_bytes;
	if (c->tables.has_traffic)
		traffic_tables_count_gone(&c->tables.traffic, slot, block->size_bytes,
					  block->stack);
}

void machine_collect(struct machine *m)
{
	struct collected c = {.bytes = {0}};
	struct abi_process *slots = array_of("processes");
	const struct drain_taken taken = {count_taken, &c};
	uint64_t blocks = 0, bytes = 0;

	tables_open(&c.tables);
	for (uint32_t slot = 0; slot < MODEL_SLOTS; slot++)
		if (m->gone[slot] && c.tables.has_traffic)
			traffic_tables_end_process(&c.tables.traffic, slot);
	REQUIRE(!drain_remove_gone(&c.tables.maps, &c.tables.sizes, array_of("control"),
				   m->gone, &taken, &blocks, &bytes));
	for (uint32_t slot = 0; slot < MODEL_SLOTS; slot++) {
		if (!m->gone[slot])
			continue;

		uint64_t gone_bytes, gone = model_gone(&m->model, slot, &gone_bytes);

		for (unsigned i = 0; i < THREADS_MAX; i++)
			gone += model_end_call(&m->model, &m->threads[i].model.call, slot,
					       &gone_bytes);
		CHECK_INT(c.blocks[slot], gone);
		CHECK_INT(c.bytes[slot], gone_bytes);
		slots[slot].tgid = 0;
	}
	if (c.tables.has_traffic)
		REQUIRE(!traffic_tables_remove(&c.tables.traffic, m->gone));
	memset(m->gone, 0, sizeof(m->gone));
	tables_close(&c.tables);
}
