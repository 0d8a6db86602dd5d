// SPDX-License-Identifier: Apache-2.0
#include "arch/kept_bp.h"

#include <string.h>

#define ALIGNMENT 16

/* Functions are taken to begin at multiples of ALIGNMENT if at least half of all
 * prologues do (some functions have their prologue further down). In unaligned code one
 * prologue in ALIGNMENT does. Fewer prologues than this are not enough to decide. */
#define PROLOGUES_MIN 8

static const uint8_t prologue[] = {0x55, 0x48, 0x89, 0xe5};
static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};

static bool is_at(const uint8_t *code, size_t size, size_t at, const uint8_t *bytes,
		  size_t count)
{
	return at <= size && size - at >= count && !memcmp(code + at, bytes, count);
}

static bool begins_at(const uint8_t *code, size_t size, size_t at)
{
	if (is_at(code, size, at, endbr64, sizeof(endbr64)))
		at += sizeof(endbr64);
	return is_at(code, size, at, prologue, sizeof(prologue));
}

/* Does a function begin there that sets up its stack frame in another way? */
static bool begins_otherwise(const uint8_t *code, size_t size, size_t at)
{
	static const uint8_t sub_8[] = {0x48, 0x83, 0xec}, sub_32[] = {0x48, 0x81, 0xec};

	if (is_at(code, size, at, endbr64, sizeof(endbr64)) ||
	    is_at(code, size, at, sub_8, sizeof(sub_8)) ||
	    is_at(code, size, at, sub_32, sizeof(sub_32)))
		return true;
	/* push; the upper registers need a prefix. */
	at += code[at] == 0x41;
	return at < size && (code[at] & 0xf8) == 0x50;
}

/* A nop of several bytes: 0f 1f and an operand. */
static bool has_nop_before(const uint8_t *code, size_t at)
{
	for (size_t back = 3; back <= 9 && back <= at; back++)
		if (code[at - back] == 0x0f && code[at - back + 1] == 0x1f)
			return true;
	return false;
}

/* Do the bytes before `at` (at least ALIGNMENT) look like the end of a function? */
static bool looks_ended(const uint8_t *code, size_t at)
{
	const uint8_t *end = code + at;

	return end[-1] == 0xc3 || end[-3] == 0xc2 ||            /* ret */
	       end[-2] == 0xeb || end[-5] == 0xe9 ||            /* jmp */
	       (end[-2] == 0xff && (end[-1] & 0xf8) == 0xe0) || /* jmp *register */
	       (end[-6] == 0xff && end[-5] == 0x25) ||          /* jmp *memory */
	       end[-5] == 0xe8 ||                               /* call without return */
	       (end[-2] == 0x0f && end[-1] == 0x0b) ||          /* ud2 */
	       end[-1] == 0xf4 || end[-1] == 0x90 ||            /* hlt, nop */
	       has_nop_before(code, at);
}

/* Has a function without a frame pointer begun at `at`, after a function that keeps
 * one? Only functions that make calls matter, and these need a stack frame. Most of
 * these byte patterns also occur inside instructions, but not together. */
static bool has_ended(const uint8_t *code, size_t size, size_t at)
{
	size_t padding = 0;

	while (padding < ALIGNMENT / 2 && code[at - padding - 1] == 0xcc /* int3 */)
		padding++;
	return padding ? padding > 1 || looks_ended(code, at - padding)
		       : begins_otherwise(code, size, at) && looks_ended(code, at);
}

/* Do functions begin at `first` and at multiples of ALIGNMENT after it? */
static bool are_aligned(const uint8_t *code, size_t size, size_t first)
{
	const uint8_t *at = code, *end = code + size;
	size_t aligned = 0, others = 0;

	while ((at = memmem(at, (size_t)(end - at), prologue, sizeof(prologue)))) {
		size_t offset = (size_t)(at - code);
		size_t begin = offset >= sizeof(endbr64) &&
					       is_at(code, size, offset - sizeof(endbr64),
						     endbr64, sizeof(endbr64))
				       ? offset - sizeof(endbr64)
				       : offset;

		if (begin % ALIGNMENT == first % ALIGNMENT)
			aligned++;
		else
			others++;
		at += sizeof(prologue);
	}
	return aligned + others >= PROLOGUES_MIN && aligned >= others;
}

void kept_bp_each(const uint8_t *code, size_t size, uint64_t start, kept_bp_fn *each,
		  void *arg)
{
	size_t first = (size_t)(-start % ALIGNMENT);
	bool is_kept = false;

	if (!are_aligned(code, size, first))
		return;
	for (size_t at = first; at < size; at += ALIGNMENT) {
		bool begins = begins_at(code, size, at);

		if (begins == is_kept || (is_kept && !has_ended(code, size, at)))
			continue;
		is_kept = begins;
		each(arg, start + at, is_kept);
	}
}

bool kept_bp_calls(const uint8_t *code, size_t size, uint64_t start)
{
	size_t at = size - (size_t)((start + size) % ALIGNMENT);

	for (; at <= size && at >= ALIGNMENT; at -= ALIGNMENT) {
		if (begins_at(code, size, at))
			return true;
		if (at < size && has_ended(code, size, at))
			return false;
	}
	return false;
}
