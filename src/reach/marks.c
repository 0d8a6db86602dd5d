// SPDX-License-Identifier: Apache-2.0
#include "reach/marks.h"

#include <string.h>

#include "arch/words.h"
#include "util/huge_array.h"

#define WORD     sizeof(uint64_t)
#define TOP_BYTE (UINT64_C(0xff) << 56)

/* Blocks whose levels are looked at before the address of one of them is. */
#define RUN_STEP 256

struct error *reach_marks_init(const struct reach_blocks *blocks,
			       const struct reach_words *words, struct reach_marks *ret)
{
	*ret = (struct reach_marks){
		.blocks = blocks, .words = *words, .ahead = REACH_NONE};
	ret->level = huge_array_create(blocks->count);
	return ret->level ? NULL : error_no_memory();
}

/* A bit for each part of the groups. */
static size_t followed_bytes(const struct reach_blocks *blocks)
{
	return blocks->group_count * (REACH_GROUP_PARTS / 8) + sizeof(uint64_t);
}

void reach_marks_remember(struct reach_marks *marks)
{
	const struct reach_blocks *b = marks->blocks;
	size_t bytes = followed_bytes(b);

	if (b->group_count && bytes + b->group_count * sizeof(*b->groups) <=
				      b->count * (size_t)REACH_INDEX_BYTES)
		marks->followed = huge_array_create(bytes);
}

void reach_marks_deinit(struct reach_marks *marks)
{
	if (marks->level)
		huge_array_destroy(marks->level, marks->blocks->count);
	marks->level = NULL;
	if (marks->followed)
		huge_array_destroy(marks->followed, followed_bytes(marks->blocks));
	marks->followed = NULL;
	vec_deinit(&marks->todo);
}

/* False: it has this level, or a higher one. */
static bool raise_apart(uint8_t *at, uint8_t level)
{
	uint8_t before = __atomic_load_n(at, __ATOMIC_RELAXED);

	do {
		if (before >= level)
			return false;
	} while (!__atomic_compare_exchange_n(at, &before, level, true, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	return true;
}

static void raise_level(struct reach_marks *m, uint32_t block, enum reach_level level)
{
	if (m->is_apart) {
		if (!raise_apart(&m->level[block], (uint8_t)level))
			return;
	} else {
		if (m->level[block] >= level)
			return;
		m->level[block] = (uint8_t)level;
	}
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

/* Drop the words that wait and were followed before. */
static void drop_followed(struct reach_marks *m)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->waiting_count; i++) {
		uint64_t part = m->waiting_part[i];

		m->waiting[kept] = m->waiting[i];
		m->waiting_part[kept] = part;
		m->waiting_level[kept] = m->waiting_level[i];
		kept += part == REACH_NO_PART ||
			!(m->followed[part / 64] >> part % 64 & 1);
	}
	m->waiting_count = kept;
}

/* The words that wait have been followed. */
static void note_followed(struct reach_marks *m)
{
	for (size_t i = 0; i < m->waiting_count; i++) {
		uint64_t part = m->waiting_part[i];

		if (part != REACH_NO_PART && m->waiting_level[i] == REACH_REACHED)
			m->followed[part / 64] |= UINT64_C(1) << part % 64;
	}
}

void reach_marks_settle(struct reach_marks *marks)
{
	struct reach_found found[REACH_AT_ONCE];
	size_t count;

	if (marks->followed)
		drop_followed(marks);
	count = marks->waiting_count;
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
	if (marks->followed)
		note_followed(marks);
	marks->waiting_count = 0;
}

/* A word that may be a pointer. */
static void follow(struct reach_marks *m, uint64_t word, enum reach_level level)
{
	if (m->followed) {
		uint64_t part = reach_blocks_part(m->blocks, word);

		m->waiting_part[m->waiting_count] = part;
		if (part != REACH_NO_PART)
			__builtin_prefetch(&m->followed[part / 64]);
	}
	m->waiting[m->waiting_count] = word;
	m->waiting_level[m->waiting_count++] = (uint8_t)level;
	if (m->waiting_count == REACH_AT_ONCE)
		reach_marks_settle(m);
}

/* What decides whether a word is a pointer. A copy of what `marks` has: follow() changes
 * *marks, so the compiler would load it for each word. */
struct sieve {
	struct reach_span all;
	struct arch_near near; /* has every word that `all` has */
	const uint64_t *filter;
	uint64_t guard;
};

static struct sieve make_sieve(const struct reach_marks *marks)
{
	struct sieve sieve = {.all = marks->blocks->all,
			      .filter = marks->blocks->filter,
			      .guard = marks->words.guard};
	uint64_t last;

	/* A tagged pointer to the last block may be behind its end. */
	sieve.all.span += marks->words.low_tag_max;
	last = sieve.all.low + sieve.all.span;
	sieve.near.low = (uint32_t)(sieve.all.low >> 32);
	sieve.near.span = (uint32_t)(last >> 32) - sieve.near.low;
	return sieve;
}

/* Look at the word at `at`, after `guard` is undone if it is not 0. */
static inline void look_at(struct reach_marks *m, const struct sieve *sieve,
			   const char *at, uint64_t guard, enum reach_level level)
{
	uint64_t word;

	memcpy(&word, at, WORD);
	if (guard)
		word = arch_word_unmangled(word, guard);
	word &= ~TOP_BYTE;
	if (__builtin_expect(reach_span_has(&sieve->all, word), false) &&
	    reach_filter_has(sieve->filter, word))
		follow(m, word, level);
}

/* Look at ARCH_WORDS words. One comparison sorts out those that cannot be pointers, which
 * most of them are. */
static inline void look_at_many(struct reach_marks *m, const struct sieve *sieve,
				const char *at, uint64_t guard, enum reach_level level)
{
	uint32_t near = arch_words_near(&sieve->near, at, guard);

	for (; near; near &= near - 1)
		look_at(m, sieve, at + (size_t)__builtin_ctz(near) * WORD, guard, level);
}

void reach_marks_collect(struct reach_marks *marks, const struct reach_piece *piece,
			 enum reach_level level)
{
	const struct sieve sieve = make_sieve(marks);
	const char *bytes = piece->bytes;
	size_t available = piece->size + piece->extra;
	size_t step = marks->words.unaligned ? 1 : WORD;
	size_t at = marks->words.unaligned ? 0 : -piece->address % WORD;

	for (; step == WORD && at + ARCH_WORDS * WORD <= piece->size;
	     at += ARCH_WORDS * WORD) {
		look_at_many(marks, &sieve, bytes + at, 0, level);
		if (sieve.guard)
			look_at_many(marks, &sieve, bytes + at, sieve.guard, level);
	}
	for (; at < piece->size && at + WORD <= available; at += step) {
		look_at(marks, &sieve, bytes + at, 0, level);
		if (sieve.guard)
			look_at(marks, &sieve, bytes + at, sieve.guard, level);
	}
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

/* The first block from `block` on that is not reached; `limit`: all before it are. */
static uint32_t skip_reached(const struct reach_marks *m, uint32_t block, uint32_t limit)
{
	uint64_t eight;

	/* No other thread changes them. */
	while (!m->is_apart && limit - block >= sizeof(eight)) {
		memcpy(&eight, &m->level[block], sizeof(eight));
		if (eight != REACH_REACHED * UINT64_C(0x0101010101010101))
			break;
		block += sizeof(eight);
	}
	while (block < limit &&
	       __atomic_load_n(&m->level[block], __ATOMIC_RELAXED) == REACH_REACHED)
		block++;
	return block;
}

/* The first block from `block` on that is not reached, or some block that starts at `end`
 * or above. */
static uint32_t end_of_run(const struct reach_marks *m, uint32_t block, uint64_t end)
{
	const struct reach_blocks *b = m->blocks;
	uint32_t limit;

	do {
		uint32_t left = b->count - block;

		limit = block + (left < RUN_STEP ? left : RUN_STEP);
		block = skip_reached(m, block, limit);
	} while (block == limit && block < b->count && b->start[block] < end);
	return block;
}

/*
 * Scan memory from `at` up to the block `next` or to `end`: all blocks in it are reached,
 * and what is between them is scanned as well. Returns where this ends.
 */
static uint64_t scan_run(struct reach_marks *m, const struct reach_piece *piece,
			 uint64_t at, uint64_t end, uint32_t next)
{
	const struct reach_blocks *b = m->blocks;
	uint64_t to = next < b->count && b->start[next] < end ? b->start[next] : end;

	if (at < to) {
		const struct reach_piece part = part_of(piece, at, to);

		if (!m->is_apart)
			m->ahead = next;
		reach_marks_collect(m, &part, REACH_REACHED);
	}
	return at < to ? to : at;
}

/* Scan memory from `at` on that is in the block `block`, or before it and behind the one
 * before. Returns where this ends. */
static uint64_t scan_one(struct reach_marks *m, const struct reach_piece *piece,
			 uint64_t at, uint64_t end, uint32_t block)
{
	const struct reach_blocks *b = m->blocks;
	bool is_inside = block < b->count && b->start[block] <= at;
	uint64_t to = block >= b->count ? end
		      : is_inside       ? b->end[block]
					: b->start[block];

	if (to > end)
		to = end;
	/* This block is half scanned: if it is reached from here on, it must be scanned
	 * again. */
	if (!m->is_apart)
		m->ahead = is_inside ? block + 1 : block;
	if (is_inside)
		scan_block(m, piece, at, to, block);
	else if (m->gaps != REACH_GAPS_FREE)
		scan_gap(m, piece, at, to, block);
	return to;
}

void reach_marks_sweep(struct reach_marks *marks, const struct reach_piece *piece)
{
	const struct reach_blocks *b = marks->blocks;
	uint64_t at = piece->address, end = at + piece->size;
	uint32_t block = reach_blocks_from(b, at);

	while (at < end) {
		if (marks->gaps == REACH_GAPS_USED) {
			block = end_of_run(marks, block, end);
			at = scan_run(marks, piece, at, end, block);
		}
		if (at < end)
			at = scan_one(marks, piece, at, end, block);
		if (block < b->count && at == b->end[block])
			block++;
	}
	reach_marks_settle(marks);
}

void reach_marks_swept(struct reach_marks *marks)
{
	marks->ahead = REACH_NONE;
}
