/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For unit.plan.returns_run: calls with arguments at random that suit the function.
 */
#ifndef TESTS_UNIT_PLAN_RUN_ARGUMENTS_H
#define TESTS_UNIT_PLAN_RUN_ARGUMENTS_H

#include "check.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "allocator/allocator.h"
#include "unit/code/tracee.h"
#include "unit/plan/run_checks.h"
#include "unit/plan/run_library.h"
#include "unit/plan/run_process.h"

static inline unsigned below(struct tracee *t, unsigned limit)
{
	return (unsigned)rand_r(&t->seed) % limit;
}

static inline bool has(const struct function *f, const char *part)
{
	return strstr(f->kind->name, part);
}

/* May the function throw or end the program when out of memory? musl 1.2.2 then reads the
 * header of the block that it did not get. */
static inline bool may_throw(const struct tracee *t, const struct function *f)
{
	if ((has(f, "align") || has(f, "valloc")) &&
	    !strcmp(t->library->label, "debian-11 musl"))
		return true;
	return (has(f, "_Zn") || has(f, "new")) && !has(f, "nothrow");
}

static inline size_t some_size(struct tracee *t, const struct function *f)
{
	static const size_t limits[] = {24,     128,     0x408,    0x408,
					0x2000, 0x10000, 0x200000, 0x1000000};
	/* Sizes that always fail. */
	static const size_t too_large[] = {(size_t)1 << 62, (size_t)1 << 47, SIZE_MAX,
					   (size_t)1 << 63, SIZE_MAX - 4096};
	unsigned n = below(t, 20);

	if (has(f, "small"))
		return below(t, 1000);
	if (n == 0 && !may_throw(t, f))
		return too_large[below(t, COUNT(too_large))];
	/* jemalloc(3): undefined for these functions. */
	if (n == 1 && !has(f, "llocx"))
		return 0;
	return 1 + below(t, (unsigned)limits[below(t, n == 2 ? 8 : 6)]);
}

/* The index of the alignment argument, or -1. */
static inline int alignment_argument(const struct function *f)
{
	int size = f->kind->size_arg;

	if (f->kind->effect == EFFECT_FREE)
		return -1;
	if (has(f, "memalign") || has(f, "aligned_alloc"))
		return size - 1;
	return has(f, "aligned") || has(f, "align_val") ? size + 1 : -1;
}

static inline uint64_t some_alignment(struct tracee *t, const struct function *f)
{
	if (has(f, "posix_memalign") && !below(t, 6))
		return below(t, 40); /* mostly no flags */
	return (uint64_t)8 << below(t, below(t, 4) ? 5 : 14);
}

/* Allocates a block into one of the entries. Returns its index. */
static inline size_t some_block(struct tracee *t, size_t size)
{
	size_t i = below(t, BLOCKS);

	if (t->blocks[i].address)
		call(t, t->plain_free->symbol.address, t->blocks[i].address, 0, 0, 0);
	t->blocks[i].size = size;
	t->blocks[i].address = call(t, t->plain_alloc->symbol.address, size, 0, 0, 0);
	REQUIRE(t->blocks[i].address);
	return i;
}

static inline void keep_block(struct tracee *t, uint64_t address, size_t size)
{
	size_t i = below(t, BLOCKS);

	if (!address)
		return;
	if (t->blocks[i].address)
		call(t, t->plain_free->symbol.address, t->blocks[i].address, 0, 0, 0);
	t->blocks[i].address = address;
	t->blocks[i].size = size;
}

static inline void judge_free(struct tracee *t, struct function *f)
{
	size_t size = 16 + 16 * (size_t)below(t, below(t, 10) ? 60 : 20000);
	bool is_aligned = has(f, "align"), is_null = !below(t, 8) && !has(f, "dallocx");
	bool is_sized = has(f, "size") || has(f, "Pvm") || has(f, "sdallocx");
	size_t i = some_block(t, size);
	uint64_t arguments[6] = {is_null ? 0 : t->blocks[i].address};

	if (is_aligned && is_sized) {
		arguments[1] = has(f, "aligned_sized") ? 16 : size;
		arguments[2] = has(f, "aligned_sized") ? size : 16;
	} else if (is_aligned) {
		arguments[1] = 16;
	} else if (is_sized) {
		arguments[1] = size;
	} else if (has(f, "nothrow")) {
		arguments[1] = t->out;
	}
	judge_call(t, f, arguments);
	if (!is_null)
		t->blocks[i].address = 0;
}

static inline void judge_mapping(struct tracee *t, struct function *f)
{
	size_t size = 4096 * (size_t)(1 + below(t, 60));
	bool fails = !below(t, 5);
	uint64_t arguments[6] = {
		0,          size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		UINT64_MAX, 0};
	uint64_t result;

	if (f->kind->effect == EFFECT_MAP) {
		if (fails)
			arguments[1] = below(t, 2) ? 0 : SIZE_MAX;
		if (!below(t, 8))
			arguments[5] = 1; /* not a multiple of a page */
		result = judge_call(t, f, arguments);
		f->failed += result == UINT64_MAX;
		return;
	}
	/* The tracee certainly has this memory: two pages of its stack. */
	arguments[0] = fails ? 1 : ((t->start.rsp - 65536) & ~(uint64_t)4095);
	arguments[1] = 4096;
	if (f->kind->effect == EFFECT_REMAP) {
		arguments[2] = fails ? 0 : 4096;
		arguments[3] = fails ? 0x1000 : 0;
	}
	result = judge_call(t, f, arguments);
	f->failed += result == UINT64_MAX || (uint32_t)result == UINT32_MAX;
}

static inline void judge_alloc(struct tracee *t, struct function *f)
{
	const struct alloc_function *kind = f->kind;
	size_t size = some_size(t, f), block = BLOCKS;
	int alignment = alignment_argument(f);
	uint64_t arguments[6] = {0}, result;

	if (has(f, "heap_"))
		arguments[0] = t->heap;
	if (kind->count_arg != ARG_NONE && size < (size_t)1 << 32) {
		bool overflows = !below(t, 12) && !may_throw(t, f);
		uint64_t count = overflows ? (uint64_t)1 << 60 : 1 + below(t, 8);

		arguments[kind->count_arg] = count;
		size = overflows ? 4096 : size / count;
	} else if (kind->count_arg != ARG_NONE) {
		arguments[kind->count_arg] = 1;
	}
	if (kind->old_arg != ARG_NONE &&
	    (below(t, 6) || has(f, "llocx") || has(f, "expand"))) {
		block = some_block(t, 1 + below(t, below(t, 4) ? 500 : 100000));
		arguments[kind->old_arg] = t->blocks[block].address;
		if (below(t, 2) && size < 1u << 20)
			size = t->blocks[block].size + (has(f, "llocx") ? 1 : 0);
	}
	if (alignment >= 0)
		arguments[alignment] = some_alignment(t, f);
	else if (has(f, "llocx"))
		arguments[kind->size_arg + 1 + has(f, "xallocx")] =
			below(t, 3)   ? 0
			: below(t, 2) ? 0x40
				      : below(t, 12);
	if (has(f, "nothrow"))
		arguments[alignment >= 0 ? 2 : 1] = t->out;
	arguments[kind->size_arg] = size;
	if (kind->out_arg != ARG_NONE) {
		arguments[kind->out_arg] = t->out;
		poke(t->pid, t->out, 0x5e5e5e5e5e5e5e5e);
	}
	result = judge_call(t, f, arguments);
	if (kind->effect == EFFECT_RESIZE)
		return;
	if (kind->effect == EFFECT_ALLOC_OUT)
		result = (uint32_t)result ? 0 : peek(t->pid, t->out);
	f->failed += !result;
	if (block < BLOCKS && (result || !arguments[kind->size_arg] ||
			       (kind->count_arg != ARG_NONE && !size)))
		t->blocks[block].address = 0;
	keep_block(t, result, size);
}

static inline void judge_function(struct tracee *t, struct function *f)
{
	switch (f->kind->effect) {
	case EFFECT_FREE:
		judge_free(t, f);
		break;
	case EFFECT_MAP:
	case EFFECT_UNMAP:
	case EFFECT_REMAP:
		judge_mapping(t, f);
		break;
	default:
		judge_alloc(t, f);
	}
}

#endif
