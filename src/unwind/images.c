// SPDX-License-Identifier: Apache-2.0
#include "unwind/images.h"

#include <stdlib.h>
#include <string.h>

#include "unwind/same_text.h"
#include "util/budget.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/vec.h"

/* Only a program that does little but map code has more ranges. */
#define RANGES_MAX 32768

/* How many later mappings of the same code are checked when a mapping is read again. */
#define LATER_MAX 16
/* How many overlapping ranges are checked to list one range. */
#define LOOKS_MAX 64

#define FOR_EVER  UINT64_MAX /* a time that never comes */

struct range {
	uint64_t start, end;         /* end exclusive */
	uint64_t since_ns, until_ns; /* until exclusive */
	uint64_t tag;
	uint64_t reach;      /* the largest end of the ranges up to this one */
	struct image *image; /* held; NULL: none, or it could not be read */
	struct walk_code code;
	bool is_of_file;  /* the mapping is of a file, perhaps an unreadable one */
	bool is_doubtful; /* the code is not known */
};

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
	VEC(struct range) ranges; /* by start */
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

void images_destroy(struct images *images)
{
	if (!images)
		return;
	vec_foreach (range, &images->ranges)
		image_release(range->image);
	vec_deinit(&images->ranges);
	free(images);
}

static bool in_force(const struct range *range, uint64_t at_ns)
{
	return range->since_ns <= at_ns && at_ns < range->until_ns;
}

static void set_reaches(struct images *images, size_t from)
{
	uint64_t reach = from ? images->ranges.data[from - 1].reach : 0;

	for (size_t i = from; i < images->ranges.len; i++) {
		struct range *range = &images->ranges.data[i];

		reach = range->end > reach ? range->end : reach;
		range->reach = reach;
	}
}

struct error *images_copy(const struct images *images, uint64_t at_ns,
			  struct images **ret)
{
	_cleanup_(images_destroyp) struct images *copy = NULL;
	struct error *err = images_create(images->store, &copy);

	if (!err && !vec_reserve(&copy->ranges, images->ranges.len))
		err = error_no_memory();
	if (err)
		return err;
	vec_foreach (range, &images->ranges) {
		if (!in_force(range, at_ns))
			continue;
		copy->ranges.data[copy->ranges.len] = *range;
		copy->ranges.data[copy->ranges.len].until_ns = FOR_EVER;
		copy->ranges.data[copy->ranges.len++].image = image_ref(range->image);
	}
	set_reaches(copy, 0);
	*ret = take(copy);
	return NULL;
}

/* --- finding ---------------------------------------------------------------------- */

/* The number of ranges that begin at or before `address`. */
static size_t count_up_to(const struct images *images, uint64_t address)
{
	return vec_count_up_to(&images->ranges, start, address);
}

static const struct range *find(const struct images *images, uint64_t pc, uint64_t at_ns)
{
	const struct range *found = NULL;

	for (size_t i = count_up_to(images, pc); i-- > 0;) {
		const struct range *range = &images->ranges.data[i];

		if (range->reach <= pc)
			break;
		if (range->end > pc && in_force(range, at_ns) &&
		    (!found || range->since_ns > found->since_ns))
			found = range;
	}
	return found;
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
	return a->since_ns > b->since_ns || (a->since_ns == b->since_ns && a > b);
}

/* Does a later range overlap the range? Also true if there are too many ranges to
 * check. */
static bool is_cut(const struct images *images, const struct range *range, uint64_t at_ns)
{
	unsigned looks = 0;

	for (size_t i = count_up_to(images, range->end - 1); i-- > 0;) {
		const struct range *other = &images->ranges.data[i];

		if (other->reach <= range->start)
			break;
		if (++looks > LOOKS_MAX ||
		    (other != range && other->end > range->start &&
		     in_force(other, at_ns) && is_later(other, range)))
			return true;
	}
	return false;
}

size_t images_list(const struct images *images, uint64_t at_ns, struct images_range ret[],
		   size_t max)
{
	size_t count = 0;

	for (size_t i = images->ranges.len; i-- > 0 && count < max;) {
		const struct range *range = &images->ranges.data[i];

		if (range->code.cfi && !range->is_doubtful && in_force(range, at_ns) &&
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
			uint64_t at_ns)
{
	const struct range *at = find(images, range->start, at_ns);

	if (!at || at->is_doubtful || at->end < range->end || !same_code(at, range))
		return false;
	for (size_t i = count_up_to(images, range->end - 1); i-- > 0;) {
		const struct range *other = &images->ranges.data[i];

		if (other->reach <= range->start)
			break;
		if (other->end > range->start && in_force(other, at_ns) &&
		    other->since_ns > at->since_ns && !same_code(other, at))
			return false;
	}
	return true;
}

/* Is the range known at its beginning, or from some later time on? Lists of mappings
 * that are read while mappings change repeat mappings that events have reported. */
static bool is_known(const struct images *images, const struct range *range)
{
	unsigned looks = 0;

	if (is_known_at(images, range, range->since_ns))
		return true;
	for (size_t i = count_up_to(images, range->start); i-- > 0;) {
		const struct range *later = &images->ranges.data[i];

		if (later->reach <= range->start || looks == LATER_MAX)
			break;
		if (later->since_ns <= range->since_ns || later->end < range->end ||
		    !same_code(later, range))
			continue;
		if (is_known_at(images, range, later->since_ns))
			return true;
		looks++;
	}
	return false;
}

static void note_replaced(const struct images *images, const struct range *range,
			  struct images_change *ret)
{
	for (size_t i = count_up_to(images, range->end - 1); i-- > 0;) {
		const struct range *old = &images->ranges.data[i];

		if (old->reach <= range->start)
			break;
		if (old->end <= range->start || !in_force(old, range->since_ns) ||
		    old->is_doubtful || same_code(old, range))
			continue;
		ret->is_replaced = true;
		ret->tag = old->tag > ret->tag ? old->tag : ret->tag;
		ret->last_ns =
			old->since_ns > ret->last_ns ? old->since_ns : ret->last_ns;
	}
}

/* The vector must have room. */
static void insert(struct images *images, struct range range)
{
	size_t at = count_up_to(images, range.start);

	memmove(images->ranges.data + at + 1, images->ranges.data + at,
		(images->ranges.len - at) * sizeof(range));
	images->ranges.data[at] = range;
	images->ranges.len++;
	images->version += range.code.cfi != NULL;
	set_reaches(images, at);
}

/* Mark the place of `range` as unknown from `after_ns` until the range begins. */
static void insert_doubt(struct images *images, const struct range *range,
			 uint64_t after_ns)
{
	struct range doubt = {.start = range->start,
			      .end = range->end,
			      .since_ns = after_ns,
			      .until_ns = FOR_EVER,
			      .is_doubtful = true};

	if (after_ns < range->since_ns)
		insert(images, doubt);
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

	*ret = (struct images_change){0};
	if (m->start >= m->end)
		return NULL;
	if (images->ranges.len >= RANGES_MAX)
		return error_create(ERROR_UNSUPPORTED, "too many mappings of code");
	if (!vec_reserve(&images->ranges, images->ranges.len + 2))
		return error_no_memory();
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
		insert_doubt(images, &range,
			     time.after_ns > ret->last_ns ? time.after_ns
							  : ret->last_ns + 1);
	else
		range.since_ns = time.unless_known_ns;
	insert(images, range);
	return NULL;
}

void images_end(struct images *images, uint64_t at_ns)
{
	images->version++;
	vec_foreach (range, &images->ranges)
		if (range->until_ns > at_ns && range->since_ns < at_ns)
			range->until_ns = at_ns;
}

/* Has a later range replaced the whole range before that time? */
static bool is_covered(const struct images *images, const struct range *range,
		       uint64_t before_ns)
{
	for (size_t i = count_up_to(images, range->start); i-- > 0;) {
		const struct range *later = &images->ranges.data[i];

		if (later->reach < range->end)
			break;
		if (later != range && later->end >= range->end &&
		    later->since_ns > range->since_ns && later->since_ns < before_ns)
			return true;
	}
	return false;
}

void images_prune(struct images *images, uint64_t before_ns)
{
	size_t kept = 0;

	/* Mark first and remove then, since each range is compared with all others. */
	vec_foreach (range, &images->ranges)
		if (is_covered(images, range, before_ns) && range->until_ns > before_ns)
			range->until_ns = 0;
	vec_foreach (range, &images->ranges) {
		if (range->until_ns < before_ns)
			image_release(range->image);
		else
			images->ranges.data[kept++] = *range;
	}
	images->ranges.len = kept;
	set_reaches(images, 0);
	image_store_tidy(images->store);
}

uint64_t images_version(const struct images *images)
{
	return images->version;
}

size_t images_count(const struct images *images)
{
	return images->ranges.len;
}

size_t images_unread(const struct images *images)
{
	size_t count = 0;

	vec_foreach (range, &images->ranges)
		count += range->is_of_file && !range->image &&
			 range->until_ns == FOR_EVER &&
			 find(images, range->start, FOR_EVER - 1) == range;
	return count;
}
