// SPDX-License-Identifier: Apache-2.0
#include "process/children.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "process/proc.h"
#include "process/procfs.h"
#include "util/cleanup.h"

struct process {
	int pid, parent;
	bool is_known; /* one of the given pids, or already found */
};

struct processes {
	VEC(struct process) list;
};

static void processes_deinit(struct processes *all)
{
	vec_deinit(&all->list);
}

/* Order by parent, then by pid. */
static int compare(const void *a, const void *b)
{
	const struct process *x = a, *y = b;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* False: the process has exited, or is a zombie. */
static bool read_stat(int pid, struct procfs_stat *ret)
{
	_cleanup_(freep) char *text = NULL;
	size_t size;

	if (procfs_read(pid, "stat", PROCFS_SMALL_BYTES, &text, &size) ||
	    !procfs_parse_stat(text, ret) || ret->state == 'X')
		return false;
	/* The main thread may have exited while other threads go on. */
	return ret->state != 'Z' || ret->thread_count > 1;
}

static bool read_process(int pid, struct process *ret)
{
	struct procfs_stat stat;

	if (!read_stat(pid, &stat))
		return false;
	*ret = (struct process){.pid = pid, .parent = stat.parent};
	return true;
}

static struct error *read_all(struct processes *all)
{
	_cleanup_(closedirp) DIR *dir = opendir("/proc");

	if (!dir)
		return error_errno(ERROR_IO, errno, "cannot list /proc");
	for (int pid; (pid = proc_next(dir));) {
		struct process process;

		if (pid == getpid() || !read_process(pid, &process))
			continue;
		if (!vec_push(&all->list, process))
			return error_no_memory();
	}
	if (all->list.len)
		qsort(all->list.data, all->list.len, sizeof(*all->list.data), compare);
	return NULL;
}

/* Pids are reused while we read, so the parents may form a cycle: is_known ends it. */
static bool add_children_of(struct processes *all, int parent, struct children *ret)
{
	for (size_t i = vec_count_up_to(&all->list, parent, parent - 1);
	     i < all->list.len && all->list.data[i].parent == parent; i++) {
		struct process *process = &all->list.data[i];

		if (!process->is_known && !vec_push(&ret->pids, process->pid))
			return false;
		process->is_known = true;
	}
	return true;
}

struct error *children_find(const int pids[], size_t count, struct children *ret)
{
	_cleanup_(processes_deinit) struct processes all = {0};
	_cleanup_(children_deinit) struct children found = {0};
	struct error *err = read_all(&all);

	if (err)
		return err;
	vec_foreach (process, &all.list)
		for (size_t i = 0; i < count; i++)
			process->is_known = process->is_known || process->pid == pids[i];
	for (size_t i = 0; i < count; i++)
		if (!add_children_of(&all, pids[i], &found))
			return error_no_memory();
	/* The loop extends the list that it walks. */
	for (size_t i = 0; i < found.pids.len; i++)
		if (!add_children_of(&all, found.pids.data[i], &found))
			return error_no_memory();
	*ret = found;
	found = (struct children){0};
	return NULL;
}

bool children_has_executed(int pid, int *parent)
{
	struct procfs_stat stat = {.parent = 0};
	bool is_there = read_stat(pid, &stat);

	if (parent)
		*parent = is_there ? stat.parent : 0;
	return is_there && !(stat.flags & PROCFS_PF_NO_EXEC);
}

void children_deinit(struct children *children)
{
	vec_deinit(&children->pids);
}
