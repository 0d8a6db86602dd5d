// SPDX-License-Identifier: Apache-2.0
/*
 * The probes of --follow-exec-of: which processes are traced, and which wait until they
 * execute a program. Tests the probes' own code (process.c), compiled for the host.
 */
#include "check.h"

#include <stdbool.h>

#include PROBES_TEXT

#if FOLLOW_EXECS_ONLY
#define FORKS_ARE_FOLLOWED false
#else
#define FORKS_ARE_FOLLOWED true
#endif

/* --- the machine ---------------------------------------------------------------------
 */

#define SUPERVISOR 1000
#define CHILD      1001
#define GRANDCHILD 1002
#define UNRELATED  2000

static struct host_context context;

struct host_process {
	struct host_task task;
	struct host_mm mm;
	struct host_signal signal;
};

static struct host_process new_process(u32 tgid)
{
	return (struct host_process){.task = {.pid = tgid, .tgid = tgid},
				     .signal.live = 1};
}

/* Run a program on a thread of the process. */
static void run(struct host_process *p, int (*program)(struct bpf_raw_tracepoint_args *),
		struct host_task *child)
{
	struct bpf_raw_tracepoint_args args = {{(uintptr_t)&p->task, (uintptr_t)child}};

	p->task.signal = &p->signal;
	context.task = &p->task;
	host_now = &context;
	program(&args);
}

static struct host_process forks(struct host_process *parent, u32 tgid)
{
	struct host_process child = new_process(tgid);

	parent->task.mm = &parent->mm;
	child.task.mm = &child.mm;
	run(parent, on_fork, &child.task);
	child.task.mm = NULL;
	return child;
}

static void vforks(struct host_process *parent, struct host_process *child)
{
	parent->task.mm = child->task.mm = &parent->mm;
	run(parent, on_fork, &child->task);
}

static void executes(struct host_process *p)
{
	p->task.mm = &p->mm;
	run(p, on_exec, NULL);
}

static void exits(struct host_process *p)
{
	p->signal.live--;
	run(p, on_process_end, NULL);
}

static bool is_traced(u32 tgid)
{
	u32 slot;

	return process_find(tgid, &slot);
}

static bool is_awaited(u32 tgid)
{
	return host_map_has(&host_map_exec_awaited, &tgid);
}

static void follow(u32 tgid, u32 how)
{
	host_map_update(&host_map_exec_awaited, &tgid, &how, 0);
}

/* A program that the supervisor has started. */
static struct host_process begin(void)
{
	struct host_process supervisor = new_process(SUPERVISOR), child;

	host_maps_reset();
	follow(SUPERVISOR, ABI_AWAITED_CHILDREN);
	child = forks(&supervisor, CHILD);
	CHECK(is_awaited(CHILD) && !is_traced(CHILD));
	executes(&child);
	CHECK(!is_awaited(CHILD) && is_traced(CHILD));
	return child;
}

/* --- tests ------------------------------------------------------------------------- */

static void what_a_supervisor_starts(void)
{
	struct host_process child = begin(), supervisor = new_process(SUPERVISOR);
	struct host_process forked = forks(&supervisor, GRANDCHILD);

	CHECK(is_traced(CHILD));
	/* It goes on with another program. */
	executes(&child);
	CHECK(is_traced(CHILD) && !is_awaited(CHILD));
	/* The supervisor executes a program: it is a supervisor still. */
	executes(&supervisor);
	CHECK(is_awaited(SUPERVISOR) && !is_traced(SUPERVISOR));
	/* A child of a child that has executed nothing. */
	forked = forks(&forked, UNRELATED);
	CHECK(is_awaited(UNRELATED));
	executes(&forked);
	CHECK(is_traced(UNRELATED));
}

static void forks_of_a_program(void)
{
	struct host_process child = begin();
	struct host_process forked = forks(&child, GRANDCHILD);

	CHECK(is_traced(GRANDCHILD) == FORKS_ARE_FOLLOWED);
	CHECK(is_awaited(GRANDCHILD) != FORKS_ARE_FOLLOWED);
	executes(&forked);
	CHECK(is_traced(GRANDCHILD));
	CHECK(!is_awaited(GRANDCHILD));
}

/* Its calls count for the program until it has a memory of its own. */
static void vforks_of_a_program(void)
{
	struct host_process child = begin(), forked = new_process(GRANDCHILD);
	u32 slot = 0, own = 0;

	CHECK(process_find(CHILD, &own) != NULL);
	vforks(&child, &forked);
	CHECK(!is_awaited(GRANDCHILD));
	CHECK(process_of_memory(GRANDCHILD, &slot) != NULL);
	CHECK_INT(slot, own);
	executes(&forked);
	CHECK(process_of_memory(GRANDCHILD, &slot) != NULL);
	CHECK(slot != own);
}

/* The same of the supervisor does not count at all. */
static void vforks_of_a_supervisor(void)
{
	struct host_process supervisor = new_process(SUPERVISOR),
			    forked = new_process(GRANDCHILD);
	u32 slot = 0;

	begin();
	vforks(&supervisor, &forked);
	CHECK(is_awaited(GRANDCHILD));
	CHECK(!process_of_memory(GRANDCHILD, &slot));
}

static void others_are_not_followed(void)
{
	struct host_process unrelated = new_process(UNRELATED), forked;

	begin();
	forked = forks(&unrelated, GRANDCHILD);
	executes(&forked);
	executes(&unrelated);
	CHECK(!is_traced(GRANDCHILD) && !is_awaited(GRANDCHILD));
	CHECK(!is_traced(UNRELATED) && !is_awaited(UNRELATED));
}

/* Its pid may belong to another process next. */
static void the_end_of_a_process(void)
{
	struct host_process supervisor = new_process(SUPERVISOR), forked;

	begin();
	forked = forks(&supervisor, GRANDCHILD);
	forked.signal.live = 2;
	exits(&forked);
	CHECK(is_awaited(GRANDCHILD));
	exits(&forked);
	CHECK(!is_awaited(GRANDCHILD));
	exits(&supervisor);
	CHECK(!is_awaited(SUPERVISOR));
	forked = forks(&supervisor, GRANDCHILD);
	executes(&forked);
	CHECK(!is_traced(GRANDCHILD));
}

static void a_thread_is_no_process(void)
{
	struct host_process supervisor = new_process(SUPERVISOR);
	struct host_task thread = {.pid = SUPERVISOR + 7, .tgid = SUPERVISOR};

	begin();
	run(&supervisor, on_fork, &thread);
	CHECK(!is_awaited(SUPERVISOR + 7) && !is_traced(SUPERVISOR));
	CHECK_INT(exec_is_awaited(SUPERVISOR), ABI_AWAITED_CHILDREN);
}

/* Without a free slot it goes on to wait, and so do its children. */
static void without_room(void)
{
	struct host_process supervisor = new_process(SUPERVISOR), forked;
	struct abi_process *slots = host_map_array(&host_map_processes);

	begin();
	forked = forks(&supervisor, GRANDCHILD);
	for (u32 i = 0; i < ABI_PROCESS_WAYS; i++)
		slots[abi_process_slot(GRANDCHILD, i, PROCESS_SLOTS)].tgid = UNRELATED;
	executes(&forked);
	CHECK(!is_traced(GRANDCHILD) && is_awaited(GRANDCHILD));
}

int main(void)
{
	RUN(what_a_supervisor_starts);
	RUN(forks_of_a_program);
	RUN(vforks_of_a_program);
	RUN(vforks_of_a_supervisor);
	RUN(others_are_not_followed);
	RUN(the_end_of_a_process);
	RUN(a_thread_is_no_process);
	RUN(without_room);
	return check_done();
}
