// SPDX-License-Identifier: Apache-2.0
#include "reach/marks.h"

#include <string.h>

#include "util/huge_array.h"

#define WORD     sizeof(uint64_t)
#define TOP_BYTE (UINT64_C(0xff) << 56)

struct error *reach_marks_init(const struct reach_blocks *blocks,
			       const struct reach_words *words, struct reach_marks *ret)
{
	*ret = (struct reach_marks){
		.blocks = blocks, .words = *words, .ahead = REACH_NONE};
	ret->level = huge_array_create(blocks->count);
	return ret->level ? NULL : error_no_memory();
}

void reach_marks_deinit(struct reach_marks *marks)
{
	if (marks->level)
		huge_array_destroy(marks->level, marks->blocks->count);
	marks->level = NULL;
	vec_deinit(&marks->todo);
}

static void raise_level(struct reach_marks *m, uint32_t block, enum reach_level level)
{
	uint8_t before = __atomic_load_n(&m->level[block], __ATOMIC_RELAXED);

	do {
		if (before >= level)
			return;
	} while (!__atomic_compare_exchange_n(&m->level[block], &before, (uint8_t)level,
					      true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	if (block < m->ahead && !vec_push(&m->todo, block))
		m->no_memory = true;
}

/* A word points to a block. */
static void mark(struct reach_marks *m, uint64_t word, const struct reach_found *found,
		 enum reach_level level)
{
	const struct reach_blocks *b = m->blocks;
	uint32_t block = found->block;

	if (!found->is_start &&
	    (!m->words.low_tag_max || word - b->start[block] > m->words.low_tag_max)) {
		raise_level(m, block, REACH_POSSIBLE);
		return;
	}
	raise_level(m, block, level);
	if (b->are_joined && block && b->end[block - 1] == word)
		raise_level(m, block - 1, REACH_POSSIBLE);
}

/* A tag may be larger than the block: then the tagged pointer is an address behind the
 * block. Look up the words that were not found again, without the tag. */
static void find_untagged(const struct reach_marks *m, size_t count,
			  struct reach_found found[])
{
	for (size_t i = 0; i < count; i++) {
		uint64_t plain = m->waiting[i] & ~m->words.low_tag_max;
		struct reach_found untagged;

		if (found[i].block != REACH_NONE)
			continue;
		reach_blocks_find(m->blocks, &plain, 1, &untagged);
		if (untagged.block != REACH_NONE && untagged.is_start)
			found[i] = untagged;
	}
}

void reach_marks_settle(struct reach_marks *marks)
{
	struct reach_found found[REACH_AT_ONCE];
	size_t count = marks->waiting_count;

	reach_blocks_find(marks->blocks, marks->waiting, count, found);
	if (marks->words.low_tag_max)
		find_untagged(marks, count, found);
	for (size_t i = 0; i < count; i++)
		if (found[i].block != REACH_NONE)
			__builtin_prefetch(&marks->level[found[i].block]);
	for (size_t i = 0; i < count; i++)
		if (found[i].block != REACH_NONE)
			mark(marks, marks->waiting[i], &found[i],
			     (enum reach_level)marks->waiting_level[i]);
	marks->waiting_count = 0;
}

/* A word that may be a pointer. */
static void follow(struct reach_marks *m, uint64_t word, enum reach_level level)
{
	m->waiting[m->waiting_count] = word;
	m->waiting_level[m->waiting_count++] = (uint8_t)level;
	if (m->waiting_count == REACH_AT_ONCE)
		reach_marks_settle(m);
}

/* What decides whether a word is a pointer. A copy of what `marks` has: follow() changes
 * *marks, so the compiler would load it for each word. */
struct sieve {
	struct reach_span all;
	const uint64_t *filter;
	uint64_t guard;
};

static inline bool passes(const struct sieve *sieve, uint64_t word)
{
	return __builtin_expect(reach_span_has(&sieve->all, word), false) &&
	       reach_filter_has(sieve->filter, word);
}

static inline void look_at(struct reach_marks *m, const struct sieve *sieve,
			   const char *at, enum reach_level level)
{
	uint64_t word, plain;

	memcpy(&word, at, WORD);
	plain = word & ~TOP_BYTE;
	if (passes(sieve, plain))
		follow(m, plain, level);
	if (sieve->guard) {
		plain = reach_word_unmangled(word, sieve->guard);
		if (passes(sieve, plain))
			follow(m, plain, level);
	}
}

void reach_marks_collect(struct reach_marks *marks, const struct reach_piece *piece,
			 enum reach_level level)
{
	struct sieve sieve = {marks->blocks->all, marks->blocks->filter,
			      marks->words.guard};
	const char *bytes = piece->bytes;
	size_t available = piece->size + piece->extra;
	size_t step = marks->words.unaligned ? 1 : WORD;
	size_t at = marks->words.unaligned ? 0 : -piece->address % WORD;

	/* A tagged pointer to the last block may be behind its end. */
	sieve.all.span += marks->words.low_tag_max;
	for (; at < piece->size && at + WORD <= available; at += step)
		look_at(marks, &sieve, bytes + at, level);
}

void reach_marks_scan(struct reach_marks *marks, const struct reach_piece *piece,
		      enum reach_level level)
{
	reach_marks_collect(marks, piece, level);
	reach_marks_settle(marks);
}

/* The part of the piece from `at` to `to`. */
static struct reach_piece part_of(const struct reach_piece *piece, uint64_t at,
				  uint64_t to)
{
	return (struct reach_piece){
		at, (const char *)piece->bytes + (at - piece->address), to - at,
		piece->address + piece->size - to + piece->extra};
}

/* Scan the memory from `at` to `to`, which is before the block `next` and behind the one
 * before it. */
static void scan_gap(struct reach_marks *m, const struct reach_piece *piece, uint64_t at,
		     uint64_t to, uint32_t next)
{
	const struct reach_blocks *b = m->blocks;

	if (m->gaps == REACH_GAPS_FREE_PAGES && next) {
		uint64_t page_end =
			(b->end[next - 1] + REACH_PAGE - 1) / REACH_PAGE * REACH_PAGE;

		at = at > page_end ? at : page_end;
	}
	if (m->gaps == REACH_GAPS_FREE_PAGES && next < b->count) {
		uint64_t page = b->start[next] / REACH_PAGE * REACH_PAGE;

		to = to < page ? to : page;
	}
	if (at < to) {
		const struct reach_piece part = part_of(piece, at, to);

		reach_marks_collect(m, &part, REACH_REACHED);
	}
}

/* Scan the memory from `at` to `to`, which is of `block`, if it is reached. */
static void scan_block(struct reach_marks *m, const struct reach_piece *piece,
		       uint64_t at, uint64_t to, uint32_t block)
{
	const struct reach_piece part = part_of(piece, at, to);
	uint8_t level = __atomic_load_n(&m->level[block], __ATOMIC_RELAXED);

	if (level != REACH_UNREACHED)
		reach_marks_collect(m, &part, (enum reach_level)level);
}

void reach_marks_sweep(struct reach_marks *marks, const struct reach_piece *piece)
{
	const struct reach_blocks *b = marks->blocks;
	uint64_t at = piece->address, end = at + piece->size;
	uint32_t block = reach_blocks_from(b, at);

	while (at < end) {
		bool is_inside = block < b->count && b->start[block] <= at;
		uint64_t to = block >= b->count ? end
			      : is_inside       ? b->end[block]
						: b->start[block];

		if (to > end)
			to = end;
		/* This block is half scanned: if it is reached from here on, it must be
		 * scanned again. */
		if (!marks->is_apart)
			marks->ahead = is_inside ? block + 1 : block;
		if (is_inside)
			scan_block(marks, piece, at, to, block);
		else if (marks->gaps != REACH_GAPS_FREE)
			scan_gap(marks, piece, at, to, block);
		if (is_inside && to == b->end[block])
			block++;
		at = to;
	}
	reach_marks_settle(marks);
}

void reach_marks_swept(struct reach_marks *marks)
{
	marks->ahead = REACH_NONE;
}
