// SPDX-License-Identifier: Apache-2.0
/* Threads and processes that begin and end. */
#include <string.h>

#include "check.h"
#include "host_bpf/tracepoint.h"
#include "probes/stress/machine.h"

#include "traffic_record.h"

static void run(struct sim_thread *t, int (*program)(struct bpf_raw_tracepoint_args *ctx),
		const void *parent, const void *child)
{
	struct bpf_raw_tracepoint_args args = {{(uintptr_t)parent, (uintptr_t)child}};

	host_now = &t->context;
	sim_program_begins(t, 0, 0);
	if (program)
		program(&args);
	sim_program_ends(t);
}

/* A process has got a slot by a probe. Returns false if it got none. */
static bool takes_slot(struct machine *m, struct sim_process *p)
{
	uint32_t slot = 0;
	struct abi_process *record = sim_process_slot(p->tgid, &slot);

	if (!record) {
		m->model.count[ABI_PROCESSES_FULL]++;
		return false;
	}
	CHECK(slot < MODEL_SLOTS && record->family);
	m->model.family[slot] = record->family;
	sim_process_known(record);
	if (!record->lender)
		p->memory->slot = slot;
	return true;
}

/* memtrace notices that the process has ended. */
static void retire(struct machine *m, uint32_t slot)
{
	struct abi_process *slots = host_map_array(host_map_find("processes"));

	slots[slot].tgid |= ABI_PROCESS_RETIRED;
	m->gone[slot] = true;
}

void sim_clone(struct sim_thread *t)
{
	struct sim_thread *child;

	if (t->process->survivor)
		return;
	child = machine_add_thread(t->machine, t->process);
	if (child)
		run(t, host_programs.fork, &t->task, &child->task);
}

static void copy_pool(struct sim_memory *to, const struct sim_memory *from)
{
	for (int i = 0; i < POOL_BLOCKS; i++)
		to->pool[i] = from->pool[i] == POOL_FREE ? POOL_FREE : POOL_USED;
	to->maps = from->maps;
}

/* A process without a thread, for a child of `t`. */
static struct sim_process *child_of(struct sim_thread *t, struct sim_memory *memory)
{
	struct sim_process *p =
		host_programs.fork ? machine_add_process(t->machine, memory) : NULL;

	if (p)
		p->threads = 0;
	return p;
}

static bool has_free_thread(const struct machine *m)
{
	for (unsigned i = 0; i < THREADS_MAX; i++)
		if (!m->threads[i].is_running)
			return true;
	return false;
}

void sim_fork(struct sim_thread *t)
{
	struct machine *m = t->machine;
	struct sim_memory *memory;
	struct sim_process *p;
	struct sim_thread *child;

	if (!has_free_thread(m) || !host_programs.fork)
		return;
	memory = sim_memory_new();
	p = child_of(t, memory);
	child = p ? machine_add_thread(m, p) : NULL;
	if (!child) {
		free(memory);
		return;
	}
	/* It does not run before the program has ended. */
	child->is_held_back = true;
	copy_pool(memory, t->process->memory);
	run(t, host_programs.fork, &t->task, &child->task);
	child->is_held_back = false;
	if (!takes_slot(m, p)) {
		child->is_running = false;
		p->tgid = 0;
		p->memory = NULL;
		free(memory);
	}
}

/* The address space is replaced. Returns false if the process is not traced any more. */
static bool replace_program(struct sim_thread *t)
{
	struct machine *m = t->machine;
	struct sim_process *p = t->process;
	const struct host_map *map = host_map_find("process_live");
	const struct abi_process_live *live = map ? host_map_array(map) : NULL;

	m->gone[p->memory->slot] = true;
	run(t, host_programs.exec, NULL, NULL);
	if (live)
		CHECK_INT(live[p->memory->slot].bytes, 0);
	return takes_slot(m, p);
}

void sim_exec(struct sim_thread *t)
{
	struct sim_process *p = t->process;

	if (p->survivor)
		return;
	p->survivor = t;
	while (p->threads > 1 && t->machine->switch_away)
		t->machine->switch_away(t);
	REQUIRE(p->threads == 1);
	p->survivor = NULL;
	memset(p->memory->pool, POOL_FREE, POOL_BLOCKS);
	memset(p->memory->shares, 0, POOL_BLOCKS);
	t->limbo = POOL_BLOCKS;
	t->task.pid = p->tgid;
	if (!replace_program(t))
		longjmp(t->death, 1);
}

void sim_vfork_ends(struct sim_thread *t)
{
	struct sim_process *child = t->vforked;
	uint32_t slot = 0;

	if (!child)
		return;
	CHECK(sim_process_slot(child->tgid, &slot) != NULL);
	retire(t->machine, slot);
	t->task = t->parent_task;
	t->vforked = NULL;
	child->tgid = 0;
	child->memory = NULL;
}

/* The child uses the parent's memory until it executes a program or exits, and the parent
 * waits. So the thread here stands for both. */
void sim_vfork(struct sim_thread *t)
{
	struct sim_process *child = child_of(t, t->process->memory);
	struct host_task task = t->task;

	if (!child)
		return;
	task.tgid = task.pid = child->tgid;
	run(t, host_programs.fork, &t->task, &task);
	if (!takes_slot(t->machine, child)) {
		child->tgid = 0;
		child->memory = NULL;
		return;
	}
	t->parent_task = t->task;
	t->vforked = child;
	t->task = task;
	for (uint32_t i = sim_random(t, 4); i; i--) {
		sim_malloc(t);
		sim_free(t);
	}
	sim_vfork_ends(t);
}

void sim_exit(struct sim_thread *t)
{
	/* The last thread goes on, or nothing would be left to do. */
	unsigned running = 0;

	for (unsigned i = 0; i < THREADS_MAX; i++)
		running += t->machine->threads[i].is_running;
	if (running > 1 && !t->process->survivor)
		longjmp(t->death, 1);
}

void sim_thread_ended(struct sim_thread *t)
{
	struct machine *m = t->machine;
	struct sim_process *p = t->process;

	run(t, host_programs.thread_end, NULL, NULL);
	t->is_running = false;
	t->limbo = POOL_BLOCKS;
	if (--p->threads)
		return;
	retire(m, p->memory->slot);
	free(p->memory);
	p->memory = NULL;
	p->tgid = 0;
}
