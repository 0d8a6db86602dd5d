// SPDX-License-Identifier: Apache-2.0
#include "plan/site_text.h"

#include <string.h>

#include "arch/arch.h"
#include "code/decode.h"
#include "process/live_thread.h"
#include "util/cleanup.h"

static bool is_ours(const struct site_target *target, uint64_t file_offset)
{
	if (!target->breakpoints)
		return false;
	vec_foreach (offset, &target->breakpoints->offsets)
		if (*offset == file_offset)
			return true;
	return false;
}

/* --- code ----------------------------------------------------------------------------
 */

/* Code of the file, and how it is in the memory of the target. */
struct text {
	const struct site_target *target;
	uint64_t file_offset;
	const uint8_t *code;
	size_t size;
};

/* Why the code cannot be trusted when code[at] is `byte` in memory; NULL: it can be. */
typedef const char *(*judge_fn)(const struct text *text, size_t at, uint8_t byte);

/*
 * May the byte in memory differ from the file? Yes, if it is a breakpoint of ours, or
 * another tracer's at the first byte of an instruction: it executes the file's
 * instruction.
 */
static const char *judge_inside(const struct text *t, size_t at, uint8_t byte)
{
	if (byte != arch.breakpoint)
		return SITE_FIRST ": text in memory differs from the file";
	if (is_ours(t->target, t->file_offset + at))
		return NULL;
	if (insn_decode_to(t->code, t->size, at) != at)
		return SITE_FIRST ": a breakpoint is in the middle of an instruction";
	return proc_is_debugged(t->target->proc) ? SITE_FIRST
		       ": a debugger may have breakpoints there"
						 : NULL;
}

static const char changed[] = SITE_CHANGED;

/* Any breakpoint is allowed where an instruction begins. */
static const char *judge_any(const struct text *t, size_t at, uint8_t byte)
{
	return byte == arch.breakpoint && insn_decode_to(t->code, t->size, at) == at
		       ? NULL
		       : changed;
}

static const char unreadable[] = SITE_FIRST ": text in memory cannot be read";
static const char unmapped[] = SITE_FIRST ": text is not mapped";
static const char too_much[] = SITE_FIRST ": comparing the text would take too long";

/* --- the budget --------------------------------------------------------------------- */

#define BUDGET_MAX   (2 * UINT64_C(1000000000))
#define COST_MAPPING 4    /* to look whether a mapping is of the file */
#define COST_READ    5000 /* to read some memory of the target; 1 more for each byte */

bool text_budget_spend(struct text_budget *budget, uint64_t cost)
{
	if (!budget)
		return true;
	if (cost > BUDGET_MAX - budget->spent) {
		budget->spent = BUDGET_MAX;
		return false;
	}
	budget->spent += cost;
	return true;
}

/* --- one mapping -------------------------------------------------------------------- */

/* Compare code[from] up to code[to], which is at `address` of the target. */
static const char *compare_at(const struct text *t, uint64_t address, size_t from,
			      size_t to, judge_fn judge)
{
	uint8_t memory[4096];
	const char *why = NULL;

	for (size_t i = from; i < to && !why; i++) {
		size_t at = (i - from) % sizeof(memory), left = to - i;

		if (!at &&
		    !live_thread_read(t->target->proc->pid, address + (i - from), memory,
				      left < sizeof(memory) ? left : sizeof(memory)))
			return unreadable;
		if (memory[at] != t->code[i])
			why = judge(t, i, memory[at]);
	}
	return why;
}

/* --- all mappings ------------------------------------------------------------------- */

struct text_file site_text_file(const struct allocator *allocator)
{
	return (struct text_file){
		.path = allocator->module_path,
		.start = allocator->text_start,
		.end = allocator->text_end,
	};
}

static bool is_of(const struct text_file *file, const struct proc_mapping *m)
{
	const struct file_name name = file_name_of(m);

	if (!m->executable)
		return false;
	if (file->names)
		return m->inode && file_names_have(file->names, &name);
	return m->start >= file->start && m->start < file->end &&
	       !strcmp(m->path, file->path);
}

static const char *compare_in(const struct text *t, const struct proc_mapping *m,
			      judge_fn judge)
{
	uint64_t end = m->file_offset + (m->end - m->start), from = t->file_offset,
		 to = from + t->size;

	if (from < m->file_offset)
		from = m->file_offset;
	if (to > end)
		to = end;
	if (from >= to)
		return unmapped;
	if (!text_budget_spend(t->target->budget, COST_READ + (to - from)))
		return too_much;
	return compare_at(t, m->start + (from - m->file_offset),
			  (size_t)(from - t->file_offset), (size_t)(to - t->file_offset),
			  judge);
}

/* The mappings that may be of the file: from *ret on, so many. */
static size_t find_mappings(const struct text *t, const struct text_file *file,
			    const struct proc_mapping **ret)
{
	const struct proc_maps *maps = t->target->maps;
	size_t first = 0, end = maps->mappings.len;

	if (!file->names && file->start) {
		first = vec_count_up_to(&maps->mappings, start, file->start - 1);
		end = vec_count_up_to(&maps->mappings, start, file->end);
	}
	*ret = end > first ? &maps->mappings.data[first] : NULL;
	return end > first ? end - first : 0;
}

static const char *compare(const struct text *t, const struct text_file *file,
			   judge_fn judge)
{
	const struct proc_mapping *m;
	size_t count = find_mappings(t, file, &m);
	const char *why = unmapped;

	if (!text_budget_spend(t->target->budget, COST_MAPPING * count))
		return too_much;
	for (; count; count--, m++) {
		const char *here = is_of(file, m) ? compare_in(t, m, judge) : unmapped;

		if (here == unmapped)
			continue;
		why = here;
		if (why)
			break;
	}
	return why;
}

/* --- other processes -------------------------------------------------------------- */

struct error *site_others_find(struct other_code *code, const struct target_file *file,
			       struct site_others *ret)
{
	struct file_names names;

	if (!target_file_names(file, &names))
		return error_create(ERROR_UNSUPPORTED,
				    "%s: the kernel does not say which mappings are of "
				    "this file",
				    target_file_name(file));
	ret->code = code;
	return other_code_find(code, &names, target_file_link(file), &ret->runs);
}

static bool has_part(const struct text *t, const struct other_run *run)
{
	return run->file_offset < t->file_offset + t->size &&
	       t->file_offset < run->file_offset + run->size;
}

/* The part of the code that the run has. */
static const char *compare_run(const struct text *t, const struct other_run *run,
			       judge_fn judge)
{
	struct other_code *others = t->target->others->code;
	const struct proc proc = {.pid = run->pid};
	const struct proc_mapping mapping = {
		.start = run->address,
		.end = run->address + run->size,
		.file_offset = run->file_offset,
	};
	struct site_target target = *t->target;
	struct text text = *t;
	const char *why;

	if (run->is_unread)
		return other_code_is_unread(others, run) ? unreadable : NULL;
	if (!other_code_may_read(others, run->pid))
		return unreadable;
	target.proc = &proc;
	target.budget = NULL; /* other_code_may_read() is the limit */
	text.target = &target;
	why = compare_in(&text, &mapping, judge);
	/* Other bytes, perhaps of another file: this is not known before the mappings are
	 * read again. What was read before that may have been the other file's. */
	if (why && why != unmapped && why != unreadable) {
		if (!other_code_is_mapped(others, run))
			return NULL;
		why = compare_in(&text, &mapping, judge);
	}
	if (why == unmapped || (why == unreadable && !other_code_is_unread(others, run)))
		return NULL;
	return why;
}

/* Why the code cannot be trusted in another process, *ret_pid; NULL: it can be in all. */
static const char *compare_others(const struct text *t, judge_fn judge, int *ret_pid)
{
	const struct site_others *others = t->target->others;
	const char *why = NULL;

	if (others &&
	    !text_budget_spend(t->target->budget, COST_MAPPING * others->runs->list.len))
		return SITE_TOO_MUCH;
	if (others)
		vec_foreach (run, &others->runs->list) {
			if (has_part(t, run))
				why = compare_run(t, run, judge);
			*ret_pid = run->pid;
			if (why)
				break;
		}
	return why;
}

static void note(const struct site_target *target, const struct site_range *range,
		 bool is_same)
{
	struct site_checks *checks = target->checks;

	is_same = is_same && text_budget_spend(target->budget, checks->ranges.len);
	vec_foreach (known, &checks->ranges)
		if (is_same && known->file_offset == range->file_offset &&
		    known->size == range->size)
			return;
	if (!is_same || !vec_push(&checks->ranges, *range))
		checks->has_failed = true;
}

/* Memory that has other bytes or could not be read: the process may have unmapped the
 * file, or have executed another program, since its mappings were read. Look again. */
static const char *compare_anew(const struct text *t, const struct text_file *file,
				judge_fn judge)
{
	_cleanup_(proc_maps_deinit) struct proc_maps maps = {0};
	struct site_target now = *t->target;
	struct text text = *t;
	struct error *err = proc_read_maps(now.proc, &maps);

	bool is_gone = err && err->code == ERROR_GONE;

	now.maps = &maps;
	text.target = &now;
	error_destroy(err);
	if (err)
		return is_gone ? unmapped : unreadable;
	return compare(&text, file, judge);
}

const char *site_text_check(const struct site_target *target,
			    const struct allocator *allocator, uint64_t file_offset,
			    const uint8_t *code, size_t size)
{
	const struct text text = {target, file_offset, code, size};
	const struct text_file file = site_text_file(allocator);
	const struct site_range range = {file_offset, size};
	const char *why = NULL;
	int pid;

	if (!target->unmapped)
		why = target->proc ? compare(&text, &file, judge_inside)
				   : SITE_FIRST ": no text in memory to compare with";
	if (!why && compare_others(&text, judge_inside, &pid))
		why = SITE_FIRST ": text in the memory of another process differs from "
				 "the file, or cannot be compared";
	if (target->checks)
		note(target, &range, !why);
	return why;
}

/* Name the process that has changed the code: the one that was compared because of `why`,
 * or another. */
static const char *name_changed(const struct text *t, const char *why)
{
	struct other_code *others = t->target->others->code;
	int pid = 0;

	if (why)
		pid = t->target->proc->pid;
	else
		why = compare_others(t, judge_any, &pid);
	if (why == unreadable)
		return other_code_unread_reason(others, pid);
	return why == changed ? other_code_reason(others, pid) : why;
}

const char *site_text_doubt(const struct site_target *target,
			    const struct text_file *file, uint64_t file_offset,
			    const uint8_t *code, size_t size)
{
	const struct text text = {target, file_offset, code, size};
	const struct site_range range = {file_offset, size};
	const char *why = NULL;

	if (target->proc && !target->unmapped)
		why = compare(&text, file, judge_any);
	if (why == unreadable || why == changed)
		why = compare_anew(&text, file, judge_any);
	if (why == unmapped)
		why = NULL;
	if (why == unreadable)
		why = SITE_UNREADABLE;
	if (why == too_much)
		why = SITE_TOO_MUCH;
	if (target->others)
		why = name_changed(&text, why);
	if (target->checks)
		note(target, &range, !why);
	return why;
}

void site_checks_deinit(struct site_checks *checks)
{
	vec_deinit(&checks->ranges);
}

const char *site_refused_return(const struct site_target *target)
{
	struct return_question *q = target->returns;

	if (q && q->ask && !q->is_asked) {
		q->refusal = q->ask(q->arg, q->pid);
		q->is_asked = true;
	}
	return q ? q->refusal : NULL;
}
