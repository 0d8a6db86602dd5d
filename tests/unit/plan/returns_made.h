/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of sites where results are settled: finds them in functions given by their
 * bytes, and compares them with what is expected. */
#ifndef TESTS_UNIT_PLAN_RETURNS_MADE_H
#define TESTS_UNIT_PLAN_RETURNS_MADE_H

#include "check.h"

#include "code/place.h"
#include "plan/returns.h"
#include "unit/code/cfg_made.h"

#define ALL (EMULATED_BRANCH | EMULATED_PUSH | EMULATED_NOPS)

/* --- functions ---------------------------------------------------------------------- */

static const char one_way[] = "\x48\x85\xff"         /* 0: test rdi, rdi */
			      "\x74\x09"             /* 3: je 14 */
			      "\x53"                 /* 5: push rbx */
			      "\xe8\xf5\x4f\x00\x00" /* 6: call g */
			      "\x90"                 /* 11: nop */
			      "\x5b"                 /* 12: pop rbx */
			      "\xc3"                 /* 13: ret */
			      "\x31\xc0"             /* 14: xor eax, eax */
			      "\xc3";                /* 16: ret */

/* --- sites that are found --------------------------------------------------------- */

struct world {
	struct code code;
	struct returns returns;
	uint64_t covered, taken, changed; /* addresses; 0: no such address */
	unsigned checks;
};

static inline bool is_covered(void *arg, uint64_t address)
{
	return ((const struct world *)arg)->covered == address;
}

static inline bool is_taken(void *arg, uint64_t address)
{
	return ((const struct world *)arg)->taken == address;
}

static inline const char *check(void *arg, uint64_t address, size_t size)
{
	struct world *w = arg;

	w->checks++;
	return w->changed >= address && w->changed < address + size ? "it has changed"
								    : NULL;
}

static inline void world_init(struct world *ret, const char *bytes, size_t size)
{
	*ret = (struct world){0};
	code_init(&ret->code, bytes, size);
	ret->returns = (struct returns){.source = &ret->code.source,
					.emulated = ALL,
					.is_covered = is_covered,
					.is_taken = is_taken,
					.check = check,
					.arg = ret};
}

static inline const char *find_asked(struct world *w, enum result_width width,
				     enum value asked, struct return_sites *ret)
{
	return returns_find(&w->returns,
			    &(struct returns_request){.address = BASE,
						      .size = w->code.parts[0].size,
						      .width = width,
						      .asked = asked},
			    ret);
}

static inline const char *find(struct world *w, enum result_width width,
			       struct return_sites *ret)
{
	return find_asked(w, width, RETURN_NO_SIZE, ret);
}

/* An expected value. */
#define OPEN                                                                             \
	{                                                                                \
		RETURN_OPEN, 0, 0                                                        \
	}
#define IN(reg)                                                                          \
	{                                                                                \
		RETURN_REGISTER, (reg), 0                                                \
	}
#define IS(value)                                                                        \
	{                                                                                \
		RETURN_VALUE, 0, (value)                                                 \
	}
#define ALWAYS false, 0

static inline void check_at(int line, struct world *w, enum result_width width,
			    const struct return_site want[], size_t count)
{
	unsigned before = check_state.failures;
	struct return_sites sites;
	const char *why = find(w, width, &sites);

	CHECK(!why);
	CHECK_INT(sites.list.len, count);
	for (size_t i = 0; i < count && i < sites.list.len; i++) {
		const struct return_site *got = &sites.list.data[i];

		CHECK_INT(got->address, want[i].address);
		CHECK_INT(got->sp_delta, want[i].sp_delta);
		CHECK_INT(got->bp_words, want[i].bp_words);
		CHECK_INT(got->has_condition, want[i].has_condition);
		CHECK_INT(got->condition, want[i].condition);
		for (size_t n = 0; n < 2; n++) {
			CHECK_INT(got->value[n].kind, want[i].value[n].kind);
			CHECK_INT(got->value[n].reg, want[i].value[n].reg);
			CHECK_INT(got->value[n].offset, want[i].value[n].offset);
		}
		CHECK_INT(got->is_emulated, want[i].is_emulated);
		CHECK_INT(got->is_shared, want[i].is_shared);
		CHECK(got->reason);
	}
	if (check_state.failures != before) {
		fprintf(stderr, "... at line %d, %s:", line, why ? why : "found");
		for (size_t i = 0; i < sites.list.len; i++) {
			const struct return_site *s = &sites.list.data[i];

			fprintf(stderr,
				" %#" PRIx64 " sp+%d bp%d %d:%d %d,%d,%d %d,%d,%d",
				s->address, s->sp_delta, s->bp_words, s->has_condition,
				s->condition, s->value[0].kind, s->value[0].reg,
				s->value[0].offset, s->value[1].kind, s->value[1].reg,
				s->value[1].offset);
		}
		fprintf(stderr, "\n");
	}
	return_sites_deinit(&sites);
}

/* Fields that returns_find() does not set and that are not compared. */
#define OTHERS false, false, 0, NULL

#define CHECK_SITES(w, width, ...)                                                       \
	do {                                                                             \
		const struct return_site sites_[] = {__VA_ARGS__};                       \
		check_at(__LINE__, (w), (width), sites_, COUNT(sites_));                 \
	} while (0)

#define CHECK_NONE(w, width, reason)                                                     \
	do {                                                                             \
		struct return_sites sites_;                                              \
		CHECK_STR(find((w), (width), &sites_), (reason));                        \
		return_sites_deinit(&sites_);                                            \
	} while (0)

#define WORLD(w, bytes)                                                                  \
	do {                                                                             \
		returns_deinit(&(w)->returns);                                           \
		world_init((w), (bytes), sizeof(bytes) - 1);                             \
	} while (0)

#endif
