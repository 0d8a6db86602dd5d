/* SPDX-License-Identifier: Apache-2.0 */
/* A hash of texts for hash tables that compare the text itself too. */
#ifndef UTIL_TEXT_HASH_H
#define UTIL_TEXT_HASH_H

#include <stdint.h>

#define TEXT_HASH_BEGIN UINT64_C(0xcbf29ce484222325)

/* Continue `hash` with a text: 64-bit FNV-1a. */
static inline uint64_t text_hash_more(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return hash;
}

static inline uint64_t text_hash(const char *text)
{
	return text_hash_more(TEXT_HASH_BEGIN, text);
}

#endif
