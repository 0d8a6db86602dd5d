// SPDX-License-Identifier: Apache-2.0
#include "plan/site_text.h"

#include <string.h>

#include "plan/decode.h"
#include "target/living.h"

#define TRAP 0xcc /* int3, as the kernel writes for a uprobe */

static bool is_ours(const struct site_target *target, uint64_t file_offset)
{
	if (!target->breakpoints)
		return false;
	vec_foreach (offset, &target->breakpoints->offsets)
		if (*offset == file_offset)
			return true;
	return false;
}

/* Does an instruction begin at code[at], if one begins at code[0]? */
static bool is_boundary(const uint8_t *code, size_t size, size_t at)
{
	size_t offset = 0;
	struct insn insn = {.length = 1};

	while (offset < at && insn.length) {
		insn_decode(code + offset, size - offset, &insn);
		offset += insn.length;
	}
	return offset == at;
}

/*
 * May the byte in memory differ from the file? Yes, if it is a breakpoint of ours, or
 * another tracer's at the first byte of an instruction: it executes the file's
 * instruction.
 */
static const char *judge_byte(const struct site_target *target, uint64_t file_offset,
			      const uint8_t *code, size_t size, size_t at, uint8_t byte)
{
	if (byte != TRAP)
		return SITE_FIRST ": text in memory differs from the file";
	if (is_ours(target, file_offset + at))
		return NULL;
	if (!is_boundary(code, size, at))
		return SITE_FIRST ": a breakpoint is in the middle of an instruction";
	return proc_is_debugged(target->proc) ? SITE_FIRST
		       ": a debugger may have breakpoints there"
					      : NULL;
}

/* Compare the bytes at `address` in the target with `code`, at `file_offset` of the
 * file. Returns NULL if they are the same, or why they are not accepted. */
static const char *compare_at(const struct site_target *target, uint64_t address,
			      uint64_t file_offset, const uint8_t *code, size_t size)
{
	uint8_t memory[4096];
	const char *why = NULL;

	for (size_t i = 0; i < size && !why; i++) {
		size_t at = i % sizeof(memory), left = size - i;

		if (!at && !living_read(target->proc->pid, address + i, memory,
					left < sizeof(memory) ? left : sizeof(memory)))
			return SITE_FIRST ": text in memory cannot be read";
		if (memory[at] != code[i])
			why = judge_byte(target, file_offset, code, size, i, memory[at]);
	}
	return why;
}

static const char *compare(const struct site_target *target,
			   const struct allocator *allocator, uint64_t file_offset,
			   const uint8_t *code, size_t size)
{
	const char *why = SITE_FIRST ": text is not mapped";

	if (target->unmapped)
		return NULL;
	if (!target->proc)
		return SITE_FIRST ": no text in memory to compare with";
	vec_foreach (m, &target->maps->mappings) {
		if (!m->executable || m->start < allocator->text_start ||
		    m->start >= allocator->text_end ||
		    strcmp(m->path, allocator->module_path) != 0 ||
		    file_offset < m->file_offset ||
		    file_offset - m->file_offset > m->end - m->start ||
		    size > m->end - m->start - (file_offset - m->file_offset))
			continue;
		why = compare_at(target, m->start + (file_offset - m->file_offset),
				 file_offset, code, size);
		if (why)
			break;
	}
	return why;
}

static void note(struct site_checks *checks, const struct site_range *range, bool is_same)
{
	vec_foreach (known, &checks->ranges)
		if (is_same && known->file_offset == range->file_offset &&
		    known->size == range->size)
			return;
	if (!is_same || !vec_push(&checks->ranges, *range))
		checks->has_failed = true;
}

const char *site_text_check(const struct site_target *target,
			    const struct allocator *allocator, uint64_t file_offset,
			    const uint8_t *code, size_t size)
{
	const char *why = compare(target, allocator, file_offset, code, size);
	const struct site_range range = {file_offset, size};

	if (target->checks)
		note(target->checks, &range, !why);
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
