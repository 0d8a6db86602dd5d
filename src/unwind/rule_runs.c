// SPDX-License-Identifier: Apache-2.0
#include "unwind/rule_runs.h"

#include <stdlib.h>

#include "arch/kept_bp.h"
#include "unwind/rules.h"

/* Bounds the CFA instructions for one range. The densest code of real libraries needs
 * 1,000 for 4 KiB. */
#define STEPS_MAX (1u << 17)

/* Expressions that depend on the pc, in PLTs, depend on its offset within an entry of
 * this many bytes. */
#define PERIOD_BYTES 16

/* Smaller gaps are assumed to be padding between functions. */
#define GAP_MIN_BYTES 64

#define PAGE_BYTES    4096u

struct builder {
	const struct cfi *cfi;
	struct rule_runs *runs;
	uint64_t end; /* of the addresses processed so far */
	bool is_out_of_memory;
};

void rule_runs_deinit(struct rule_runs *runs)
{
	vec_deinit(&runs->list);
}

static void add(struct builder *b, uint64_t start, uint64_t rule)
{
	size_t len = b->runs->list.len;

	if (len && b->runs->list.data[len - 1].rule == rule)
		return;
	if (!vec_push(&b->runs->list, ((struct rule_run){start, rule})))
		b->is_out_of_memory = true;
}

static bool has_expression(const struct cfi_row *row)
{
	return row->cfa.how == CFI_VAL_EXPRESSION ||
	       row->registers[ARCH_BP].how == CFI_EXPRESSION ||
	       row->registers[ARCH_PC].how == CFI_EXPRESSION;
}

static uint64_t rule_of(const struct cfi_row *row, uint64_t pc)
{
	uint64_t rule = rule_from_row(row, pc);

	if (has_expression(row))
		for (unsigned i = 1; i < PERIOD_BYTES; i++)
			if (rule_from_row(row, pc + i) != rule)
				return UNWIND_NONE;
	return UNWIND_TYPE(rule) == UNWIND_SLOW ? UNWIND_NONE : rule;
}

static void add_stretch(void *arg, uint64_t start, bool is_kept)
{
	add(arg, start, is_kept ? UNWIND_RULE_CALLED : UNWIND_NONE);
}

/* Add runs for code without rows; the image has all `size` bytes. */
static void add_kept(struct builder *b, uint64_t start, size_t size)
{
	uint8_t *code = malloc(size);

	if (!code)
		b->is_out_of_memory = true;
	else if (cfi_read_code(b->cfi, start, code, size))
		kept_bp_each(code, size, start, add_stretch, b);
	free(code);
}

/* Add runs for the gap between the end of the last row and `end`. */
static void add_gap(struct builder *b, uint64_t end)
{
	uint64_t at = b->end;

	add(b, at, UNWIND_NONE);
	while (at < end && end - at >= GAP_MIN_BYTES) {
		uint64_t size = cfi_code_bytes(b->cfi, at);

		if (size > end - at)
			size = end - at;
		if (size)
			add_kept(b, at, (size_t)size);
		else
			size = PAGE_BYTES - at % PAGE_BYTES;
		at += size;
		/* Addresses after the code have no rules. */
		if (at < end)
			add(b, at, UNWIND_NONE);
	}
}

static void add_row(void *arg, uint64_t start, uint64_t end, const struct cfi_row *row)
{
	struct builder *b = arg;

	if (start > b->end)
		add_gap(b, start);
	add(b, start, rule_of(row, start));
	b->end = end;
}

bool rule_runs_build(const struct cfi *cfi, uint64_t start, uint64_t end,
		     struct rule_runs *ret)
{
	struct builder b = {.cfi = cfi, .runs = ret, .end = start};

	ret->list.len = 0;
	if (!cfi_each_row(cfi, start, end, STEPS_MAX, add_row, &b))
		return false;
	if (b.end < end)
		add_gap(&b, end);
	return !b.is_out_of_memory;
}
