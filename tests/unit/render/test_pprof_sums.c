// SPDX-License-Identifier: Apache-2.0
/* The samples of a profile add up to what the report has, also if frames or rows are left
 * out. */
#include "fixture.h"
#include "fixture_timeline.h"
#include "frames/filter.h"
#include "profile.pb-c.h"
#include "render/pprof/pprof.h"
#include "unpacked_profile.h"

/* A report without blocks, as engines scrape it. */
static void report_rows(struct fixture *f)
{
	const struct report_options options = {
		.older_ns = 1, .group_by_process = true, .past = true};

	fixture_report_with(f, &options);
}

static struct unpacked render_with(const struct report *report,
				   const struct pprof_options *options)
{
	char *gz = NULL;
	size_t len;
	FILE *out = open_memstream(&gz, &len);

	REQUIRE(out);
	REQUIRE(!pprof_render(report, options, out));
	REQUIRE(!fclose(out));
	return unpack(gz, len);
}

/* The mark for omitted frames has neither an address nor a mapping that pprof could
 * show. */
static void left_out_frames_have_a_name(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);

	uint64_t leaf = fixture_symbol(&f, "leaf", "/srv/app/bin/leaky");
	uint64_t root = fixture_symbol(&f, "root", "/srv/app/bin/leaky");
	uint32_t deep = FIXTURE_STACK(&f, STACK_END_COMPLETE, leaf, root);

	f.snap->stacks.data[deep].gap = 1;
	fixture_block(&f, BLOCK_HEAP, 100, 4321, deep);

	_cleanup_(unpacked_deinit) struct unpacked u = render(&f);
	const Pprof__Profile *p = u.profile;

	check_valid(p);
	REQUIRE(p->n_sample == 1 && p->sample[0]->n_location_id == 3);
	CHECK_STR(frame_name(p, p->sample[0], 0), "leaf");
	CHECK_STR(frame_name(p, p->sample[0], 1), "[frames left out: deep recursion]");
	CHECK_STR(frame_name(p, p->sample[0], 2), "root");
	CHECK_INT(find_location(p, p->sample[0]->location_id[1])->mapping_id, 0);
}

/* What does not fit is not lost: it is in one sample. */
static void limits_fold_the_rest(void)
{
	const struct pprof_options whole_options = {.max_samples = 100},
				   options = {.max_samples = 3};
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);
	report_rows(&f);

	_cleanup_(unpacked_deinit) struct unpacked whole =
		render_with(f.report, &whole_options);
	_cleanup_(unpacked_deinit) struct unpacked u = render_with(f.report, &options);
	const Pprof__Profile *p = u.profile;

	check_valid(whole.profile);
	REQUIRE(whole.profile->n_sample == 5);
	CHECK(!strstr(text(whole.profile, whole.profile->comment[0]), "[other]"));
	check_valid(p);
	REQUIRE(p->n_sample == 3);
	for (size_t i = 0; i < p->n_sample; i++)
		CHECK_INT(p->sample[i]->n_label, 0);
	CHECK_INT(sum(p, 0), sum(whole.profile, 0));
	CHECK_INT(sum(p, 1), sum(whole.profile, 1));
	CHECK_INT(p->sample[0]->value[1], 2 * 1024 * 1024);
	REQUIRE(p->sample[2]->n_location_id == 1);
	CHECK_STR(frame_name(p, p->sample[2], 0), "[other]");
	CHECK_INT(p->sample[2]->value[1], 1050 + 64 + 7);
	CHECK(strstr(text(p, p->comment[0]), "; 3 call paths are folded into [other]"));
}

#define MANY_STACKS 2000

static void bytes_are_limited(void)
{
	const struct pprof_options options = {.max_samples = 16000, .max_bytes = 20000};
	_cleanup_(fixture_deinit) struct fixture f;
	static char names[MANY_STACKS][16];
	uint64_t bytes = 0;

	fixture_init(&f);
	for (size_t i = 0; i < MANY_STACKS; i++) {
		snprintf(names[i], sizeof(names[i]), "function_%zu", i);

		uint64_t leaf = fixture_symbol(&f, names[i], "/srv/app/bin/leaky");

		fixture_block(&f, BLOCK_HEAP, 1000 + i, 4321,
			      FIXTURE_STACK(&f, STACK_END_COMPLETE, leaf));
		bytes += 1000 + i;
	}
	report_rows(&f);

	_cleanup_(unpacked_deinit) struct unpacked u = render_with(f.report, &options);
	const Pprof__Profile *p = u.profile;

	check_valid(p);
	CHECK(u.len <= options.max_bytes);
	/* The limit is used. */
	CHECK(u.len > options.max_bytes / 2);
	CHECK_INT(sum(p, 0), MANY_STACKS);
	CHECK_INT(sum(p, 1), bytes);
	/* The largest are kept. */
	CHECK_STR(frame_name(p, p->sample[0], 0), "function_1999");
	CHECK_STR(frame_name(p, p->sample[p->n_sample - 1], 0), "[other]");
}

/* A limit that cannot be kept: at least one row is shown. */
static void no_limit_is_too_small(void)
{
	const struct pprof_options options = {.max_samples = 1, .max_bytes = 1};
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);
	report_rows(&f);

	_cleanup_(unpacked_deinit) struct unpacked u = render_with(f.report, &options);

	check_valid(u.profile);
	CHECK_INT(sum(u.profile, 1), 2 * 1024 * 1024 + 3100 + 64 + 7);
}

static int64_t value_of(const Pprof__Profile *p, const Pprof__Sample *sample,
			const char *type)
{
	for (size_t i = 0; i < p->n_sample_type; i++)
		if (!strcmp(text(p, p->sample_type[i]->type), type))
			return sample->value[i];
	CHECK_FAIL("no sample type %s", type);
	return 0;
}

static void allocs_show_what_was_allocated(void)
{
	const struct pprof_options options = {.max_samples = 100, .shows_allocs = true};
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);
	fixture_fill_traffic(&f);
	report_rows(&f);

	_cleanup_(unpacked_deinit) struct unpacked u = render_with(f.report, &options);
	const Pprof__Profile *p = u.profile;

	check_valid(p);
	REQUIRE(p->n_sample_type == 4);
	CHECK_STR(text(p, p->sample_type[0]->type), "alloc_objects");
	CHECK_STR(text(p, p->sample_type[1]->type), "alloc_space");
	CHECK_STR(text(p, p->sample_type[2]->type), "inuse_objects");
	CHECK_STR(text(p, p->sample_type[3]->type), "inuse_space");
	CHECK_STR(text(p, p->default_sample_type), "alloc_space");
}

/* The same stacks 5 s later: one has grown by a block, and one is smaller. */
static void changes_may_be_negative(void)
{
	const struct pprof_options options = {.max_samples = 100, .changes = true};
	const struct report_options rows = {
		.older_ns = 1, .group_by_process = true, .past = true};
	struct report *later;
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);
	fixture_fill_traffic(&f);
	report_rows(&f);
	f.snap->time_ns += 5 * FIXTURE_NS;
	/* Of the two blocks of 1 MiB one is freed. */
	f.snap->blocks[BLOCK_HEAP].data[3].size_bytes = 5;
	f.snap->traffic.data[2].allocations += 3;
	f.snap->traffic.data[2].allocated_bytes += 300;
	REQUIRE(!report_build(f.snap, f.history, f.frames, &rows, REPORT_DEMAND, &later));

	_cleanup_(unpacked_deinit) struct unpacked u = render_with(later, &options);
	const Pprof__Profile *p = u.profile;

	check_valid(p);
	CHECK_INT(p->duration_nanos, 5 * FIXTURE_NS);
	REQUIRE(p->n_sample == 1);
	CHECK_INT(value_of(p, p->sample[0], "inuse_space"), 5 - 1024 * 1024);
	CHECK_INT(value_of(p, p->sample[0], "inuse_objects"), 0);
	CHECK_INT(value_of(p, p->sample[0], "alloc_objects"), 3);
	CHECK_INT(value_of(p, p->sample[0], "alloc_space"), 300);
	report_destroy(later);
}

/* The sum of the values that are called `type`, of samples with the function `name`, or
 * of all if it is NULL. -1: no values are called so. */
static int64_t sum_of(const Pprof__Profile *p, const char *type, const char *name)
{
	int64_t total = 0;
	size_t value = 0;

	while (value < p->n_sample_type &&
	       strcmp(text(p, p->sample_type[value]->type), type) != 0)
		value++;
	if (value == p->n_sample_type)
		return -1;
	for (size_t i = 0; i < p->n_sample; i++) {
		bool has = !name;

		for (size_t k = 0; k < p->sample[i]->n_location_id; k++)
			has = has || strstr(frame_name(p, p->sample[i], k), name);
		total += has ? p->sample[i]->value[value] : 0;
	}
	return total;
}

/* Lost bytes of call paths that a filter leaves out are in no sample. */
static void filters_leave_out_what_is_lost(void)
{
	static const enum filter_use uses[] = {FILTER_EXCLUDE, FILTER_SUPPRESS,
					       FILTER_KEEP};

	for (size_t i = 0; i < sizeof(uses) / sizeof(*uses); i++) {
		_cleanup_(fixture_deinit) struct fixture f;
		struct report_filter *filter = report_filter_create();
		bool keeps = uses[i] == FILTER_KEEP;

		REQUIRE(filter);
		REQUIRE(!report_filter_add(filter, uses[i], "fn:Cache::insert*"));
		fixture_init(&f);
		fixture_fill(&f);
		f.snap->search.count = 1;
		for (int64_t k = 0; k < (int64_t)f.snap->stacks.len; k++) {
			const struct snapshot_unreachable lost = {
				.lost = {(uint64_t)1000 << k, 1},
				.held = {(uint64_t)100 << k, 2}};

			REQUIRE(vec_push(&f.snap->unreachable, lost));
			snapshot_unreachable_add(&f.snap->search.total, &lost);
		}

		const struct report_options options = {.filter = filter};

		fixture_report_with(&f, &options);

		_cleanup_(unpacked_deinit) struct unpacked u =
			render_with(f.report, &(struct pprof_options){0});

		check_valid(u.profile);
		/* 1100 and 2200 of the two stacks through it: what lost blocks hold is
		 * lost with them. */
		CHECK_INT(sum_of(u.profile, "lost_space", NULL), keeps ? 3300 : 13200);
		CHECK_INT(sum_of(u.profile, "lost_objects", NULL), 6);
		CHECK_INT(sum_of(u.profile, "lost_space", "Cache::insert"),
			  keeps ? 3300 : 0);
		report_filter_destroy(filter);
	}
}

int main(void)
{
	RUN(limits_fold_the_rest);
	RUN(bytes_are_limited);
	RUN(no_limit_is_too_small);
	RUN(allocs_show_what_was_allocated);
	RUN(changes_may_be_negative);
	RUN(left_out_frames_have_a_name);
	RUN(filters_leave_out_what_is_lost);
	return check_done();
}
