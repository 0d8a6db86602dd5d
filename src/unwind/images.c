// SPDX-License-Identifier: Apache-2.0
#include "unwind/images.h"

#include <stdlib.h>
#include <string.h>

#include "unwind/range_tree.h"
#include "unwind/same_text.h"
#include "util/budget.h"
#include "util/cleanup.h"
#include "util/clock.h"

/* Only a program that does little but map code has more ranges. */
#define RANGES_MAX 32768

/* How many later mappings of the same code are checked when a mapping is read again. */
#define LATER_MAX 16
/*
 * How many ranges one operation looks at, or the listing or removal of one range. Then it
 * assumes the worse: the code is unknown, or was replaced. Usually a search among 30,000
 * ranges looks at fewer than 200.
 */
#define LOOKS_MAX      4096
#define LIST_LOOKS_MAX 512

#define FOR_EVER       UINT64_MAX /* a time that never comes */

/* Anonymous memory that was found to contain a file's text. The comparison is
 * expensive, so its result is trusted until `until_ns`. */
struct adopted {
	uint64_t start, end, until_ns;
	struct walk_code code;
};

#define ADOPTED_MAX 4
/* The time for comparisons: so much at once, and a fifth of the elapsed time in the
 * long run, since programs can map any amount of such memory. */
#define COMPARING_AHEAD_NS UINT64_C(200000000)
#define COMPARING_SHARE    5
/* A result is trusted for this many times the time of its comparison. */
#define BELIEF 20

struct images {
	struct image_store *store;
	struct range_tree ranges;
	uint64_t version;
	struct adopted adopted[ADOPTED_MAX];
	unsigned next_adopted;
	struct budget comparing;
};

DEFINE_CLEANUP(struct images *, images_destroy);

struct error *images_create(struct image_store *store, struct images **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return error_no_memory();
	(*ret)->store = store;
	return NULL;
}

static bool release(struct range *range, void *arg)
{
	(void)arg;
	image_release(range->image);
	return false;
}

void images_destroy(struct images *images)
{
	if (!images)
		return;
	range_tree_filter(&images->ranges, release, NULL);
	free(images);
}

struct copying {
	struct images *to;
	uint64_t at_ns;
	bool has_failed;
};

static void copy_range(const struct range *range, void *arg)
{
	struct copying *copying = arg;
	struct range copy = *range;

	copy.until_ns = FOR_EVER;
	if (copying->has_failed || range->since_ns > copying->at_ns ||
	    copying->at_ns >= range->until_ns)
		return;
	copying->has_failed = !range_tree_insert(&copying->to->ranges, copy);
	if (!copying->has_failed)
		(void)image_ref(range->image);
}

struct error *images_copy(const struct images *images, uint64_t at_ns,
			  struct images **ret)
{
	_cleanup_(images_destroyp) struct images *copy = NULL;
	struct error *err = images_create(images->store, &copy);
	struct copying copying = {copy, at_ns, false};

	if (err)
		return err;
	range_tree_visit(&images->ranges, copy_range, &copying);
	if (copying.has_failed)
		return error_no_memory();
	*ret = take(copy);
	return NULL;
}

/* --- finding ---------------------------------------------------------------------- */

/* The ranges that overlap [start, end) and are in force at a time. */
static struct range_query overlapping(uint64_t start, uint64_t end, uint64_t at_ns)
{
	return (struct range_query){.start_max = end - 1,
				    .end_above = start,
				    .upto_ns = at_ns,
				    .until_above_ns = at_ns};
}

/* The ranges that contain all of `range` and began after it. */
static struct range_query containing(const struct range *range)
{
	return (struct range_query){.start_max = range->start,
				    .end_above = range->end - 1,
				    .from_ns = range->since_ns + 1,
				    .upto_ns = FOR_EVER};
}

static const struct range *find_within(const struct images *images, uint64_t pc,
				       uint64_t at_ns, unsigned *left)
{
	struct range_query query = overlapping(pc, pc + 1, at_ns);
	const struct range *range = NULL, *found = NULL;

	while ((range = range_tree_before(&images->ranges, range, &query, left))) {
		found = range;
		query.from_ns = range->since_ns + 1;
	}
	return *left ? found : NULL;
}

static const struct range *find(const struct images *images, uint64_t pc, uint64_t at_ns)
{
	unsigned left = LOOKS_MAX;

	return find_within(images, pc, at_ns, &left);
}

bool images_find(const struct images *images, uint64_t pc, uint64_t at_ns,
		 struct walk_code *ret)
{
	const struct range *range = find(images, pc, at_ns);

	if (!range || range->is_doubtful)
		return false;
	*ret = range->code;
	return true;
}

/* Of two ranges in force: does `a` have precedence? */
static bool is_later(const struct range *a, const struct range *b)
{
	return a->since_ns > b->since_ns ||
	       (a->since_ns == b->since_ns && range_is_before(b, a));
}

/* Does a later range overlap the range? Also true if there are too many ranges to
 * check. */
static bool is_cut(const struct images *images, const struct range *range, uint64_t at_ns)
{
	struct range_query query = overlapping(range->start, range->end, at_ns);
	const struct range *other = NULL;
	unsigned left = LIST_LOOKS_MAX;

	query.from_ns = range->since_ns;
	while ((other = range_tree_before(&images->ranges, other, &query, &left)))
		if (is_later(other, range))
			return true;
	return !left;
}

size_t images_list(const struct images *images, uint64_t at_ns, struct images_range ret[],
		   size_t max)
{
	struct range_query query = overlapping(0, FOR_EVER, at_ns);
	const struct range *range = NULL;
	size_t count = 0;

	while (count < max) {
		unsigned left = LOOKS_MAX;

		range = range_tree_before(&images->ranges, range, &query, &left);
		if (!range)
			break;
		if (range->code.cfi && !range->is_doubtful &&
		    !is_cut(images, range, at_ns))
			ret[count++] = (struct images_range){range->start, range->end,
							     range->code};
	}
	for (size_t i = 0; i < count / 2; i++) {
		struct images_range other = ret[i];

		ret[i] = ret[count - 1 - i];
		ret[count - 1 - i] = other;
	}
	return count;
}

bool images_extent(const struct images *images, uint64_t pc, uint64_t at_ns,
		   uint64_t *start, uint64_t *end)
{
	const struct range *range = find(images, pc, at_ns);

	if (!range || range->is_doubtful)
		return false;
	*start = range->start;
	*end = range->end;
	return true;
}

bool images_find_then(void *moment, uint64_t pc, struct walk_code *ret)
{
	const struct images_moment *m = moment;

	return m->images && images_find(m->images, pc, m->at_ns, ret);
}

/* --- changing --------------------------------------------------------------------- */

/* Is it the same place in the same file, perhaps under different names? Two unreadable
 * files count as the same. */
static bool same_code(const struct range *a, const struct range *b)
{
	return a->is_of_file == b->is_of_file && image_is_same(a->image, b->image) &&
	       a->code.bias == b->code.bias;
}

/* Is the range, at that time, within a known range of the same code that no later range
 * of other code overlaps? */
static bool is_known_at(const struct images *images, const struct range *range,
			uint64_t at_ns, unsigned *left)
{
	const struct range *at = find_within(images, range->start, at_ns, left);
	struct range_query query = overlapping(range->start, range->end, at_ns);
	const struct range *other = NULL;

	if (!at || at->is_doubtful || at->end < range->end || !same_code(at, range))
		return false;
	query.from_ns = at->since_ns + 1;
	while ((other = range_tree_before(&images->ranges, other, &query, left)))
		if (!same_code(other, at))
			return false;
	return *left;
}

/* Is the range known at its beginning, or from some later time on? Lists of mappings
 * that are read while mappings change repeat mappings that events have reported. */
static bool is_known(const struct images *images, const struct range *range)
{
	struct range_query query = containing(range);
	const struct range *later = NULL;
	unsigned left = LOOKS_MAX, tries = 0;

	if (is_known_at(images, range, range->since_ns, &left))
		return true;
	while (tries < LATER_MAX &&
	       (later = range_tree_before(&images->ranges, later, &query, &left))) {
		if (!same_code(later, range))
			continue;
		if (is_known_at(images, range, later->since_ns, &left))
			return true;
		tries++;
	}
	return false;
}

static void note_replaced(const struct images *images, const struct range *range,
			  struct images_change *ret)
{
	struct range_query query = overlapping(range->start, range->end, range->since_ns);
	const struct range *old = NULL;
	unsigned left = LOOKS_MAX;

	while ((old = range_tree_before(&images->ranges, old, &query, &left))) {
		if (old->is_doubtful || same_code(old, range))
			continue;
		ret->is_replaced = true;
		ret->tag = old->tag > ret->tag ? old->tag : ret->tag;
		ret->last_ns =
			old->since_ns > ret->last_ns ? old->since_ns : ret->last_ns;
	}
	if (left)
		return;
	/* Too many to look at all of them. */
	ret->is_replaced = true;
	ret->tag = images->ranges.tag_max;
	ret->last_ns = images->ranges.since_max_ns < range->since_ns
			       ? images->ranges.since_max_ns
			       : range->since_ns;
}

static bool insert(struct images *images, const struct range *range)
{
	images->version += range->code.cfi != NULL;
	return range_tree_insert(&images->ranges, *range);
}

/* Mark the place of `range` as unknown from `after_ns` until the range begins. */
static bool insert_doubt(struct images *images, const struct range *range,
			 uint64_t after_ns)
{
	struct range doubt = {.start = range->start,
			      .end = range->end,
			      .since_ns = after_ns,
			      .until_ns = FOR_EVER,
			      .is_doubtful = true};

	return after_ns >= range->since_ns || insert(images, &doubt);
}

/* --- text in anonymous memory ----------------------------------------------------- */

static bool same_place(const struct walk_code *a, const struct walk_code *b)
{
	return a->cfi == b->cfi && a->bias == b->bias;
}

/* Does the range contain the text of `code`? Uses a trusted result or compares. */
static bool has_text(struct images *images, int pid, const struct range *range,
		     const struct walk_code *code)
{
	uint64_t begun_ns = clock_now_ns();

	for (size_t i = 0; i < ADOPTED_MAX; i++) {
		const struct adopted *a = &images->adopted[i];

		if (a->start == range->start && a->end == range->end &&
		    begun_ns < a->until_ns && same_place(&a->code, code))
			return true;
	}
	if (budget_is_spent(&images->comparing, begun_ns, COMPARING_AHEAD_NS))
		return false;

	uint64_t begun_cpu_ns = clock_thread_cpu_ns();
	bool is_same = same_text(pid, range->start, range->end, code);
	uint64_t now_ns = clock_now_ns();

	budget_spend(&images->comparing, begun_ns, clock_thread_cpu_ns() - begun_cpu_ns,
		     COMPARING_SHARE);
	if (!is_same)
		return false;
	images->adopted[images->next_adopted++ % ADOPTED_MAX] = (struct adopted){
		range->start, range->end, now_ns + BELIEF * (now_ns - begun_ns), *code};
	return true;
}

/* If the range contains the text of a known file, take it for that file. Candidates are
 * the files mapped at its place, right before it and right after it. */
static void adopt(struct images *images, int pid, struct range *range)
{
	const uint64_t beside[] = {range->start, range->start - 1, range->end};

	for (size_t i = 0; i < sizeof(beside) / sizeof(*beside) && !range->image; i++) {
		const struct range *of = find(images, beside[i], FOR_EVER - 1);

		if (!of || !of->is_of_file || !of->code.cfi ||
		    !has_text(images, pid, range, &of->code))
			continue;
		range->is_of_file = true;
		range->code = of->code;
		range->image = image_ref(of->image);
	}
}

/* --- adding ----------------------------------------------------------------------- */

struct error *images_add(struct images *images, int pid, const struct proc_mapping *m,
			 struct images_time time, uint64_t tag, struct images_change *ret)
{
	struct range range = {.start = m->start,
			      .end = m->end,
			      .since_ns = time.since_ns,
			      .until_ns = FOR_EVER,
			      .tag = tag,
			      .is_of_file = m->inode};
	bool has_room = true;

	*ret = (struct images_change){0};
	if (m->start >= m->end)
		return NULL;
	if (images->ranges.count >= RANGES_MAX)
		return error_create(ERROR_UNSUPPORTED,
				    "the process has more mappings of code than memtrace "
				    "unwinds through (%u)",
				    RANGES_MAX);
	range.image = image_store_get(images->store, pid, m);
	if (range.image && cfi_bias(image_cfi(range.image), m->start, m->file_offset,
				    &range.code.bias)) {
		range.code.cfi = image_cfi(range.image);
		range.code.number = image_number(range.image);
	}
	if (!m->inode && !range.image)
		adopt(images, pid, &range);
	if (is_known(images, &range)) {
		image_release(range.image);
		return NULL;
	}
	note_replaced(images, &range, ret);
	ret->is_new = true;
	/* The last known code was certainly there for at least a moment. */
	if (ret->is_replaced)
		has_room = insert_doubt(images, &range,
					time.after_ns > ret->last_ns ? time.after_ns
								     : ret->last_ns + 1);
	else
		range.since_ns = time.unless_known_ns;
	if (has_room && insert(images, &range))
		return NULL;
	ret->is_new = false;
	image_release(range.image);
	return error_no_memory();
}

static bool end_range(struct range *range, void *arg)
{
	const uint64_t *at_ns = arg;

	if (range->until_ns > *at_ns && range->since_ns < *at_ns)
		range->until_ns = *at_ns;
	return true;
}

void images_end(struct images *images, uint64_t at_ns)
{
	images->version++;
	range_tree_filter(&images->ranges, end_range, &at_ns);
}

struct pruning {
	const struct images *images;
	uint64_t before_ns;
};

/* Mark a range for removal if a later one has replaced all of it before that time. */
static bool mark_covered(struct range *range, void *arg)
{
	const struct pruning *pruning = arg;
	struct range_query query = containing(range);
	unsigned left = LIST_LOOKS_MAX;

	query.upto_ns = pruning->before_ns - 1;
	if (range->until_ns > pruning->before_ns &&
	    range_tree_before(&pruning->images->ranges, NULL, &query, &left))
		range->until_ns = 0;
	return true;
}

static bool keep_current(struct range *range, void *arg)
{
	const struct pruning *pruning = arg;

	if (range->until_ns >= pruning->before_ns)
		return true;
	image_release(range->image);
	return false;
}

void images_prune(struct images *images, uint64_t before_ns)
{
	struct pruning pruning = {images, before_ns};

	/* Mark first and remove then, since each range is compared with all others. */
	if (before_ns)
		range_tree_filter(&images->ranges, mark_covered, &pruning);
	range_tree_filter(&images->ranges, keep_current, &pruning);
	image_store_tidy(images->store);
}

uint64_t images_version(const struct images *images)
{
	return images->version;
}

size_t images_count(const struct images *images)
{
	return images->ranges.count;
}

size_t images_unread(const struct images *images)
{
	struct range_query query = overlapping(0, FOR_EVER, FOR_EVER - 1);
	const struct range *range = NULL;
	size_t count = 0;

	for (;;) {
		unsigned left = LOOKS_MAX;

		range = range_tree_before(&images->ranges, range, &query, &left);
		if (!range)
			return count;
		count += range->is_of_file && !range->image &&
			 find(images, range->start, FOR_EVER - 1) == range;
	}
}
