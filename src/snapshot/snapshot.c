// SPDX-License-Identifier: Apache-2.0
#include "snapshot/snapshot.h"

#include <stdlib.h>

#include "util/saturate.h"

struct snapshot *snapshot_create(void)
{
	struct snapshot *snap = calloc(1, sizeof(*snap));

	if (!snap)
		return NULL;
	snap->sampling.every = 1;
	snap->max_size_bytes = UINT64_MAX;
	return snap;
}

/* Free a string, unless it is in the string table of a snapshot from a file. */
static void text_free(const struct snapshot *snap, char *text)
{
	if (!string_table_owns(&snap->strings, text))
		free(text);
}

static void process_deinit(const struct snapshot *snap, struct snapshot_process *process)
{
	vec_foreach (module, &process->modules) {
		text_free(snap, module->path);
		text_free(snap, module->build_id);
	}
	vec_deinit(&process->modules);
	text_free(snap, process->command);
	text_free(snap, process->executable);
}

static void names_deinit(struct snapshot *snap)
{
	vec_deinit(&snap->names);
	vec_deinit(&snap->sources);
	for (size_t i = 0; i < BLOCK_CLASS_COUNT; i++) {
		vec_deinit(&snap->before.stacks[i]);
		vec_deinit(&snap->before.processes[i]);
	}
	vec_deinit(&snap->before.traffic);
	/* Last: text_free() uses it. */
	string_table_deinit(&snap->strings);
}

void snapshot_destroy(struct snapshot *snap)
{
	if (!snap)
		return;
	for (size_t i = 0; i < BLOCK_CLASS_COUNT; i++)
		vec_deinit(&snap->blocks[i]);
	for (size_t i = 0; i < BLOCK_EVENT; i++)
		vec_deinit(&snap->held[i]);
	vec_foreach (process, &snap->processes)
		process_deinit(snap, process);
	vec_deinit(&snap->processes);
	vec_foreach (allocator, &snap->allocators) {
		text_free(snap, allocator->label);
		text_free(snap, allocator->module);
	}
	vec_deinit(&snap->allocators);
	vec_deinit(&snap->events);
	free(snap->event);
	vec_foreach (kind, &snap->kernel_classes)
		text_free(snap, kind->name);
	vec_deinit(&snap->kernel_classes);
	vec_deinit(&snap->stacks);
	vec_deinit(&snap->frames);
	vec_deinit(&snap->traffic);
	vec_deinit(&snap->at_peak);
	vec_deinit(&snap->unreachable);
	vec_deinit(&snap->lifetimes);
	vec_deinit(&snap->path_sizes);
	for (size_t i = 0; i < BLOCK_CLASS_COUNT; i++)
		vec_deinit(&snap->trends[i]);
	vec_foreach (thread, &snap->threads)
		text_free(snap, thread->name);
	vec_deinit(&snap->threads);
	vec_deinit(&snap->moments);
	text_free(snap, snap->library);
	text_free(snap, snap->cause);
	names_deinit(snap);
	free(snap);
}

static const struct {
	const char *name, *remedy;
} losses[LOSS_COUNT] = {
	[LOSS_BLOCKS_FULL] = {"blocks_full",
			      "blocks were not tracked, because their table was full or "
			      "did not grow in time: raise --max-allocations"},
	[LOSS_STACKS_FULL] =
		{"stacks_full",
		 "blocks are counted without their stack, because the table of stacks "
		 "was full or did not grow in time: raise --max-stacks"},
	[LOSS_STACKS_PREEMPTED] =
		{"stacks_preempted",
		 "blocks are counted without their stack, because too many threads were "
		 "preempted while their stack was unwound"},
	[LOSS_PENDING_FULL] =
		{"pending_full",
		 "calls were not tracked, because too many threads were inside "
		 "calls at once: the numbers are too low"},
	[LOSS_CALLS_ABANDONED] = {"calls_abandoned",
				  "calls never returned (longjmp, exception or thread "
				  "exit): a block they made is not listed"},
	[LOSS_READ_FAILED] = {"read_failed",
			      "results could not be read from the target's memory: "
			      "their blocks are not listed"},
	[LOSS_BLOCKS_REPLACED] =
		{"blocks_replaced",
		 "addresses were allocated again without a free in between: the target "
		 "frees them with a function that has no probe"},
	[LOSS_STACKS_UNREADABLE] = {"stacks_unreadable",
				    "stacks were cut short at memory that could not be "
				    "read: they lack their outer callers"},
	[LOSS_STACKS_TRUNCATED] =
		{"stacks_truncated",
		 "stacks were cut short at the depth limit: raise --stack-depth"},
	[LOSS_EVENTS_LOST] = {"events_lost",
			      "mapping events did not fit the buffer: the mappings "
			      "listed may be wrong"},
	[LOSS_PROCESSES_FULL] = {"processes_full",
				 "calls came from more processes than can be traced at "
				 "once: raise --max-processes"},
	[LOSS_WALKS_LOST] =
		{"walks_lost",
		 "stacks were cut short, because too many new call sites came at "
		 "once or code was unloaded: they lack their outer callers"},
	[LOSS_WALKS_OVER_BUDGET] =
		{"walks_over_budget",
		 "stacks were cut short, because finding unwind rules for new "
		 "call sites had used up its share of processor time: "
		 "raise --unwind-cpu"},
	[LOSS_PROBES_MISSED] = {"probes_missed",
				"probe hits were not delivered by the kernel: blocks "
				"may be missing, or listed though they were freed"},
	[LOSS_SNAPSHOTS_UNSETTLED] =
		{"snapshots_unsettled",
		 "reports were inconsistent, because too much changed while they were "
		 "made: blocks that moved may be missing or listed twice in them"},
	[LOSS_THREADS_FULL] = {"threads_full",
			       "events came from more threads than can be counted "
			       "separately: raise --max-threads"},
	[LOSS_TRAFFIC_LOST] = {"traffic_lost",
			       "events came faster than they could be counted: the "
			       "traffic of call paths lacks them"},
	[LOSS_FUNCTIONS_UNTRACED] =
		{"functions_untraced",
		 "functions of an allocator could not be traced: their calls are not "
		 "counted (--dry-run shows which)"},
	[LOSS_RULES_REFUSED] =
		{"rules_refused",
		 "unwind rules did not fit the table: stacks with those call sites take "
		 "longer and may lack their outer callers; trace fewer processes at "
		 "once, or use --unwind fp"},
	[LOSS_PROCESSES_DROPPED] =
		{"processes_dropped",
		 "processes exited with live blocks and were dropped before a report "
		 "could list these: raise --max-processes, or report more often (-i)"},
	[LOSS_FILES_UNTRACED] = {"files_untraced",
				 "files of the target could not be read, or have an "
				 "allocator that could not be probed: its allocations "
				 "are missing (the messages at the start say why)"},
	[LOSS_MAPPINGS_UNREAD] =
		{"mappings_unread",
		 "the list of a process's mappings could not be read: code that it has "
		 "mapped since has no names, and allocators there are not traced; attach "
		 "before it has mapped so much (a message says which process)"},
	[LOSS_PROCESSES_UNCHECKED] =
		{"processes_unchecked",
		 "processes could not be searched for code that they have changed: code "
		 "that they may have changed got no probes; trace single processes (-p)"},
	[LOSS_FUNCTIONS_MISREAD] =
		{"functions_misread",
		 "functions of an allocator returned other results than memtrace had "
		 "read: their blocks may be missing or wrong (a warning names the "
		 "function)"},
};

const char *loss_name(enum loss loss)
{
	return losses[loss].name;
}

const char *loss_remedy(enum loss loss)
{
	return losses[loss].remedy;
}

bool snapshot_has_losses(const struct snapshot *snap)
{
	for (size_t i = 0; i < LOSS_COUNT; i++) {
		if (snap->losses[i])
			return true;
	}
	return false;
}

const char *stack_end_name(enum stack_end end)
{
	static const char *const names[STACK_END_COUNT] = {
		[STACK_END_COMPLETE] = "complete", [STACK_END_DEPTH] = "depth",
		[STACK_END_NO_FRAME] = "no_frame", [STACK_END_UNREADABLE] = "unreadable",
		[STACK_END_CORRUPT] = "corrupt",   [STACK_END_NO_RULE] = "unlearned",
	};

	return names[end];
}

struct snapshot_process *snapshot_add_process(struct snapshot *snap, int pid)
{
	const struct snapshot_process process = {.pid = pid, .namespace_pid = pid};

	if (!vec_push(&snap->processes, process))
		return NULL;
	return &snap->processes.data[snap->processes.len - 1];
}

const struct snapshot_process *snapshot_process(const struct snapshot *snap,
						uint32_t index)
{
	return index < snap->processes.len ? &snap->processes.data[index] : NULL;
}

const struct snapshot_module *snapshot_find_module(const struct snapshot_process *process,
						   uint64_t address)
{
	size_t low = vec_count_up_to(&process->modules, start, address);

	if (!low || address >= process->modules.data[low - 1].end)
		return NULL;
	return &process->modules.data[low - 1];
}

static void add_sum(struct snapshot_sum *to, const struct snapshot_sum *from)
{
	to->bytes = saturate_add(to->bytes, from->bytes);
	to->count = saturate_add(to->count, from->count);
}

struct snapshot_sum snapshot_unreachable_lost(const struct snapshot_unreachable *u)
{
	struct snapshot_sum sum = u->lost;

	add_sum(&sum, &u->held);
	return sum;
}

void snapshot_unreachable_add(struct snapshot_unreachable *to,
			      const struct snapshot_unreachable *from)
{
	add_sum(&to->lost, &from->lost);
	add_sum(&to->held, &from->held);
	add_sum(&to->possible, &from->possible);
	add_sum(&to->unverified, &from->unverified);
	add_sum(&to->lost_but_freed, &from->lost_but_freed);
	add_sum(&to->held_but_freed, &from->held_but_freed);
}

enum block_class snapshot_main_class(const struct snapshot *snap)
{
	if (!snap->heap_untraced)
		return snap->event ? BLOCK_EVENT : BLOCK_HEAP;
	return snap->mappings_traced ? BLOCK_MAPPING : BLOCK_KERNEL;
}

bool snapshot_has_class(const struct snapshot *snap, enum block_class class)
{
	return class == snapshot_main_class(snap) ||
	       (class == BLOCK_MAPPING && snap->mappings_traced) ||
	       (class == BLOCK_KERNEL && snap->kernel_traced);
}
