// SPDX-License-Identifier: Apache-2.0
#include "probes/stress/machine.h"

#include <string.h>

#include "probes/stress/tables.h"
#include "unit/random.h"

#include "traffic_record.h"

#define ALLOCATOR      UINT64_C(0x7fff00000000)
#define ALLOCATOR_SIZE 0x10000
#define TRAMPOLINE     UINT64_C(0x7ffffffff000)
#define KSTACK_BYTES   8192

uint32_t sim_random(struct sim_thread *t, uint32_t limit)
{
	return (uint32_t)((random_next(&t->random) >> 32) % limit);
}

bool sim_chance(struct sim_thread *t, uint32_t one_in)
{
	return !sim_random(t, one_in);
}

/* A sampled block of up to 511 bytes stands for four. */
uint64_t sim_threshold(uint64_t size_bytes)
{
	return size_bytes < 512 ? UINT64_C(1) << 30 : UINT64_C(1) << 32;
}

static void set_samples(void)
{
	struct host_map *map = host_map_find("samples");
	struct abi_sample *samples = map ? host_map_array(map) : NULL;

	for (uint64_t size = 0; samples && size < 1u << 20; size += size < 512 ? 1 : 64) {
		uint64_t threshold = sim_threshold(size);

		samples[abi_sample_class(size)] = (struct abi_sample){
			.weight = (UINT64_C(1) << 48) / threshold,
			.threshold = threshold >> 32 ? ABI_SAMPLE_ALWAYS
						     : (uint32_t)threshold};
	}
	for (int i = 0; samples && i < ABI_SAMPLE_CLASSES; i++)
		if (!samples[i].weight)
			samples[i] = (struct abi_sample){1u << ABI_SAMPLE_WEIGHT_SHIFT,
							 ABI_SAMPLE_ALWAYS, 0};
}

/* Some offsets in a page tell the meaning of a site, others need the cookie. */
static void set_sites(void)
{
	struct host_map *map = host_map_find("sites_at");
	struct abi_site_at *sites = host_map_array(map);

	for (int fn = 0; fn < FN_COUNT; fn++) {
		uint64_t at = ALLOCATOR + (uint64_t)fn * 0x120;

		if (fn % 2 || host_programs.is_session) {
			sites[at & 4095].meaning = host_entry_site(fn);
			sites[(at + 0x40) & 4095].meaning = host_result_site(fn);
		} else {
			sites[at & 4095].meaning = ABI_SITE_SEVERAL;
		}
	}
}

static void user_point(void *arg, const char *what)
{
	struct sim_thread *t = arg;

	(void)what;
	if (t->machine->switch_away && sim_chance(t, 4))
		t->machine->switch_away(t);
	if (sim_chance(t, 64))
		tables_grow();
	host_now = &t->context;
}

void sim_program_begins(struct sim_thread *t, uint64_t one, uint64_t other)
{
	t->touched[0] = one;
	t->touched[1] = other;
	t->touched[2] = t->model.call.is_open ? t->model.call.old.key : 0;
	t->program = ++t->programs;
}

void sim_program_ends(struct sim_thread *t)
{
	t->program = 0;
}

void sim_user_point(struct sim_thread *t)
{
	struct sim_process *p = t->process;

	if (t->machine->switch_away && sim_chance(t, 2))
		t->machine->switch_away(t);
	if (p->survivor && p->survivor != t)
		longjmp(t->death, 1);
}

static void thread_init(struct machine *m, unsigned index, uint64_t seed)
{
	struct sim_thread *t = &m->threads[index];
	char *kernel_stack = host_fixed_memory(KSTACK_BYTES);

	*t = (struct sim_thread){.machine = m, .index = index, .limbo = POOL_BLOCKS};
	t->stack = host_fixed_memory(SIM_STACK_BYTES);
	t->regs = (void *)(kernel_stack + KSTACK_BYTES - sizeof(*t->regs));
	t->random = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15) + index;
	t->context = (struct host_context){
		.task = &t->task,
		.cpu = index,
		.memory_start = (uintptr_t)t->stack,
		.memory_end = (uintptr_t)t->stack + SIM_STACK_BYTES,
		.point = user_point,
		.arg = t,
	};
	snprintf(t->context.name, sizeof(t->context.name), "thread %u", index);
	t->task.pt_regs = t->regs;
}

void machine_init(struct machine *m, uint64_t seed)
{
	struct abi_control *control;
	struct abi_traffic_all *all;

	memset(m, 0, sizeof(*m));
	host_maps_reset();
	host_fixed_memory(0);
	pthread_mutex_init(&m->lock, NULL);
	m->next_pid = 1000;
	m->model.can_be_full = !strcmp(host_programs.variant, "full");
	for (unsigned i = 0; i < THREADS_MAX; i++)
		thread_init(m, i, seed);
	tables_begin();
	control = host_map_array(host_map_find("control"));
	control->enabled = 1;
	control->keeps_tids = host_programs.thread_end != NULL;
	set_sites();
	set_samples();
	all = host_programs.has_traffic ? host_map_array(host_map_find("traffic_all"))
					: NULL;
	if (all)
		all->tick_ns = 1u << ABI_TICK_SHIFT;
}

void machine_deinit(struct machine *m)
{
	tables_end();
	pthread_mutex_destroy(&m->lock);
	free(m->events);
	for (unsigned i = 0; i < THREADS_MAX; i++)
		free(m->processes[i].memory);
}

void machine_lock(struct machine *m)
{
	pthread_mutex_lock(&m->lock);
}

void machine_unlock(struct machine *m)
{
	pthread_mutex_unlock(&m->lock);
}

struct sim_thread *machine_add_thread(struct machine *m, struct sim_process *p)
{
	for (unsigned i = 0; i < THREADS_MAX; i++) {
		struct sim_thread *t = &m->threads[i];

		if (t->is_running)
			continue;
		t->is_running = true;
		t->process = p;
		t->task.tgid = p->tgid;
		t->task.pid = p->threads++ ? m->next_pid++ : p->tgid;
		t->task.mm = &p->memory->mm;
		return t;
	}
	return NULL;
}

struct sim_process *machine_add_process(struct machine *m, struct sim_memory *memory)
{
	for (unsigned i = 0; i < THREADS_MAX; i++) {
		struct sim_process *p = &m->processes[i];

		if (p->tgid)
			continue;
		*p = (struct sim_process){.tgid = m->next_pid++, .memory = memory};
		return p;
	}
	return NULL;
}

struct sim_memory *sim_memory_new(void)
{
	struct sim_memory *memory = calloc(1, sizeof(*memory));

	SIM_REQUIRE(memory);
	memory->xol.vaddr = TRAMPOLINE;
	memory->mm.xol_area = &memory->xol;
	return memory;
}

/* The code of its allocator is known. */
void sim_process_known(struct abi_process *slot)
{
	slot->allocators[0] = (struct abi_range){ALLOCATOR, ALLOCATOR + ALLOCATOR_SIZE};
	__atomic_store_n(&slot->has_ranges, 1, __ATOMIC_RELEASE);
}

struct abi_process *sim_process_slot(uint32_t tgid, uint32_t *ret)
{
	const struct host_map *map = host_map_find("processes");
	struct abi_process *slots = host_map_array(map);

	for (uint32_t i = 0; i < ABI_PROCESS_WAYS; i++) {
		*ret = abi_process_slot(tgid, i, map->count);
		if (__atomic_load_n(&slots[*ret].tgid, __ATOMIC_ACQUIRE) == tgid)
			return &slots[*ret];
	}
	return NULL;
}

/* As memtrace does for the processes that it selects. */
struct sim_thread *machine_start(struct machine *m)
{
	const struct host_map *map = host_map_find("processes");
	struct sim_memory *memory = sim_memory_new();
	struct sim_process *p = machine_add_process(m, memory);
	struct abi_process *slot;
	struct abi_control *control = host_map_array(host_map_find("control"));

	memory->slot = abi_process_slot(p->tgid, 0, map->count);
	SIM_REQUIRE(memory->slot < MODEL_SLOTS);
	slot = (struct abi_process *)host_map_array(map) + memory->slot;
	SIM_REQUIRE(!slot->tgid);
	slot->since_ns = host_ns += 2048;
	slot->family = slot->parting = ABI_FAMILY(slot->since_ns, memory->slot);
	sim_process_known(slot);
	slot->tgid = p->tgid;
	control->only_slot = memory->slot;
	m->model.family[memory->slot] = slot->family;
	return machine_add_thread(m, p);
}

/* --- what a thread does --------------------------------------------------------------
 */

static void do_something(struct sim_thread *t)
{
	static const struct {
		unsigned weight;
		void (*act)(struct sim_thread *t);
	} acts[] = {
		{400, sim_malloc}, {330, sim_free}, {120, sim_realloc}, {40, sim_resize},
		{60, sim_map},     {4, sim_fork},   {4, sim_vfork},     {3, sim_exec},
		{8, sim_clone},    {6, sim_exit},
	};
	size_t count = t->machine->keeps_threads ? 5 : sizeof(acts) / sizeof(*acts);
	uint32_t sum = 0, n;

	for (size_t i = 0; i < count; i++)
		sum += acts[i].weight;
	n = sim_random(t, sum);
	for (size_t i = 0; i < count; i++) {
		if (n < acts[i].weight) {
			acts[i].act(t);
			return;
		}
		n -= acts[i].weight;
	}
}

void sim_act(struct sim_thread *t)
{
	uint64_t top = (uintptr_t)t->stack + SIM_STACK_BYTES - 256;

	t->sp = top - 16;
	t->bp = t->sp;
	memset((void *)(uintptr_t)t->sp, 0, 16); /* the first frame: it has no caller */
	t->in_allocator = false;
	t->depth = 0;
	if (setjmp(t->home)) {
		t->model.call.is_left = t->model.call.is_open;
		sim_vfork_ends(t);
		sim_let_go_all(t);
		return;
	}
	if (setjmp(t->death)) {
		sim_vfork_ends(t);
		sim_let_go_all(t);
		sim_thread_ended(t);
		return;
	}
	sim_user_point(t);
	do_something(t);
	SIM_REQUIRE(!t->held_count);
}
