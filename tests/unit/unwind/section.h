/* SPDX-License-Identifier: Apache-2.0 */
/* Handmade sections of unwind information. */
#ifndef TESTS_UNIT_UNWIND_SECTION_H
#define TESTS_UNIT_UNWIND_SECTION_H

#include "check.h"
#include "unwind/cfi_entry.h"

#define SECTION_ADDRESS 0x400000u
#define CODE_START      0x1000u
#define CODE_SIZE       0x100u

struct built_section {
	uint8_t bytes[1 << 19];
	size_t size;
};

/* Bytes in a test: BYTES(1, 2) expands to a pointer and a size. */
#define BYTES(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

static inline void put(struct built_section *s, const void *bytes, size_t size)
{
	REQUIRE(size <= sizeof(s->bytes) - s->size);
	if (size)
		memcpy(s->bytes + s->size, bytes, size);
	s->size += size;
}

static inline void put_number(struct built_section *s, uint64_t value, unsigned size)
{
	put(s, &value, size);
}

/* Writes the length of the entry that begins at `at`. */
static inline void put_length(struct built_section *s, size_t at)
{
	uint32_t length = (uint32_t)(s->size - at - 4);

	memcpy(s->bytes + at, &length, sizeof(length));
}

/* Appends a CIE with this augmentation string and this data after the register column.
 * Its program sets CFA = rsp + 8 and the return address at CFA - 8. Returns its
 * offset. */
static inline size_t put_cie(struct built_section *s, uint8_t version,
			     const char *augmentation, const uint8_t *data, size_t size)
{
	size_t at = s->size;

	put_number(s, 0, 4);
	put_number(s, 0, 4);
	put_number(s, version, 1);
	put(s, augmentation, strlen(augmentation) + 1);
	if (version == 4)
		put(s, BYTES(8, 0));
	put(s, BYTES(1, 0x78 /* -8 */, 16));
	put(s, data, size);
	put(s, BYTES(0x0c, 7, 8, 0x90, 1));
	put_length(s, at);
	return at;
}

/* Appends an FDE of that CIE. `address` (with `address_size` bytes) is the encoded start
 * and size; NULL: plain addresses. Returns its offset. */
static inline size_t put_fde(struct built_section *s, size_t cie, const uint8_t *address,
			     size_t address_size, const uint8_t *program, size_t size)
{
	size_t at = s->size;

	put_number(s, 0, 4);
	put_number(s, s->size - cie, 4);
	if (address) {
		put(s, address, address_size);
	} else {
		put_number(s, CODE_START, 8);
		put_number(s, CODE_SIZE, 8);
	}
	put(s, program, size);
	put_length(s, at);
	return at;
}

static inline struct cfi_section section_of(const struct built_section *s)
{
	return (struct cfi_section){s->bytes, s->size, SECTION_ADDRESS, false};
}

#endif
