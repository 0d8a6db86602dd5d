// SPDX-License-Identifier: Apache-2.0
#include "unwind_miss/miss_walk.h"

#include <string.h>

#include "unwind_miss/rule_walk.h"
#include "code/code_rules.h"
#include "unwind_step.h"

static void registers_of(const struct abi_miss *m, struct unwind_registers *ret)
{
	ret->known = 0;
	unwind_registers_set(ret, ARCH_PC, m->pc);
	unwind_registers_set(ret, ARCH_SP, m->sp);
	unwind_registers_set(ret, ARCH_BP, m->bp);
	if (m->depth || m->inside == ABI_MISS_LEFT)
		return;
#define SET(reg, member) unwind_registers_set(ret, reg, m->member)
	ARCH_MISS_REGISTERS(SET);
#undef SET
}

/* Copy the stack, and put back the return addresses that return probes have replaced. */
static struct stack_copy copy_of(struct miss_walker *w, const struct abi_miss *m,
				 const struct stack_room *room, const uint64_t *present)
{
	size_t size = stack_room_copy(room, m, w->copy) * ABI_MISS_PAGE_BYTES;

	for (uint32_t i = 0; i < m->replacement_count && i < ABI_MISS_REPLACEMENTS; i++) {
		const struct abi_replacement *r = &room->replaced.replacement[i];
		uint64_t at = r->at - m->base;

		if (r->at >= m->sp && size >= 8 && at <= size - 8)
			memcpy((uint8_t *)w->copy + at, &r->return_address, 8);
	}
	return (struct stack_copy){
		.base = m->base, .bytes = w->copy, .size_bytes = size, .pages = present};
}

static uint32_t end_of(const struct walk *walk)
{
	switch (walk->end) {
	case WALK_COMPLETE:
		return ABI_END_COMPLETE;
	case WALK_NO_MEMORY:
		return ABI_END_UNREADABLE;
	case WALK_TOO_DEEP:
		return ABI_END_DEPTH;
	case WALK_CORRUPT:
		return ABI_END_CORRUPT;
	case WALK_NO_CFI:
	case WALK_NO_REGISTER:
		break;
	}
	return ABI_END_NO_FRAME;
}

/* The address for looking up a frame's code: a return address may be past the end of
 * its function. */
static uint64_t call_of(const struct walk_frame *frame)
{
	return frame->pc - !frame->is_interrupted;
}

/* The number of frames in known code, counted from the leaf. */
static size_t count_known(struct images_moment *then, const struct walk *walk)
{
	struct walk_code code;
	size_t i = 0;

	while (i < walk->count &&
	       images_find_then(then, call_of(&walk->frames[i]), &code))
		i++;
	return i;
}

/* A step through code whose mapping is unknown is a guess: cut the walk there. Returns
 * true if the mapping should have been known. */
static bool cut_unknown(size_t known, struct walk *walk, uint32_t *end)
{
	if (known == walk->count)
		return false;
	for (size_t i = 0; i < known; i++) {
		if (UNWIND_TYPE(walk->frames[i].rule) != UNWIND_FP)
			continue;
		/* A guess led there: the pc itself may be wrong. */
		walk->count = known;
		*end = ABI_END_NO_FRAME;
		return false;
	}
	/* The pc itself is right: it follows from the registers and rules. */
	walk->count = known + 1;
	*end = ABI_END_NO_RULE;
	return true;
}

static void install_rules(struct miss_walker *w, uint32_t slot,
			  const struct images_moment *then, const struct walk *walk)
{
	for (size_t i = 0; i < walk->count; i++) {
		const struct walk_frame *f = &walk->frames[i];
		struct images_moment now = {then->images, UINT64_MAX - 1};
		struct walk_code was, is;

		/* A rule is only valid for a pc in known code that has not been replaced
		 * since. */
		if (f->rule != UNWIND_NONE &&
		    images_find_then((void *)(uintptr_t)then, call_of(f), &was) &&
		    images_find_then(&now, call_of(f), &is) && was.cfi == is.cfi &&
		    was.bias == is.bias)
			rule_table_put(w->rules, slot, f->pc, f->is_interrupted, f->rule);
	}
}

/* Does the walk end where a rule leads to another stack, and did it find rules that the
 * probes lacked? The probes have copied one stack only, but can take that step
 * themselves. */
static bool has_new_rules_before_switch(const struct miss_walker *w, uint32_t slot,
					const struct walk *walk)
{
	size_t i = 0;

	if (walk->end != WALK_NO_MEMORY ||
	    !unwind_switches(walk->frames[walk->count - 1].rule))
		return false;
	while (i < walk->count &&
	       rule_table_get(w->rules, slot, walk->frames[i].pc,
			      walk->frames[i].is_interrupted) != UNWIND_NONE)
		i++;
	return i < walk->count;
}

/* --- deep stacks ------------------------------------------------------------------ */

/* Does the probe walk too deep a stack to the root and keep both ends? */
static bool keeps_root(const struct miss_walker *w, const struct abi_miss *m)
{
	return m->root_at && (unsigned)m->root_at + m->root_count <= w->max_depth;
}

/* Most frames that are stored. */
static size_t room_of(const struct miss_walker *w, const struct abi_miss *m)
{
	return keeps_root(w, m) ? (size_t)m->root_at + m->root_count : w->max_depth;
}

/* Most frames that are unwound after `before` others. */
static size_t capacity_of(const struct miss_walker *w, const struct abi_miss *m,
			  size_t before)
{
	return keeps_root(w, m) ? MISS_WALK_FRAMES
				: w->max_depth - before + (m->inside == ABI_MISS_INSIDE);
}

/* Set *ret for `total` frames of a walk that ended with `end`. If there are too many,
 * keep both ends, as walk_close_gap() of the probes does. */
static void keep_ends(struct miss_walker *w, const struct abi_miss *m, size_t total,
		      uint32_t end, struct stored_stack *ret)
{
	size_t room = room_of(w, m);

	ret->pcs = w->pcs;
	ret->depth = total;
	ret->gap = 0;
	ret->end = end;
	if (!keeps_root(w, m) || (total <= room && !m->is_deep))
		return;
	if (total >= room && (end == ABI_END_COMPLETE || end == ABI_END_NO_FRAME)) {
		memmove(w->pcs + m->root_at, w->pcs + total - m->root_count,
			m->root_count * sizeof(*w->pcs));
		ret->gap = m->root_at;
		ret->depth = room;
		return;
	}
	ret->depth = m->root_at;
}

/* --- the walk --------------------------------------------------------------------- */

/* Walk by rules that were added meanwhile, if no code of the process has changed
 * since. */
static bool walk_by_rules(struct miss_walker *w, const struct abi_miss *m,
			  const struct stack_copy *copy, size_t before, size_t *count,
			  uint32_t *end)
{
	const struct unwind_regs start = {m->pc, m->sp, m->bp};
	bool is_inside = m->inside == ABI_MISS_INSIDE, is_cut;
	size_t enough = room_of(w, m) - before + 1 + is_inside;

	/* If an interrupted frame is shown, only walk_and_install() marks it. */
	if ((m->is_interrupted && !is_inside) ||
	    !miss_processes_unchanged(w->processes, m->process, m->time_ns) ||
	    !rule_walk(w->rules, m->process, &start, m->is_interrupted, copy,
		       w->pcs + before, capacity_of(w, m, before), enough,
		       !w->maps->no_frame_pointers, count, &is_cut))
		return false;
	/* Leave out the frame of the allocator. */
	*count -= is_inside;
	memmove(w->pcs + before, w->pcs + before + is_inside, *count * sizeof(*w->pcs));
	*end = is_cut ? ABI_END_DEPTH : ABI_END_COMPLETE;
	return true;
}

/* Make the probes watch the code of all frames for moves, before rules for it are stored.
 * Returns true if all this code is still where the mappings showed it. */
static bool cover(struct miss_walker *w, uint32_t slot, struct process_code *code,
		  const struct walk *walk)
{
	for (size_t i = 0; i < walk->count; i++)
		miss_processes_cover(w->processes, slot, code, call_of(&walk->frames[i]));
	return !code->is_doubtful;
}

/* After the mappings are read again, only code that is new then can be in doubt. */
#define WALK_TRIES 3

/* Walk by unwind information. Returns false if other code may have been mapped there. */
static bool walk_code(struct miss_walker *w, const struct abi_miss *m,
		      const struct stack_copy *copy, struct process_code *code,
		      struct images_moment *then, struct walk *walk)
{
	struct unwind_registers registers;

	registers_of(m, &registers);
	for (int i = 0; i < WALK_TRIES; i++) {
		walk_stack(&registers, m->is_interrupted, copy, images_find_then, then,
			   walk);
		if (!code || cover(w, m->process, code, walk))
			return true;

		uint64_t read_ns = code->read_ns;

		(void)miss_processes_look(w->processes, m->process, code);
		if (code->read_ns == read_ns)
			break;
	}
	return false;
}

/* Walk by unwind information and add the rules. Returns how the walk ended. */
static uint32_t walk_and_install(struct miss_walker *w, const struct abi_miss *m,
				 const struct stack_copy *copy, size_t before,
				 size_t *count)
{
	struct process_code *code = miss_processes_get(w->processes, m->process);
	struct images_moment then = {code ? code->images : NULL, m->time_ns};
	bool is_inside = m->inside == ABI_MISS_INSIDE;
	struct walk walk = {.frames = w->frames,
			    .capacity = capacity_of(w, m, before),
			    .read_code = code_rules_read};
	bool is_sure = walk_code(w, m, copy, code, &then, &walk);
	size_t known = count_known(&then, &walk);
	uint32_t end;

	if (code && known < walk.count &&
	    miss_processes_look_again(w->processes, m->process, code)) {
		is_sure = walk_code(w, m, copy, code, &then, &walk);
		known = count_known(&then, &walk);
	}
	end = end_of(&walk);
	w->counts->lost += cut_unknown(known, &walk, &end) || !is_sure;
	for (size_t i = 0; w->maps->no_frame_pointers && i < walk.count; i++) {
		if (UNWIND_TYPE(walk.frames[i].rule) == UNWIND_FP) {
			walk.count = i + 1;
			end = ABI_END_NO_FRAME;
		}
	}
	if (is_sure) {
		/* The probes remember this walk. They would take a walk that reads the
		 * same words for a repetition, and cut it short, too. */
		bool is_cut = has_new_rules_before_switch(w, m->process, &walk);

		install_rules(w, m->process, &then, &walk);
		/* Not if the new rules did not fit: the next walk would be cut as well,
		 * and renew again. */
		if (is_cut && !has_new_rules_before_switch(w, m->process, &walk))
			miss_processes_renew(w->processes, m->process);
	}
	if (is_sure && code)
		miss_tables_follow(w->tables, m->process, code, &walk);
	*count = 0;
	for (size_t i = is_inside; i < walk.count; i++)
		w->pcs[before + (*count)++] =
			walk.frames[i].pc +
			(w->maps->marks_interrupted && walk.frames[i].is_interrupted);
	return end;
}

void miss_walk_end(struct miss_walker *w, const struct abi_miss *m,
		   const struct stack_room *room, struct stored_stack *ret)
{
	const uint64_t present = m->present;
	const struct stack_copy copy = copy_of(w, m, room, &present);
	size_t before = (size_t)m->depth + m->leading, count = 0;
	uint32_t end;

	if (before > room_of(w, m))
		before = room_of(w, m);
	if (!walk_by_rules(w, m, &copy, before, &count, &end))
		end = walk_and_install(w, m, &copy, before, &count);
	memcpy(w->pcs, room->frames.pc, before * sizeof(*w->pcs));
	ret->family = m->family;
	ret->allocator = m->allocator;
	keep_ends(w, m, before + count, end, ret);
	w->counts->walks++;
	w->counts->unreadable += ret->end == ABI_END_UNREADABLE;
	w->counts->truncated += ret->end == ABI_END_DEPTH;
}

void miss_walk_cut(struct miss_walker *w, const struct abi_miss *m,
		   const struct stack_room *room, struct stored_stack *ret)
{
	size_t depth = (size_t)m->depth + m->leading;

	if (depth > w->max_depth)
		depth = w->max_depth;
	if (m->is_deep)
		depth = m->root_at;
	memcpy(w->pcs, room->frames.pc, depth * sizeof(*w->pcs));
	/* A pc in the allocator does not belong to a frame of the stack. */
	if (m->inside != ABI_MISS_INSIDE && !m->is_deep && depth < w->max_depth)
		w->pcs[depth++] =
			m->pc + (w->maps->marks_interrupted && m->is_interrupted);
	w->counts->over_budget++;
	*ret = (struct stored_stack){
		.family = m->family,
		.allocator = m->allocator,
		.pcs = w->pcs,
		.depth = depth,
		.end = ABI_END_NO_RULE,
	};
}
