// SPDX-License-Identifier: Apache-2.0
#include "reach/verdicts.h"

#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/saturate.h"

void reach_verdicts_deinit(struct reach_verdicts *verdicts)
{
	vec_deinit(&verdicts->list);
	vec_deinit(&verdicts->freed);
}

static bool is_lost(const struct reach_block *v)
{
	return v->verdict == REACH_LOST || v->verdict == REACH_HELD;
}

static int compare_pids(const void *a, const void *b)
{
	const struct reach_judged *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

void reach_verdicts_clear(struct reach_verdicts *verdicts, struct reach_judged judged[],
			  size_t count)
{
	size_t kept = 0, next = 0;

	if (count)
		qsort(judged, count, sizeof(*judged), compare_pids);
	vec_foreach (v, &verdicts->list) {
		while (next < count && judged[next].pid < v->pid)
			next++;
		if (next == count || judged[next].pid != v->pid ||
		    (judged[next].is_late && is_lost(v)))
			verdicts->list.data[kept++] = *v;
	}
	verdicts->list.len = kept;
}

bool reach_verdicts_add(struct reach_verdicts *verdicts,
			const struct reach_block *verdict)
{
	return vec_push(&verdicts->list, *verdict);
}

static int compare(const void *a, const void *b)
{
	const struct reach_block *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->address > y->address) - (x->address < y->address);
}

static const struct reach_block *find(const struct reach_verdicts *verdicts, size_t count,
				      int pid, uint64_t address)
{
	const struct reach_block key = {.address = address, .pid = pid};

	return count ? bsearch(&key, verdicts->list.data, count, sizeof(key), compare)
		     : NULL;
}

bool reach_verdicts_know_lost(const struct reach_verdicts *verdicts, size_t sorted,
			      int pid, uint64_t address)
{
	const struct reach_block *found = find(verdicts, sorted, pid, address);

	return found && is_lost(found);
}

void reach_verdicts_sort(struct reach_verdicts *verdicts)
{
	if (verdicts->list.len)
		qsort(verdicts->list.data, verdicts->list.len,
		      sizeof(*verdicts->list.data), compare);
}

static void add(struct snapshot_sum *sum, uint64_t bytes)
{
	sum->bytes = saturate_add(sum->bytes, bytes);
	sum->count++;
}

static void count(struct snapshot_unreachable *to, const struct reach_block *v)
{
	struct snapshot_sum *const sums[REACH_VERDICTS] = {
		[REACH_LOST] = &to->lost,
		[REACH_HELD] = &to->held,
		[REACH_POSSIBLY_LOST] = &to->possible,
		[REACH_UNVERIFIED] = &to->unverified,
	};

	add(sums[v->verdict], v->size_bytes);
}

/* Count a block that is there. */
static void count_live(struct snapshot *snap, const struct reach_block *v)
{
	uint32_t stack = snapshot_stack_index(snap, v->for_stack);

	count(&snap->search.total, v);
	if (stack != SNAPSHOT_NO_STACK)
		count(&snap->unreachable.data[stack], v);
}

static void add_freed(struct reach_freed *to, const struct reach_block *v)
{
	add(&to->all, v->size_bytes);
	if (v->verdict == REACH_HELD)
		add(&to->held, v->size_bytes);
}

/* Count a block that was freed although it was lost. */
static bool count_freed(struct reach_verdicts *verdicts, const struct reach_block *v)
{
	size_t known = verdicts->freed.len;

	if (!is_lost(v))
		return true;
	if (v->stack == SNAPSHOT_NO_STACK) {
		add_freed(&verdicts->freed_without_stack, v);
		return true;
	}
	if (v->stack >= known) {
		if (!vec_reserve(&verdicts->freed, v->stack + 1ul))
			return false;
		memset(verdicts->freed.data + known, 0,
		       (v->stack + 1ul - known) * sizeof(*verdicts->freed.data));
		verdicts->freed.len = v->stack + 1ul;
	}
	add_freed(&verdicts->freed.data[v->stack], v);
	return true;
}

/* Mark the verdicts whose blocks are in the snapshot. */
static void find_live(const struct reach_verdicts *verdicts, const struct snapshot *snap,
		      uint8_t is_live[])
{
	vec_foreach (block, &snap->blocks[BLOCK_HEAP]) {
		const struct snapshot_process *process =
			snapshot_process(snap, block->process);
		const struct reach_block *found = find(
			verdicts, verdicts->list.len,
			process && !process->exited ? process->pid : 0, block->address);

		/* Another block may have got its address. */
		if (found && found->since_ns == process->since_ns &&
		    found->stack == block->stack && found->time_ns == block->time_ns &&
		    found->size_bytes == block->size_bytes)
			is_live[found - verdicts->list.data] = 1;
	}
}

/* Does the process of the block still run the same program? */
static bool has_process(const struct snapshot *snap, const struct reach_block *v)
{
	vec_foreach (process, &snap->processes)
		if (process->pid == v->pid && process->since_ns == v->since_ns &&
		    !process->exited)
			return true;
	return false;
}

bool reach_verdicts_audit(struct reach_verdicts *verdicts, const struct snapshot *snap)
{
	_cleanup_(freep) uint8_t *is_live = calloc(verdicts->list.len + 1, 1);
	size_t kept = 0;

	if (!is_live)
		return false;
	/* A block that is not in such a snapshot may be there. */
	if (snap->inconsistent || !verdicts->list.len)
		return true;
	find_live(verdicts, snap, is_live);
	for (size_t i = 0; i < verdicts->list.len; i++) {
		const struct reach_block v = verdicts->list.data[i];

		if (is_live[i])
			verdicts->list.data[kept++] = v;
		else if (has_process(snap, &v) && !count_freed(verdicts, &v))
			return false;
	}
	verdicts->list.len = kept;
	return true;
}

static struct snapshot_unreachable freed_sums(const struct reach_freed *freed)
{
	return (struct snapshot_unreachable){.lost_but_freed = freed->all,
					     .held_but_freed = freed->held};
}

bool reach_verdicts_fill(const struct reach_verdicts *verdicts, struct snapshot *snap)
{
	size_t stacks = snap->stacks.len;

	if (!vec_reserve(&snap->unreachable, stacks + 1))
		return false;
	memset(snap->unreachable.data, 0, (stacks + 1) * sizeof(*snap->unreachable.data));
	snap->unreachable.len = stacks;
	snap->search.total = freed_sums(&verdicts->freed_without_stack);
	vec_foreach (v, &verdicts->list)
		count_live(snap, v);
	for (uint32_t i = 0; i < verdicts->freed.len; i++) {
		const struct snapshot_unreachable freed =
			freed_sums(&verdicts->freed.data[i]);
		uint32_t stack = snapshot_stack_index(snap, i);

		snapshot_unreachable_add(&snap->search.total, &freed);
		if (stack != SNAPSHOT_NO_STACK)
			snapshot_unreachable_add(&snap->unreachable.data[stack], &freed);
	}
	return true;
}
