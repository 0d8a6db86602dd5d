/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of values: finds and looks them up in functions given by their bytes. */
#ifndef TESTS_UNIT_CODE_VALUES_FOUND_H
#define TESTS_UNIT_CODE_VALUES_FOUND_H

#include "check.h"

#include "code/values.h"
#include "unit/code/cfg_made.h"

/* --- functions ---------------------------------------------------------------------- */

static const char vector_store[] =
	"\x48\x83\xec\x18"     /* 0: sub rsp, 0x18 */
	"\x48\x89\x3c\x24"     /* 4: mov [rsp], rdi */
	"\xc5\xf8\x11\x04\x24" /* 8: vmovups XMMWORD PTR [rsp], xmm0 */
	"\x48\x8b\x04\x24"     /* 13: mov rax, [rsp] */
	"\x48\x83\xc4\x18"     /* 17: add rsp, 0x18 */
	"\xc3";                /* 21: ret */

/* --- lookups ---------------------------------------------------------------------- */

#define REG(n) ((place_set)1 << (n))

struct found {
	struct code code;
	struct callees callees;
	struct cfg cfg;
	struct values values;
};

static inline void find(struct found *f, const char *bytes, size_t size,
			enum result_width width)
{
	code_init(&f->code, bytes, size);
	REQUIRE(!cfg_read(&f->code.source, BASE, size, &f->cfg));
	REQUIRE(values_find(&f->cfg, width, NULL, NULL, &f->values));
}

/* find() with the knowledge that F returns its first argument. */
static inline void find_first(struct found *f, const char *bytes, size_t size,
			      enum result_width width)
{
	f->callees = (struct callees){.known = {{CALLEE_FIRST, F}, {CALLEE_OTHER, G}},
				      .known_count = 2};
	code_init(&f->code, bytes, size);
	f->code.source.callees = &f->callees;
	REQUIRE(!cfg_read(&f->code.source, BASE, size, &f->cfg));
	REQUIRE(values_find(&f->cfg, width, NULL, NULL, &f->values));
}

static inline void found_deinit(struct found *f)
{
	values_deinit(&f->values);
	cfg_deinit(&f->cfg);
}

#define FIND(f, bytes, width)       find((f), (bytes), sizeof(bytes) - 1, (width))
#define FIND_FIRST(f, bytes, width) find_first((f), (bytes), sizeof(bytes) - 1, (width))

/* The state before the instruction at this offset. */
static inline const struct result *before(const struct found *f, uint64_t offset)
{
	const struct cfg_insn *at = insn_at(&f->cfg, offset);

	REQUIRE(at);
	return &f->values.results[at - f->cfg.insns.data];
}

static inline place_set held(const struct found *f, uint64_t offset, enum value value)
{
	const struct cfg_insn *at = insn_at(&f->cfg, offset);

	REQUIRE(at);
	return f->values.held[at - f->cfg.insns.data][value];
}

/* The frame word `below` bytes below the return address. */
static inline place_set word(const struct found *f, int32_t below)
{
	for (size_t k = 0; k < f->values.slot_count; k++)
		if (f->values.slots[k] == below)
			return (place_set)1 << (PLACES_SLOT_SHIFT + k);
	REQUIRE(!"the word is followed");
	return 0;
}

/* Checks that the result is in all of these places, and in no other. */
#define CHECK_IN(f, offset, places)                                                      \
	do {                                                                             \
		const struct result *r_ = before((f), (offset));                         \
		CHECK_INT(r_->in, (places));                                             \
		CHECK(!r_->is_known && !r_->is_any);                                     \
	} while (0)

#define CHECK_VALUE(f, offset, number)                                                   \
	do {                                                                             \
		const struct result *r_ = before((f), (offset));                         \
		CHECK(r_->is_known);                                                     \
		CHECK_INT(r_->value, (number));                                          \
	} while (0)

#endif
