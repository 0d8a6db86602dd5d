/* SPDX-License-Identifier: Apache-2.0 */
/* Functions given by their bytes, for tests of control flow. */
#ifndef UNIT_PLAN_CFG_MADE_H
#define UNIT_PLAN_CFG_MADE_H

#include "check.h"

#include <string.h>

#include "code/cfg.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define BASE         0x1000u /* address of the function */
#define COLD         0x3000u /* address of the part that the compiler split off */
#define F            0x5000u /* other functions */
#define G            0x6000u
#define DIE          0x7000u

#define PARTS_MAX    4

/* Bytes at an address. */
struct part {
	uint64_t address;
	const uint8_t *code;
	size_t size;
};

/* Code at several addresses. `extent` of `source` knows each part. */
struct code {
	struct part parts[PARTS_MAX];
	size_t count;
	struct cfg_source source;
};

static inline size_t code_read(void *arg, uint64_t address, uint8_t *ret, size_t size)
{
	const struct code *code = arg;

	for (size_t i = 0; i < code->count; i++) {
		const struct part *part = &code->parts[i];

		if (address < part->address || address - part->address >= part->size)
			continue;
		if (size > part->size - (size_t)(address - part->address))
			size = part->size - (size_t)(address - part->address);
		memcpy(ret, part->code + (address - part->address), size);
		return size;
	}
	return 0;
}

static inline bool code_extent(void *arg, uint64_t address, uint64_t *start,
			       uint64_t *end)
{
	const struct code *code = arg;

	for (size_t i = 0; i < code->count; i++) {
		*start = code->parts[i].address;
		*end = *start + code->parts[i].size;
		if (address >= *start && address < *end)
			return true;
	}
	return false;
}

/* `ret` must not move. */
static inline void code_init(struct code *ret, const void *bytes, size_t size)
{
	*ret = (struct code){.parts = {{BASE, bytes, size}}, .count = 1};
	ret->source =
		(struct cfg_source){.read = code_read, .extent = code_extent, .arg = ret};
}

static inline void code_add(struct code *code, uint64_t address, const void *bytes,
			    size_t size)
{
	REQUIRE(code->count < PARTS_MAX);
	code->parts[code->count++] = (struct part){address, bytes, size};
}

/* Drop the NUL that ends a string literal. */
#define CODE(ret, bytes) code_init((ret), (bytes), sizeof(bytes) - 1)
#define CODE_ADD(code, address, bytes)                                                   \
	code_add((code), (address), (bytes), sizeof(bytes) - 1)

/* The instruction `offset` bytes after the function's first byte, or NULL. */
static inline const struct cfg_insn *insn_at(const struct cfg *cfg, uint64_t offset)
{
	vec_foreach (at, &cfg->insns)
		if (!at->is_pseudo && at->address == BASE + offset)
			return at;
	return NULL;
}

/* A small version of posix_memalign(): stores g()'s block where the first argument
 * points, and returns 0, or ENOMEM without a block. */
static const char posix[] = "\x53"                 /* 0: push rbx */
			    "\x48\x89\xfb"         /* 1: mov rbx, rdi */
			    "\xe8\xf7\x4f\x00\x00" /* 4: call g */
			    "\x48\x85\xc0"         /* 9: test rax, rax */
			    "\x74\x07"             /* 12: je 21 */
			    "\x48\x89\x03"         /* 14: mov [rbx], rax */
			    "\x31\xc0"             /* 17: xor eax, eax */
			    "\x5b"                 /* 19: pop rbx */
			    "\xc3"                 /* 20: ret */
			    "\xb8\x0c\x00\x00\x00" /* 21: mov eax, 0xc */
			    "\x5b"                 /* 26: pop rbx */
			    "\xc3";                /* 27: ret */

#endif
