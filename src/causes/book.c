// SPDX-License-Identifier: Apache-2.0
#include "causes/book.h"

#include <stdlib.h>
#include <string.h>

#include "util/mix.h"

/* One more of each, because calloc(0) may return NULL. */
bool cause_book_init(struct cause_book *ret, size_t frame_count)
{
	*ret = (struct cause_book){
		.functions = malloc((frame_count + 1) * sizeof(*ret->functions)),
		.origins = calloc(frame_count + 1, sizeof(*ret->origins)),
		.frame_count = frame_count,
	};
	hashmap_init(&ret->by_steps, hashmap_seed());
	if (!ret->functions || !ret->origins)
		return false;
	memset(ret->functions, 0xff, (frame_count + 1) * sizeof(*ret->functions));
	return true;
}

void cause_book_deinit(struct cause_book *book)
{
	free(book->functions);
	free(book->origins);
	vec_deinit(&book->sorted);
	vec_deinit(&book->keys);
	vec_deinit(&book->steps);
	vec_deinit(&book->places);
	hashmap_deinit(&book->by_steps);
}

/* --- functions ---------------------------------------------------------------------- */

static int compare_texts(const char *a, const char *b)
{
	/* Mostly equal texts of one snapshot have one address. */
	if (a == b)
		return 0;
	return !a || !b ? (a != NULL) - (b != NULL) : strcmp(a, b);
}

/* Order frames by function: by name and module; without a name by the place in the
 * module. */
static int compare_functions(const struct report_frame *a, const struct report_frame *b)
{
	int order = compare_texts(a->symbol, b->symbol);

	if (!order)
		order = compare_texts(a->module, b->module);
	if (!order && !a->symbol && a->offset != b->offset)
		order = a->offset < b->offset ? -1 : 1;
	if (!order && !a->symbol && !a->module && a->address != b->address)
		order = a->address < b->address ? -1 : 1;
	return order;
}

static int compare_frames(const void *pa, const void *pb)
{
	return compare_functions(*(const struct report_frame *const *)pa,
				 *(const struct report_frame *const *)pb);
}

/* The number that `known` has for the frame's function; CAUSES_NONE: it has none. */
static uint32_t known_function(const struct cause_book *known,
			       const struct report_frame *frame)
{
	const struct report_frame **found =
		known && known->sorted.len
			? bsearch(&frame, known->sorted.data, known->sorted.len,
				  sizeof(*known->sorted.data), compare_frames)
			: NULL;

	return found ? known->functions[(*found)->index] : CAUSES_NONE;
}

/* Does whose code it is depend on the same? Both are of one function. */
static bool is_judged_alike(const struct report_frame *a, const struct report_frame *b,
			    const char *const executables[])
{
	return a->is_gap == b->is_gap && !compare_texts(a->file, b->file) &&
	       !compare_texts(executables[a->index], executables[b->index]);
}

bool cause_book_judge(struct cause_book *book, const struct cause_book *known,
		      const struct report_frame **frames, size_t count,
		      const char *const executables[])
{
	struct strbuf scratch = {0};
	uint32_t next = known ? known->function_count : 0, number = CAUSES_NONE;
	bool ok;

	if (count)
		qsort(frames, count, sizeof(*frames), compare_frames);
	for (size_t i = 0; i < count; i++) {
		const struct report_frame *frame = frames[i];
		const struct report_frame *last = i ? frames[i - 1] : NULL;
		bool is_same = last && !compare_functions(last, frame);

		if (!is_same)
			number = known_function(known, frame);
		if (number == CAUSES_NONE)
			number = next++;
		book->functions[frame->index] = number;
		/* Judging takes longer than comparing. */
		if (is_same && is_judged_alike(last, frame, executables))
			book->origins[frame->index] = book->origins[last->index];
		else
			book->origins[frame->index] = code_origin_of(
				frame, executables[frame->index], &scratch);
	}
	book->function_count = next;
	ok = !scratch.failed;
	strbuf_deinit(&scratch);
	return ok;
}

/* --- keys --------------------------------------------------------------------------- */

static uint64_t hash_steps(const struct cause_steps *steps)
{
	uint64_t hash = steps->count;

	for (size_t i = 0; i < steps->count; i++)
		hash = mix(hash, steps->numbers[i]);
	return hash;
}

static bool has_steps(const struct cause_book *book, const struct cause_key *key,
		      const struct cause_steps *steps)
{
	return key->step_count == steps->count &&
	       (!steps->count ||
		!memcmp(book->steps.data + key->first_step, steps->numbers,
			steps->count * sizeof(*steps->numbers)));
}

uint32_t cause_book_find(const struct cause_book *book, const struct cause_steps *steps,
			 bool has_no_stack)
{
	uint64_t at = CAUSES_NONE;

	hashmap_get(&book->by_steps, hash_steps(steps), &at);
	while (at != CAUSES_NONE) {
		const struct cause_key *key = &book->keys.data[at];

		if (key->has_no_stack == has_no_stack && has_steps(book, key, steps))
			break;
		at = key->next;
	}
	return (uint32_t)at;
}

bool cause_book_add(struct cause_book *book, size_t first_step, bool has_no_stack)
{
	struct cause_key key = {
		.first_step = first_step,
		.step_count = book->steps.len - first_step,
		.has_no_stack = has_no_stack,
	};
	const struct cause_steps steps =
		cause_book_steps(book, first_step, key.step_count);
	uint64_t hash = hash_steps(&steps), next = CAUSES_NONE;

	hashmap_get(&book->by_steps, hash, &next);
	key.next = (uint32_t)next;
	return vec_push(&book->keys, key) &&
	       hashmap_put(&book->by_steps, hash, book->keys.len - 1);
}
