/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How causes_find() has grouped call paths: which functions the frames belong to, and
 * which functions make a cause. It does not change while frames keep their names, so the
 * next report of the same run takes most of it from here. Private to causes/.
 */
#ifndef CAUSES_BOOK_H
#define CAUSES_BOOK_H

#include "frames/own_code.h"
#include "report/report.h"
#include "util/hashmap.h"
#include "util/vec.h"

/* Of a frame: its function is not numbered. Of a call path: its cause is not known. Of a
 * chain: its end. */
#define CAUSES_NONE UINT32_MAX

/* The functions that make a cause. */
struct cause_key {
	size_t first_step, step_count; /* in `steps`, innermost first */
	bool has_no_stack;             /* for blocks without a stack */
	uint32_t next; /* another one with the same hash, or CAUSES_NONE */
};

/* The cause of a stack. */
struct cause_place {
	const struct report_frame *const *frames; /* of its row */
	uint32_t cause;                           /* index in `keys`, or CAUSES_NONE */
	uint32_t named_by;                        /* cause_part.named_by */
};

struct cause_book {
	/* By report_frame.index. */
	uint32_t *functions;         /* numbers, or CAUSES_NONE */
	struct code_origin *origins; /* of numbered frames */
	size_t frame_count;
	/* The numbered frames, in order of their functions. */
	VEC(const struct report_frame *) sorted;
	uint32_t function_count;
	VEC(struct cause_key) keys;
	VEC(uint32_t) steps;            /* numbers of functions */
	struct hashmap by_steps;        /* a hash of the steps -> index in `keys` */
	VEC(struct cause_place) places; /* by stack */
};

/* Room for this many frames; none is numbered. The caller calls cause_book_deinit(), also
 * after false. False: memory is out. */
bool cause_book_init(struct cause_book *ret, size_t frame_count)
	__attribute__((warn_unused_result));
void cause_book_deinit(struct cause_book *book);

/*
 * Number the functions of `frames`, the same number for all frames of one function, and
 * find whose code they are. Functions that `known` (NULL: none) has keep its numbers.
 * `executables` is by report_frame.index: the program of the frame's process, or NULL.
 * Sorts `frames`. False: memory is out.
 */
bool cause_book_judge(struct cause_book *book, const struct cause_book *known,
		      const struct report_frame **frames, size_t count,
		      const char *const executables[])
	__attribute__((warn_unused_result));

/* Functions, innermost first. Borrowed until a step is added. */
struct cause_steps {
	const uint32_t *numbers; /* NULL if `count` is 0 */
	size_t count;
};

static inline struct cause_steps cause_book_steps(const struct cause_book *book,
						  size_t first, size_t count)
{
	return (struct cause_steps){count ? book->steps.data + first : NULL, count};
}

/* The number of the key with these steps and this flag; CAUSES_NONE: no key has them. */
uint32_t cause_book_find(const struct cause_book *book, const struct cause_steps *steps,
			 bool has_no_stack);

/* Add a key that is not there, with all of book->steps from `first_step` on. False:
 * memory is out. */
bool cause_book_add(struct cause_book *book, size_t first_step, bool has_no_stack)
	__attribute__((warn_unused_result));

#endif
