// SPDX-License-Identifier: Apache-2.0
#include "snapshot/file_check.h"

#include <math.h>
#include <string.h>

#include "snapshot/file_chunks.h"

/* More than the number of processes that can be traced at once. */
#define PROCESSES_MAX 65536

/* Is `index` below `count`, or equal to `none`? */
static bool is_index(uint32_t index, size_t count, uint32_t none)
{
	return index < count || index == none;
}

static struct error *place_modules(struct file_content *content)
{
	struct snapshot *snap = &content->snap;

	vec_foreach (row, &content->modules) {
		struct snapshot_process *process;

		if (row->process >= snap->processes.len)
			return file_damaged("a module has an invalid process");
		if (!row->module.path || row->module.start >= row->module.end)
			return file_damaged("a module has no path or no size");
		process = &snap->processes.data[row->process];
		if (process->modules.len &&
		    process->modules.data[process->modules.len - 1].end >
			    row->module.start)
			return file_damaged("modules are not in order");
		if (!vec_push(&process->modules, row->module))
			return error_no_memory();
	}
	return NULL;
}

/* Copy losses by name. Losses that this version does not know are dropped. */
static void place_losses(struct file_content *content)
{
	vec_foreach (row, &content->losses) {
		size_t i = 0;

		while (i < LOSS_COUNT &&
		       (!row->name || strcmp(row->name, loss_name((enum loss)i))))
			i++;
		if (i < LOSS_COUNT)
			content->snap.losses[i] = row->count;
	}
}

static struct error *place_ends(struct file_content *content)
{
	/* Indexed by the number in the file. Unknown ends count as unreadable stacks. */
	uint8_t ends[UINT8_MAX + 1];

	memset(ends, STACK_END_UNREADABLE, sizeof(ends));
	for (size_t i = 0; i < content->ends.len && i < sizeof(ends); i++) {
		const char *name = content->ends.data[i].name;

		for (int k = 0; name && k < STACK_END_COUNT; k++) {
			if (!strcmp(name, stack_end_name((enum stack_end)k)))
				ends[i] = (uint8_t)k;
		}
	}
	vec_foreach (stack, &content->snap.stacks) {
		if (stack->end >= content->ends.len)
			return file_damaged("a stack has no known end");
		stack->end = ends[stack->end];
	}
	return NULL;
}

static struct error *check_run(const struct snapshot *snap)
{
	if (!snap->sampling.every)
		return file_damaged("one allocation in 0 was sampled");
	if (!snap->processes.len && (snap->stacks.len || snap->threads.len))
		return file_damaged("it has stacks of no process");
	if (snap->processes.len > PROCESSES_MAX ||
	    snap->before.processes[BLOCK_HEAP].len > PROCESSES_MAX ||
	    snap->before.processes[BLOCK_MAPPING].len > PROCESSES_MAX ||
	    snap->before.processes[BLOCK_KERNEL].len > PROCESSES_MAX)
		return file_damaged("it has too many processes");
	vec_foreach (process, &snap->processes) {
		if (process->pid < 0)
			return file_damaged("a process has a negative number");
	}
	vec_foreach (kind, &snap->kernel_classes) {
		if (!kind->name)
			return file_damaged("a kind of the kernel's memory has no name");
	}
	vec_foreach (allocator, &snap->allocators) {
		if (!allocator->label || !allocator->module)
			return file_damaged("an allocator has no name");
	}
	return NULL;
}

static struct error *check_stacks(const struct snapshot *snap)
{
	vec_foreach (stack, &snap->stacks) {
		if (stack->first_frame > snap->frames.len ||
		    stack->depth > snap->frames.len - stack->first_frame)
			return file_damaged("a stack has frames that are not there");
		if (stack->gap && stack->gap >= stack->depth)
			return file_damaged("a stack lacks frames where it has none");
		if (!is_index(stack->process, snap->processes.len, SNAPSHOT_NO_PROCESS))
			return file_damaged("a stack has an invalid process");
	}
	for (size_t i = 0; i < BLOCK_CLASS_COUNT; i++) {
		vec_foreach (block, &snap->blocks[i]) {
			if (!is_index(block->stack, snap->stacks.len, SNAPSHOT_NO_STACK))
				return file_damaged("a block has an invalid stack");
			if (!is_index(block->process, snap->processes.len,
				      SNAPSHOT_NO_PROCESS))
				return file_damaged("a block has an invalid process");
		}
	}
	return NULL;
}

static bool is_finite(double a, double b)
{
	return isfinite(a) && isfinite(b);
}

static struct error *check_held(const struct snapshot *snap)
{
	for (size_t i = 0; i < BLOCK_EVENT; i++) {
		size_t count = snap->held[i].len;

		if (count && count != snap->stacks.len + 1)
			return file_damaged("it does not have the sum of each stack");
		vec_foreach (sum, &snap->held[i])
			if (!is_finite(sum->estimated_bytes, sum->estimated_count) ||
			    sum->estimated_bytes < 0 || sum->estimated_count < 0)
				return file_damaged("an estimate is not a number");
	}
	return NULL;
}

static struct error *check_measures(const struct snapshot *snap)
{
	size_t stacks = snap->stacks.len;

	if ((snap->traffic.len && snap->traffic.len != stacks) ||
	    (snap->lifetimes.len && snap->lifetimes.len != stacks) ||
	    (snap->path_sizes.len && snap->path_sizes.len != stacks) ||
	    (snap->at_peak.len && snap->at_peak.len != stacks) ||
	    (snap->unreachable.len && snap->unreachable.len != stacks))
		return file_damaged("it does not have the traffic of each stack");
	for (size_t i = 0; i < BLOCK_CLASS_COUNT; i++) {
		if (snap->trends[i].len && snap->trends[i].len != stacks)
			return file_damaged("it does not have the trend of each stack");
		vec_foreach (trend, &snap->trends[i]) {
			if (!is_finite(trend->slope_bytes_per_s, trend->determination))
				return file_damaged("a trend is not a number");
		}
		vec_foreach (sum, &snap->before.stacks[i]) {
			if (!is_finite(sum->estimated_bytes, sum->estimated_count) ||
			    sum->estimated_bytes < 0 || sum->estimated_count < 0)
				return file_damaged("an estimate is not a number");
		}
	}
	vec_foreach (thread, &snap->threads) {
		if (thread->process >= snap->processes.len)
			return file_damaged("a thread has an invalid process");
	}
	return NULL;
}

static bool is_ordered(const struct snapshot_name *a, const struct snapshot_name *b)
{
	return a->process != b->process ? a->process < b->process
					: a->address < b->address;
}

static struct error *check_names(const struct snapshot *snap)
{
	size_t texts = snap->strings.starts.len;
	const struct snapshot_name *last = NULL;

	vec_foreach (name, &snap->names) {
		if (name->process >= snap->processes.len)
			return file_damaged("a name has an invalid process");
		if (last && !is_ordered(last, name))
			return file_damaged("names are not in order");
		if (!is_index(name->symbol, texts, STRING_NONE) ||
		    !is_index(name->module, texts, STRING_NONE))
			return file_damaged("a name has no text");
		if (name->first_source > snap->sources.len ||
		    name->source_count > snap->sources.len - name->first_source)
			return file_damaged("a name has lines that are not there");
		last = name;
	}
	vec_foreach (source, &snap->sources) {
		if (!is_index(source->function, texts, STRING_NONE) ||
		    !is_index(source->file, texts, STRING_NONE))
			return file_damaged("a line has no text");
	}
	return NULL;
}

struct error *file_check(struct file_content *content)
{
	struct error *err = place_modules(content);

	place_losses(content);
	if (!err)
		err = place_ends(content);
	if (!err)
		err = check_run(&content->snap);
	if (!err)
		err = check_stacks(&content->snap);
	if (!err)
		err = check_held(&content->snap);
	if (!err)
		err = check_measures(&content->snap);
	return err ? err : check_names(&content->snap);
}
