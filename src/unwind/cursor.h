/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads numbers from untrusted bytes. Reading past the end gives 0 and sets `bad` on
 * the cursor, with no bytes left. A reader therefore needs to check only once, at its
 * end.
 */
#ifndef UNWIND_CURSOR_H
#define UNWIND_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cursor {
	const uint8_t *at, *end;
	bool bad;
};

static inline struct cursor cursor_of(const uint8_t *data, size_t size_bytes)
{
	return (struct cursor){data, data + size_bytes, false};
}

static inline size_t cursor_left(const struct cursor *c)
{
	return (size_t)(c->end - c->at);
}

static inline void cursor_fail(struct cursor *c)
{
	c->bad = true;
	c->at = c->end;
}

/* Take `size_bytes` bytes; returns NULL and sets `bad` if not enough are left. */
static inline const uint8_t *cursor_take(struct cursor *c, uint64_t size_bytes)
{
	const uint8_t *at = c->at;

	if (size_bytes > cursor_left(c)) {
		cursor_fail(c);
		return NULL;
	}
	c->at += size_bytes;
	return at;
}

/* A little-endian number of 1, 2, 4 or 8 bytes. */
static inline uint64_t cursor_unsigned(struct cursor *c, unsigned size_bytes)
{
	const uint8_t *at = cursor_take(c, size_bytes);
	uint64_t value = 0;

	if (at)
		memcpy(&value, at, size_bytes); /* our machines are little-endian too */
	return value;
}

/* The same, sign-extended. */
static inline uint64_t cursor_signed(struct cursor *c, unsigned size_bytes)
{
	unsigned shift = 64 - 8 * size_bytes;

	return (uint64_t)((int64_t)(cursor_unsigned(c, size_bytes) << shift) >> shift);
}

static inline uint8_t cursor_u8(struct cursor *c)
{
	return (uint8_t)cursor_unsigned(c, 1);
}

/* 64 bits take ten bytes. A few more are accepted, since numbers may be padded. Without
 * a bound a number could be as long as its section, and be read for each entry in it. */
#define CURSOR_LEB_MAX_BYTES 16u

/* LEB128 (DWARF 5 section 7.6). Bits above the 64th are dropped. A number longer than
 * CURSOR_LEB_MAX_BYTES sets `bad`. */
static inline uint64_t cursor_leb(struct cursor *c, bool is_signed)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = cursor_u8(c);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80 && shift < 7 * CURSOR_LEB_MAX_BYTES);
	if (byte & 0x80)
		cursor_fail(c);
	if (is_signed && shift < 64 && byte & 0x40)
		value |= -(uint64_t)1 << shift;
	return value;
}

static inline uint64_t cursor_uleb(struct cursor *c)
{
	return cursor_leb(c, false);
}

/* A negative number is returned as its two's complement. */
static inline uint64_t cursor_sleb(struct cursor *c)
{
	return cursor_leb(c, true);
}

/* The string up to its NUL. Returns NULL and sets `bad` if there is no NUL within `max`
 * bytes. */
static inline const char *cursor_string(struct cursor *c, size_t max)
{
	size_t left = cursor_left(c) < max ? cursor_left(c) : max;
	const uint8_t *nul = left ? memchr(c->at, 0, left) : NULL;

	if (!nul) {
		cursor_fail(c);
		return NULL;
	}
	return (const char *)cursor_take(c, (uint64_t)(nul - c->at) + 1);
}

#endif
