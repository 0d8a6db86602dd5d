// SPDX-License-Identifier: Apache-2.0
#include "reach/scan.h"

#include <string.h>

#include "arch/registers.h"
#include "process/live_thread.h"
#include "process/procfs.h"
#include "reach/groups.h"
#include "reach/held.h"
#include "reach/roots.h"
#include "reach/stacks.h"
#include "reach/sweep.h"
#include "util/cleanup.h"
#include "util/clock.h"

#define AUXV_BYTES ((size_t)64 << 10)

/* A number that changes with an exec: a checksum (FNV-1a) of the auxiliary vector, which
 * has addresses that the kernel chooses anew. 0: the process has exited. */
static uint64_t image_of(int pid)
{
	struct live_thread live = live_thread_begin(pid);
	_cleanup_(freep) char *bytes = NULL;
	uint64_t sum = UINT64_C(0xcbf29ce484222325);
	size_t size;

	do {
		freep(&bytes);
		bytes = NULL;
		if (procfs_read(live.tid, "auxv", AUXV_BYTES, &bytes, &size))
			size = 0;
	} while (!size && live_thread_retry(&live));
	if (!size)
		return 0;
	for (size_t i = 0; i < size; i++)
		sum = (sum ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
	return sum;
}

static struct error *gone(int pid)
{
	return error_create(ERROR_GONE,
			    "process %d has exited, or executed another program", pid);
}

/* The index, the marks and the memory of one part of the search. */
struct part {
	struct reach_memory memory;
	struct proc_maps maps;
	struct reach_regions regions;
	struct reach_blocks blocks;
	struct reach_marks marks;
};

/* Read the mappings, through another thread if the one that was used has exited: it has
 * none then. */
static struct error *read_ranges(struct part *part)
{
	struct error *err;
	bool again;

	do {
		proc_maps_deinit(&part->maps);
		err = proc_read_ranges(part->memory.live.tid, &part->maps);
		again = (err || !part->maps.mappings.len) &&
			live_thread_retry(&part->memory.live);
		if (again)
			error_destroy(err);
	} while (again);
	return err;
}

static void part_deinit(struct part *part)
{
	reach_memory_close(&part->memory);
	proc_maps_deinit(&part->maps);
	reach_regions_deinit(&part->regions);
	reach_blocks_deinit(&part->blocks);
	reach_marks_deinit(&part->marks);
}

static struct error *part_init(struct part *part, int pid,
			       const struct reach_words *words,
			       const struct reach_table *table, uint64_t deadline_ns)
{
	struct error *err = reach_memory_open(pid, &part->memory);

	part->memory.deadline_ns = deadline_ns;
	if (!err)
		err = read_ranges(part);
	if (!err)
		err = reach_regions_init(&part->maps, part->memory.live.tid,
					 &part->regions);
	if (!err)
		err = reach_blocks_init(table->start, table->end, table->count,
					&part->blocks);
	if (!err)
		err = reach_marks_init(&part->blocks, words, &part->marks);
	part->marks.is_whole = table->is_whole;
	return err;
}

static void copy_levels(const struct part *part, const struct reach_table *table)
{
	if (table->count)
		memcpy(table->level, part->marks.level, table->count);
}

/* Why the marks are not valid, or NULL. */
static struct error *check(const struct part *part, int pid)
{
	if (part->marks.no_memory)
		return error_no_memory();
	if (part->memory.is_denied)
		return reach_threads_refused(pid);
	return part->memory.is_gone ? gone(pid) : NULL;
}

static struct error *check_image(const struct reach_target *target)
{
	return target->image && image_of(target->pid) == target->image
		       ? NULL
		       : gone(target->pid);
}

struct error *reach_scan_first(struct reach_target *target,
			       const struct reach_words *words, struct reach_table *table,
			       uint64_t deadline_ns, struct reach_effort *ret)
{
	_cleanup_(part_deinit) struct part part = {.memory.pagemap = -1};
	uint64_t began_ns = clock_now_ns();
	struct error *err;

	/* Before the mappings are read: if the process executes another program after
	 * that, the image differs when it is compared. */
	target->image = image_of(target->pid);
	err = part_init(&part, target->pid, words, table, deadline_ns);
	if (!err)
		err = reach_stacks_guess(target->pid, &part.maps, deadline_ns,
					 &part.regions);
	if (err)
		return err;
	part.memory.progress = target->progress;
	part.memory.progress_arg = target->arg;
	reach_marks_remember(&part.marks);
	reach_memory_sweep(&part.memory, &part.regions, &part.marks);
	reach_memory_flood(&part.memory, &part.marks);
	copy_levels(&part, table);
	ret->read_bytes = part.memory.read_bytes;
	ret->took_ns = clock_now_ns() - began_ns;
	ret->is_late = part.memory.is_late;
	err = check(&part, target->pid);
	return err ? err : check_image(target);
}

struct error *reach_scan_stop(struct reach_target *target, uint64_t deadline_ns)
{
	struct error *err;

	target->stopped_ns = clock_now_ns();
	target->let_go_ns = 0;
	err = reach_threads_stop(target->pid, deadline_ns, &target->threads);
	if (err)
		return err;
	err = check_image(target);
	if (err)
		reach_threads_release(&target->threads);
	return err;
}

void reach_scan_let_go(struct reach_target *target)
{
	if (!target->threads.list.len || target->let_go_ns)
		return;
	reach_threads_continue(&target->threads);
	target->let_go_ns = clock_now_ns();
}

void reach_scan_release(struct reach_target *target)
{
	reach_threads_release(&target->threads);
	if (target->released)
		target->released(target->arg);
}

/* Other C libraries than glibc have something else there, which does no harm: no pointer
 * looks as if it were mangled by it. */
static void read_guard(struct part *part, const struct reach_threads *threads)
{
	uint64_t guard;

	vec_foreach (t, &threads->list)
		if (ARCH_GUARD_OFFSET && t->thread_pointer &&
		    live_thread_read(threads->pid, t->thread_pointer + ARCH_GUARD_OFFSET,
				     &guard, sizeof(guard))) {
			part->marks.words.guard = guard;
			return;
		}
}

/* Everything that needs the target to be stopped. */
static struct error *look(struct part *part, struct reach_target *target,
			  uint64_t deadline_ns, struct reach_effort *ret)
{
	struct error *err;

	reach_threads_find(&target->threads);
	read_guard(part, &target->threads);
	err = reach_stacks_cut(&target->threads, &part->maps, part->marks.words.guard,
			       deadline_ns, &part->regions);
	if (err)
		return err;
	if (part->marks.is_whole)
		err = reach_roots_keep(&target->threads, &part->blocks, &part->regions);
	if (err)
		return err;
	if (!reach_threads_scan(&target->threads, deadline_ns, &part->marks) ||
	    !reach_held_scan(target->pid, &part->maps, deadline_ns, &part->marks,
			     &ret->has_rings))
		part->memory.is_late = true;
	reach_sweep(&part->memory, &part->regions, &part->marks);
	reach_memory_flood(&part->memory, &part->marks);
	err = check(part, target->pid);
	/* Of a process that has been killed, the kernel says that no page was written. */
	return err ? err : check_image(target);
}

/* The process went on before it could be verified. */
static void be_late(struct reach_target *target, struct reach_effort *ret)
{
	ret->threads = (uint32_t)target->threads.list.len;
	ret->pause_ns = ret->took_ns = target->let_go_ns - target->stopped_ns;
	ret->is_late = true;
	reach_scan_release(target);
}

/* All candidates have been freed meanwhile. */
static void let_go_unsearched(struct reach_target *target, struct reach_effort *ret)
{
	ret->threads = (uint32_t)target->threads.list.len;
	reach_scan_release(target);
	ret->pause_ns = ret->took_ns = clock_now_ns() - target->stopped_ns;
}

/* Group what is lost, while the process runs. */
static struct error *group(struct part *part, const struct reach_target *target,
			   struct reach_table *table, struct reach_effort *ret)
{
	_cleanup_(reach_groups_deinit) struct reach_groups groups = {0};
	struct error *err;

	part->memory.deadline_ns = 0;
	part->memory.progress = target->progress;
	part->memory.progress_arg = target->arg;
	err = reach_groups_init(&part->marks, &part->memory, &groups);
	if (!err)
		err = check(part, target->pid);
	ret->is_late = part->memory.is_late;
	if (err || ret->is_late)
		return err;
	copy_levels(part, table);
	for (uint32_t i = 0; i < table->count; i++)
		table->head[i] = groups.head[i];
	return NULL;
}

struct error *reach_scan_verify(struct reach_target *target,
				const struct reach_words *words,
				struct reach_table *table, uint64_t deadline_ns,
				struct reach_effort *ret)
{
	_cleanup_(part_deinit) struct part part = {.memory.pagemap = -1};
	struct error *err;

	if (target->let_go_ns) {
		be_late(target, ret);
		return NULL;
	}
	if (!table->count) {
		let_go_unsearched(target, ret);
		return NULL;
	}
	err = part_init(&part, target->pid, words, table, deadline_ns);
	ret->threads = (uint32_t)target->threads.list.len;
	for (uint32_t i = 0; !err && table->is_whole && i < table->count; i++)
		part.marks.level[i] = table->level[i];
	if (!err)
		err = look(&part, target, deadline_ns, ret);
	reach_scan_release(target);
	ret->pause_ns = clock_now_ns() - target->stopped_ns;
	ret->is_late = part.memory.is_late;
	ret->read_bytes = part.memory.read_bytes;
	if (!err && !ret->is_late)
		err = group(&part, target, table, ret);
	ret->took_ns = clock_now_ns() - target->stopped_ns;
	return err;
}
