/* SPDX-License-Identifier: Apache-2.0 */
/* Compares many words at once, with vector instructions that every processor of the
 * architecture has. */
#ifndef ARCH_WORDS_H
#define ARCH_WORDS_H

#include <stdint.h>
#include <string.h>

#include "arch/registers.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

/* Words that are compared at once. */
#define ARCH_WORDS 16

/* The upper half of a word without its highest byte may be `low` to `low` + `span`. The
 * sum is below 1 << 24. */
struct arch_near {
	uint32_t low, span;
};

/* The pointer that glibc has mangled with the guard (arch/registers.h). */
static inline uint64_t arch_word_unmangled(uint64_t word, uint64_t guard)
{
	return (word >> ARCH_GUARD_ROTATION | word << (-ARCH_GUARD_ROTATION & 63)) ^
	       guard;
}

/* Bit i is set if word i of ARCH_WORDS is in the range. A `guard` that is not 0 is undone
 * before. `at` need not be aligned. */
static inline uint32_t arch_words_near(const struct arch_near *near, const char *at,
				       uint64_t guard);

/* The same, word by word: for other processors, and for tests. */
static inline uint32_t arch_words_near_each(const struct arch_near *near, const char *at,
					    uint64_t guard)
{
	uint32_t bits = 0;

	for (int i = 0; i < ARCH_WORDS; i++) {
		uint64_t word;

		memcpy(&word, at + (size_t)i * sizeof(word), sizeof(word));
		if (guard)
			word = arch_word_unmangled(word, guard);
		bits |= (uint32_t)((uint32_t)(word >> 32 & 0xffffff) - near->low <=
				   near->span)
			<< i;
	}
	return bits;
}

#if defined(__x86_64__)

/* Two words. */
static inline __m128i arch_words_load(const char *at, uint64_t guard)
{
	__m128i words = _mm_loadu_si128((const __m128i *)(const void *)at);

	if (!guard)
		return words;
	words = _mm_or_si128(_mm_srli_epi64(words, ARCH_GUARD_ROTATION),
			     _mm_slli_epi64(words, 64 - ARCH_GUARD_ROTATION));
	return _mm_xor_si128(words, _mm_set1_epi64x((long long)guard));
}

/* Four words: all bits of an element are set if the word is not in the range. SSE2
 * compares only signed numbers: with the highest bit inverted they have the order of
 * unsigned ones. */
static inline __m128i arch_words_far(const struct arch_near *near, const char *at,
				     uint64_t guard)
{
	__m128i upper = _mm_castps_si128(
		_mm_shuffle_ps(_mm_castsi128_ps(arch_words_load(at, guard)),
			       _mm_castsi128_ps(arch_words_load(at + 16, guard)), 0xdd));

	upper = _mm_and_si128(upper, _mm_set1_epi32(0x00ffffff));
	upper = _mm_sub_epi32(upper, _mm_set1_epi32((int)(near->low + 0x80000000)));
	return _mm_cmpgt_epi32(upper, _mm_set1_epi32((int)(near->span - 0x80000000)));
}

static inline uint32_t arch_words_near(const struct arch_near *near, const char *at,
				       uint64_t guard)
{
	__m128i far = _mm_packs_epi32(arch_words_far(near, at, guard),
				      arch_words_far(near, at + 32, guard));
	__m128i more = _mm_packs_epi32(arch_words_far(near, at + 64, guard),
				       arch_words_far(near, at + 96, guard));

	return ~(uint32_t)_mm_movemask_epi8(_mm_packs_epi16(far, more)) & 0xffff;
}

#else

static inline uint32_t arch_words_near(const struct arch_near *near, const char *at,
				       uint64_t guard)
{
	return arch_words_near_each(near, at, guard);
}

#endif

#endif
