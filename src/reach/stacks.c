// SPDX-License-Identifier: Apache-2.0
#include "reach/stacks.h"

#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "process/procfs.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/units.h"

#define RED_ZONE_BYTES 128

/* A thread that runs is stopped for a moment if it stops within this time. */
#define STOP_NS UINT64_C(5000000)

/* The index of the mapping with `address`, or the number of mappings. */
static size_t find_mapping(const struct proc_maps *maps, uint64_t address)
{
	size_t i = vec_count_up_to(&maps->mappings, start, address);

	return i && maps->mappings.data[i - 1].end > address ? i - 1 : maps->mappings.len;
}

static struct error *cut_below(const struct proc_mapping *m, uint64_t stack_pointer,
			       struct reach_regions *regions)
{
	uint64_t used = stack_pointer - m->start > RED_ZONE_BYTES
				? stack_pointer - RED_ZONE_BYTES
				: m->start;

	return reach_regions_cut(regions, m->start, used);
}

static bool is_main_stack(const struct proc_mapping *m)
{
	return !strcmp(m->path, "[stack]");
}

struct error *reach_stacks_cut(const struct reach_threads *threads,
			       const struct proc_maps *maps,
			       struct reach_regions *regions)
{
	struct error *err = NULL;

	vec_foreach (t, &threads->list) {
		size_t i = find_mapping(maps, t->stack_pointer);
		const struct proc_mapping *m = &maps->mappings.data[i];

		if (err || i == maps->mappings.len)
			continue;
		if ((is_main_stack(m) && t->tid == threads->pid) ||
		    (t->thread_pointer > t->stack_pointer && t->thread_pointer < m->end))
			err = cut_below(m, t->stack_pointer, regions);
	}
	return err;
}

/* Is it laid out like a stack: memory above an inaccessible page? */
static bool looks_like_stack(const struct proc_maps *maps, size_t i)
{
	const struct proc_mapping *m = &maps->mappings.data[i], *below = m - 1;

	return is_main_stack(m) ||
	       (i && !*m->path && !m->shared && below->end == m->start &&
		!below->readable && !below->writable);
}

/* The stack pointer of a thread that waits in the kernel; 0: it runs. */
static uint64_t waiting_at(int pid, int tid)
{
	_cleanup_(freep) char *text = NULL;
	char name[64], *space;
	uint64_t sp = 0;
	size_t size;

	snprintf(name, sizeof(name), "task/%d/syscall", tid);
	if (procfs_read(pid, name, PROCFS_SMALL_BYTES, &text, &size))
		return 0;
	/* The last two numbers are the stack pointer and the program counter. */
	space = strrchr(text, ' ');
	if (!space)
		return 0;
	*space = '\0';
	space = strrchr(text, ' ');
	if (!space || sscanf(space + 1, "0x%" SCNx64, &sp) != 1)
		return 0;
	return sp;
}

struct error *reach_stacks_guess(int pid, const struct proc_maps *maps,
				 uint64_t deadline_ns, struct reach_regions *regions)
{
	char path[64];
	struct error *err = NULL;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);

	_cleanup_(closedirp) DIR *dir = opendir(path);

	for (struct dirent *entry; dir && !err && (entry = readdir(dir));) {
		uint64_t tid, sp, now = clock_now_ns();
		size_t i;

		if (now > deadline_ns)
			break;
		if (!units_parse_integer(entry->d_name, 1, INT_MAX, &tid))
			continue;
		sp = waiting_at(pid, (int)tid);
		if (!sp)
			sp = reach_thread_stack_pointer(pid, (int)tid, now + STOP_NS);
		i = find_mapping(maps, sp);
		if (i < maps->mappings.len && looks_like_stack(maps, i))
			err = cut_below(&maps->mappings.data[i], sp, regions);
	}
	return err;
}
