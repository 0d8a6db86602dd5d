// SPDX-License-Identifier: Apache-2.0
/* Calls of mmap, munmap and mremap, and the events that the probes send of them. */
#include "check.h"
#include "probes/stress/machine.h"

#define MAPS (UINT64_C(0x7e0000) << 24)

static void expect(struct sim_thread *t, struct sim_event event)
{
	struct machine *m = t->machine;

	event.tid = t->task.pid;
	machine_lock(m);
	if (m->event_count == m->event_room) {
		m->event_room = m->event_room ? 2 * m->event_room : 256;
		m->events = realloc(m->events, m->event_room * sizeof(event));
		SIM_REQUIRE(m->events);
	}
	m->events[m->event_count++] = event;
	machine_unlock(m);
}

static void expect_begin(struct sim_thread *t, const struct sim_call *c)
{
	const uint64_t *a = c->argument;

	if (c->model.fn == FN_MUNMAP)
		expect(t, (struct sim_event){ABI_EVENT_UNMAP, 0, a[0], a[1], 0, 0});
	if (c->model.fn == FN_MREMAP)
		expect(t, (struct sim_event){ABI_EVENT_REMAP, 0, a[0], a[1], a[3], 0});
}

static void expect_end(struct sim_thread *t, const struct sim_call *c, bool fails,
		       uint64_t result)
{
	uint32_t kind = c->model.fn == FN_MMAP ? ABI_EVENT_MAP : ABI_EVENT_REMAPPED;

	if (fails)
		expect(t, (struct sim_event){ABI_EVENT_FAILED, 0, 0, 0, 0, 0});
	else if (c->model.fn == FN_MUNMAP)
		expect(t, (struct sim_event){ABI_EVENT_DONE, 0, 0, 0, 0, 0});
	else
		expect(t, (struct sim_event){kind, 0, result, c->model.size_bytes, 0,
					     c->stack});
}

void sim_map(struct sim_thread *t)
{
	enum host_function fn = FN_MMAP + sim_random(t, 3);
	uint64_t size = (1 + sim_random(t, 9)) * 4096u, sp = t->sp, bp = t->bp;
	uint64_t address = MAPS + sim_random(t, 64) * 4096u, result = 0;
	struct sim_call c = {.argument = {address, size, 0, sim_random(t, 2)}};
	bool fails = sim_chance(t, 5), is_ours;

	if (!host_programs.entry[fn])
		return;
	if (fn == FN_MREMAP) {
		c.argument[2] = size + 4096;
		size = c.argument[2];
	}
	sim_enter_path(t);
	sim_begin(t, &c, fn, size, 0);
	if (c.is_tracked)
		expect_begin(t, &c);
	sim_user_point(t);
	if (fn != FN_MUNMAP)
		result = address + 4096;
	if (fails)
		/* The result of munmap is an int. */
		result = fn == FN_MUNMAP ? UINT32_MAX : UINT64_MAX;
	is_ours = c.is_tracked && t->model.call.is_open && t->model.call.id == c.model.id;
	sim_end(t, &c, result, 0);
	if (is_ours)
		expect_end(t, &c, fails, result);
	t->sp = sp;
	t->bp = bp;
}

/* The oldest expected event of a thread. */
static struct sim_event *next_of(struct machine *m, uint32_t tid)
{
	for (unsigned i = 0; i < m->event_count; i++)
		if (m->events[i].kind && m->events[i].tid == tid)
			return &m->events[i];
	return NULL;
}

void machine_compare_events(struct machine *m)
{
	struct host_map *ring = host_map_find("events");
	struct abi_event e;
	unsigned seen = 0;

	while (host_ring_take(ring, &e, sizeof(e))) {
		struct sim_event *expected = next_of(m, ABI_TID(e.thread));
		uint64_t family;

		seen++;
		if (!expected) {
			CHECK_FAIL("thread %u has no event", ABI_TID(e.thread));
			continue;
		}
		CHECK_INT(e.kind, expected->kind);
		CHECK(e.address == expected->address);
		CHECK_INT(e.size_bytes, expected->size_bytes);
		CHECK_INT(e.extra, expected->extra);
		if (expected->stack)
			CHECK(machine_stack(e.stack, &family) == expected->stack);
		expected->kind = 0;
	}
	CHECK_INT(seen, m->event_count);
	m->event_count = 0;
}
