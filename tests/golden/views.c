// SPDX-License-Identifier: Apache-2.0
/*
 * One snapshot with everything that can be measured, shown by each view as text and CSV,
 * and sorted each way. The results are in views/. With a directory as argument, writes
 * the outputs there instead.
 */
#include "cut.h"
#include "unit/render/fixture.h"

#include <stdbool.h>
#include <time.h>

#include "render/views/views.h"
#include "frames/filter.h"

#define MS (FIXTURE_NS / 1000)

DEFINE_CLEANUP(struct report_filter *, report_filter_destroy);

static const char *write_dir;

static void compare(const char *name, const char *suffix, const char *got)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s.%s",
		 write_dir ? write_dir : TEST_DATA_DIR "/golden/views", name, suffix);

	_cleanup_(fclosep) FILE *file = fopen(path, write_dir ? "we" : "re");

	REQUIRE(file);
	if (write_dir) {
		fputs(got, file);
		return;
	}

	size_t cap = 1 << 20;
	_cleanup_(freep) char *want = malloc(cap);

	REQUIRE(want);
	want[fread(want, 1, cap - 1, file)] = '\0';
	CHECK(*want);
	CHECK_STR(got, want);
}

/* Add one block of a stack, `age_ms` old. */
static void add_block(struct fixture *f, uint32_t stack, uint64_t size_bytes,
		      uint64_t age_ms, uint32_t tid)
{
	size_t at = f->snap->blocks[BLOCK_HEAP].len;

	fixture_block(f, BLOCK_HEAP, size_bytes, tid, stack);
	f->snap->blocks[BLOCK_HEAP].data[at].time_ns = f->snap->time_ns - age_ms * MS;
}

static void add_measured(struct fixture *f, const struct snapshot_traffic *traffic,
			 const struct snapshot_lifetimes *lifetimes,
			 const struct snapshot_path_sizes *sizes,
			 const struct snapshot_trend *trend)
{
	REQUIRE(vec_push(&f->snap->traffic, *traffic));
	REQUIRE(vec_push(&f->snap->lifetimes, *lifetimes));
	REQUIRE(vec_push(&f->snap->path_sizes, *sizes));
	REQUIRE(vec_push(&f->snap->trends[BLOCK_HEAP], *trend));
	REQUIRE(vec_push(&f->snap->trends[BLOCK_MAPPING], (struct snapshot_trend){0}));
}

static void add_thread(struct fixture *f, const struct snapshot_thread *thread,
		       const char *name)
{
	REQUIRE(vec_push(&f->snap->threads, *thread));
	f->snap->threads.data[f->snap->threads.len - 1].name = name ? strdup(name) : NULL;
}

/* A leak, a full cache, and churn with no live block. */
static void fill_stacks(struct fixture *f)
{
	uint64_t start = fixture_symbol(f, "_start", "/srv/app/bin/leaky");
	uint64_t loop = fixture_symbol(f, "main_loop", "/srv/app/bin/leaky");
	uint64_t leak = fixture_symbol(f, "parse_request", "/srv/app/bin/leaky");
	uint64_t cache =
		fixture_symbol(f, "Cache::insert(Key const&)", "/usr/lib/libcache.so.2");
	uint64_t churn = fixture_symbol(f, "=format(\"x\")", "/srv/app/bin/leaky");
	uint64_t end_ns = f->snap->time_ns;

	FIXTURE_STACK(f, STACK_END_COMPLETE, leak, loop, start);
	FIXTURE_STACK(f, STACK_END_COMPLETE, cache, loop, start);
	FIXTURE_STACK(f, STACK_END_NO_FRAME, churn, loop);
	for (uint32_t i = 0; i < 9; i++)
		add_block(f, 0, 100 + i, 1000 + 1000 * i, 4321);
	add_block(f, 1, 4096, 9500, 4322);
	add_block(f, 1, 65536, 9000, 4322);
	add_measured(f,
		     &(struct snapshot_traffic){.allocations = 10,
						.allocated_bytes = 1000,
						.frees = 1,
						.freed_bytes = 64,
						.temporary = 0,
						.peak_bytes = 936,
						.peak_time_ns = end_ns - 1000 * MS,
						.peak_count = 9},
		     &(struct snapshot_lifetimes){{[3] = 1}},
		     &(struct snapshot_path_sizes){{[7] = 10}},
		     &(struct snapshot_trend){12, 11, 0, 93.5, 0.9942, 0, 1122, 0});
	add_measured(
		f,
		&(struct snapshot_traffic){.allocations = 40,
					   .allocated_bytes = 409600,
					   .frees = 38,
					   .freed_bytes = 339968,
					   .temporary = 2,
					   .peak_bytes = 131072,
					   .peak_time_ns = end_ns - 7500 * MS,
					   .peak_count = 4},
		&(struct snapshot_lifetimes){{[0] = 2, [5] = 30, [11] = 6}},
		&(struct snapshot_path_sizes){{[13] = 38, [SNAPSHOT_PATH_SIZES - 1] = 2}},
		&(struct snapshot_trend){12, 3, 2, 1500, 0.61, 8, 18000, 4096});
	add_measured(f,
		     &(struct snapshot_traffic){.allocations = 5000,
						.allocated_bytes = 160000,
						.frees = 5000,
						.freed_bytes = 160000,
						.temporary = 4900,
						.peak_bytes = 64,
						.peak_time_ns = end_ns - 9999 * MS,
						.peak_count = 2},
		     &(struct snapshot_lifetimes){
			     {[0] = 4990, [1] = 9, [SNAPSHOT_LIFETIMES - 1] = 1}},
		     &(struct snapshot_path_sizes){{[6] = 5000}},
		     &(struct snapshot_trend){12, 5, 6, -0.5, 0.002, 3, 0, 512});
}

static void fill_run(struct fixture *f)
{
	struct snapshot *snap = f->snap;

	snap->has_traffic = snap->has_lifetimes = snap->has_trends = true;
	snap->totals[BLOCK_HEAP] = (struct snapshot_totals){
		.allocations = 5050,
		.allocated_bytes = 570600,
		.frees = 5039,
		.freed_bytes = 500032,
	};
	snap->sizes[6] = 5000;
	snap->sizes[7] = 10;
	snap->sizes[13] = 38;
	snap->sizes[17] = 2;
	snap->peak_bytes = 131500;
	snap->peak_time_ns = snap->time_ns - 7400 * MS;
	snap->has_at_peak = true;
	REQUIRE(vec_push(&snap->at_peak, (struct snapshot_at_peak){864, 8}));
	REQUIRE(vec_push(&snap->at_peak, (struct snapshot_at_peak){130048, 4}));
	REQUIRE(vec_push(&snap->at_peak, (struct snapshot_at_peak){64, 2}));
	add_thread(f,
		   &(struct snapshot_thread){.tid = 4321,
					     .allocations = 5010,
					     .allocated_bytes = 161000,
					     .frees = 5020,
					     .freed_bytes = 250000,
					     .freed_own = 5000,
					     .freed_own_bytes = 160000,
					     .freed_by_others = 1,
					     .freed_by_others_bytes = 64},
		   "leaky");
	add_thread(f,
		   &(struct snapshot_thread){.tid = 4322,
					     .exited = true,
					     .allocations = 40,
					     .allocated_bytes = 409600,
					     .frees = 18,
					     .freed_bytes = 249968,
					     .freed_own = 18,
					     .freed_own_bytes = 249968,
					     .freed_by_others = 20,
					     .freed_by_others_bytes = 90000},
		   "\x1b[2J=1+1,\"");
	snap->processes.data[0].memory =
		(struct snapshot_memory){.vm_size_bytes = 1536 * 1024,
					 .vm_rss_bytes = 800 * 1024,
					 .vm_data_bytes = 512 * 1024,
					 .vm_hwm_bytes = 900 * 1024};
	for (uint64_t i = 0; i <= 12; i++) {
		struct snapshot_moment moment = {
			.time_ns = snap->attached_ns + i * (10 * FIXTURE_NS / 12),
			.live_bytes = {i < 4 ? i * 32768 : 69632 + i * 80, 0},
			.live_blocks = {i, 0},
			.allocations = i * 400,
			.allocated_bytes = i * 40000,
			.frees = i * 399,
			.vm_rss_bytes = (700 + i * 8) * 1024,
		};

		REQUIRE(vec_push(&snap->moments, moment));
	}
}

static void fill(struct fixture *f)
{
	fixture_init(f);
	fill_stacks(f);
	fill_run(f);
}

/* The options that the session sets for a view. */
static struct report_options options_of(const struct view_ops *view)
{
	return (struct report_options){
		.view = view->name,
		.sort = view->sort,
		.top = view->all_rows ? 0 : 10,
		.entries = 10,
		.gone = view->all_rows,
		.older_ns = 500 * MS,
		.past = view_lists_past(view),
		.skip_by_traffic = view->past,
		.singles = view->singles ? 3 : 0,
	};
}

static char *render(struct fixture *f, const char *format,
		    const struct report_options *options)
{
	struct report *report;
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	REQUIRE(out);
	if (!f->symbolizer) {
		REQUIRE(!symbolizer_table_create(f->symbols.data, f->symbols.len,
						 &f->symbolizer));
		f->frames[0] = frame_cache_create(f->symbolizer);
		REQUIRE(f->frames[0]);
	}
	report_history_destroy(f->history);
	f->history = report_history_create();
	REQUIRE(f->history);
	REQUIRE(!report_build(f->snap, f->history, f->frames, options, REPORT_INTERVAL,
			      &report));
	REQUIRE(!renderer_find(format)->render(report, out));
	REQUIRE(!fclose(out));
	report_destroy(report);
	return text;
}

static void check(struct fixture *f, const char *name, const char *suffix,
		  const struct report_options *options)
{
	_cleanup_(freep) char *got =
		render(f, strcmp(suffix, "txt") ? suffix : "text", options);

	compare(name, suffix, got);
	/* No control characters but tab, carriage return and newline. */
	for (const char *at = got; *at; at++)
		CHECK((unsigned char)*at >= ' ' || strchr("\t\r\n", *at));
}

static void each_view(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	unsigned count = 0;

	fill(&f);
	for (const struct view_ops *const *it = views; *it; it++, count++) {
		struct report_options options = options_of(*it);

		check(&f, (*it)->name, "txt", &options);
		check(&f, (*it)->name, "csv", &options);
		options.utf8 = true;
		if (!strcmp((*it)->name, "histogram"))
			check(&f, "histogram-utf8", "txt", &options);
		CHECK(view_find((*it)->name) == *it);
	}
	CHECK_INT(count, 12);
	CHECK(!view_find("leak"));
	CHECK(!strcmp(view_find(NULL)->name, "leaks"));
}

/* What a search for unreachable blocks leaves in the snapshot. */
static void search_found(struct fixture *f)
{
	static const struct snapshot_unreachable found[] = {
		{{288, 3}, {64, 1}, {96, 1}, {0, 0}, {0, 0}, {0, 0}},
		{{0, 0}, {0, 0}, {0, 0}, {65536, 2}, {48, 2}, {16, 1}},
		{{0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}},
	};

	f->snap->search = (struct snapshot_search){
		.count = 2,
		.time_ns = f->snap->time_ns - 3000 * MS,
		.took_ns = 250 * MS,
		.pause_ns = 12 * MS,
		.read_bytes = 1500000000,
		.threads = 5,
		.processes = 2,
		.unsearched = 1,
		.has_rings = true,
	};
	for (size_t i = 0; i < 3; i++) {
		REQUIRE(vec_push(&f->snap->unreachable, found[i]));
		snapshot_unreachable_add(&f->snap->search.total, &found[i]);
	}
}

static void found_unreachable(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	struct report_options options = options_of(view_find("unreachable"));

	fill(&f);
	search_found(&f);
	check(&f, "unreachable-found", "txt", &options);
	check(&f, "unreachable-found", "csv", &options);
	check(&f, "unreachable-found", "json", &options);
	options = options_of(view_find("leaks"));
	check(&f, "leaks-lost", "txt", &options);
	/* Nothing is lost, and no candidate was left to stop the process for. */
	f.snap->search.threads = f.snap->search.pause_ns = 0;
	f.snap->search.total = (struct snapshot_unreachable){.possible = {96, 1}};
	f.snap->search.unsearched = 0;
	f.snap->search.has_rings = false;
	memset(f.snap->unreachable.data, 0, 3 * sizeof(*f.snap->unreachable.data));
	f.snap->unreachable.data[0] = f.snap->search.total;
	options = options_of(view_find("unreachable"));
	check(&f, "unreachable-none", "txt", &options);
	f.snap->search.threads = 5;
	f.snap->search.pause_ns = 12 * MS;
	/* What was not searched says nothing. */
	f.snap->search.total = f.snap->unreachable.data[0] =
		(struct snapshot_unreachable){.lost = {0, 0}};
	f.snap->search.unsearched = 1;
	check(&f, "unreachable-unsearched-one", "txt", &options);
	f.snap->search.unsearched = f.snap->search.processes;
	check(&f, "unreachable-unsearched", "txt", &options);
}

/* Verdicts are on young blocks, too, and on blocks that have been freed. Without traffic
 * nothing else lists the call paths of these. */
static void verdicts_on_blocks_that_are_not_listed(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	struct report_options options = options_of(view_find("unreachable"));

	fixture_init(&f);
	fill_stacks(&f);
	search_found(&f);
	options.older_ns = UINT64_MAX;
	check(&f, "unreachable-young", "txt", &options);
}

/* Filters and suppressions leave out lost blocks, too, and say how much is lost in
 * these. Totals are of all blocks. */
static void filters_leave_out_what_is_lost(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	_cleanup_(report_filter_destroyp) struct report_filter *filter =
		report_filter_create();
	static const char *const names[] = {"unreachable", "leaks"};

	REQUIRE(filter);
	REQUIRE(!report_filter_add(filter, FILTER_EXCLUDE, "fn:Cache::insert*"));
	REQUIRE(!report_filter_add(filter, FILTER_SUPPRESS, "fn:parse_request"));
	fill(&f);
	search_found(&f);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct report_options options = options_of(view_find(names[i]));
		char name[64];

		options.filter = filter;
		snprintf(name, sizeof(name), "%s-lost-filtered", names[i]);
		check(&f, name, "txt", &options);
		check(&f, name, "csv", &options);
		check(&f, name, "json", &options);
	}
}

/* So do the files that are written beside reports, with lost bytes in what they leave out
 * and in what they keep. */
static void filters_leave_it_out_of_files(void)
{
	static const struct {
		const char *name;
		enum filter_use use;
		const char *pattern;
	} cases[] = {{"excluded", FILTER_EXCLUDE, "fn:parse_request"},
		     {"suppressed", FILTER_SUPPRESS, "fn:parse_request"},
		     {"kept", FILTER_KEEP, "fn:parse_request"}};
	static const char *const formats[][2] = {
		{"collapsed", "folded"}, {"flame", "svg"}, {"html", "html"}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		_cleanup_(fixture_deinit) struct fixture f;
		_cleanup_(report_filter_destroyp) struct report_filter *filter =
			report_filter_create();
		struct report_options options = options_of(view_find("unreachable"));

		REQUIRE(filter);
		REQUIRE(!report_filter_add(filter, cases[i].use, cases[i].pattern));
		fill(&f);
		search_found(&f);
		/* The cache has lost blocks, too. */
		f.snap->unreachable.data[1].lost = (struct snapshot_sum){4096, 1};
		f.snap->search.total.lost.bytes += 4096;
		f.snap->search.total.lost.count++;
		options.filter = filter;
		options.flame_of = REPORT_FLAME_LOST;
		for (size_t k = 0; k < sizeof(formats) / sizeof(*formats); k++) {
			_cleanup_(freep) char *got = render(&f, formats[k][0], &options);
			char name[64];

			cut_page(got);
			snprintf(name, sizeof(name), "lost-%s", cases[i].name);
			compare(name, formats[k][1], got);
		}
	}
}

/* So do options for small call paths. */
static void small_call_paths_are_left_out_of_files(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	_cleanup_(freep) char *got = NULL;
	struct report_options options = options_of(view_find("unreachable"));

	fill(&f);
	search_found(&f);
	options.skip_bytes = 1000;
	options.flame_of = REPORT_FLAME_LOST;
	got = render(&f, "html", &options);
	CHECK_CONTAINS(got, "; options leave out 352 B of it.");
}

/* Tables by other things than functions, and a tree that begins with the callees. */
static void other_groups(void)
{
	static const struct {
		const char *name;
		enum report_group group_by;
	} cases[] = {
		{"caller", REPORT_GROUP_CALLER},   {"module", REPORT_GROUP_MODULE},
		{"library", REPORT_GROUP_LIBRARY}, {"source", REPORT_GROUP_SOURCE},
		{"line", REPORT_GROUP_LINE},       {"allocator", REPORT_GROUP_ALLOCATOR},
		{"thread", REPORT_GROUP_THREAD}};
	_cleanup_(fixture_deinit) struct fixture f;
	struct report_options options;

	fill(&f);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char name[64];

		options = options_of(view_find("functions"));
		options.group_by = cases[i].group_by;
		snprintf(name, sizeof(name), "functions-%s", cases[i].name);
		check(&f, name, "txt", &options);
		check(&f, name, "csv", &options);
		check(&f, name, "json", &options);
	}
	options = options_of(view_find("tree"));
	options.callees_first = true;
	check(&f, "tree-reverse", "txt", &options);
}

/* JSON contains everything, whatever the view is. */
static void json(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fill(&f);

	struct report_options options = options_of(view_find("allocations"));

	options.past = true;
	check(&f, "all", "json", &options);
	f.snap->sampling.every = 10;
	check(&f, "sampled", "json", &options);
}

/* With sampling, these views scale their numbers or say "as traced". */
static void sampled(void)
{
	static const char *const names[] = {"growth", "lifetimes", "functions", "tree"};
	_cleanup_(fixture_deinit) struct fixture f;

	fill(&f);
	f.snap->sampling.every = 10;
	for (size_t i = 0; i < 4; i++) {
		struct report_options options = options_of(view_find(names[i]));
		char name[64];

		snprintf(name, sizeof(name), "%s-sampled", names[i]);
		check(&f, name, "txt", &options);
		if (strcmp(names[i], "tree"))
			check(&f, name, "csv", &options);
	}
}

/* Without the ages of blocks, no age is printed. */
static void no_ages(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fill(&f);
	for (const struct view_ops *const *it = views; *it; it++) {
		struct report_options options = options_of(*it);

		options.combined_only = true;
		options.older_ns = 0;

		_cleanup_(freep) char *got = render(&f, "text", &options);

		CHECK(!strstr(got, "oldest"));
		CHECK(!strstr(got, "median"));
		CHECK(!strstr(got, " old,"));
	}
}

static void each_sort(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fill(&f);
	for (int sort = 0; sort < REPORT_SORTS; sort++) {
		char name[64];
		struct report_options options = options_of(view_find("traffic"));

		options.sort = (enum report_sort)sort;
		snprintf(name, sizeof(name), "sort-%s",
			 report_sort_name((enum report_sort)sort));
		check(&f, name, "txt", &options);
	}
}

/* If what a view needs was not measured, the report says so in one line. */
static void nothing_measured(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fill(&f);
	f.snap->has_traffic = f.snap->has_lifetimes = f.snap->has_trends = false;
	f.snap->has_at_peak = false;
	for (const struct view_ops *const *it = views; *it; it++) {
		struct report_options options = options_of(*it);
		_cleanup_(freep) char *got = NULL;
		char line[128];

		options.sort = REPORT_SORT_PEAK;
		got = render(&f, "text", &options);
		snprintf(line, sizeof(line),
			 "\nNothing to show for --view %s: ", (*it)->name);
		CHECK_INT(!!strstr(got, line), !!(*it)->needs);
		CHECK_CONTAINS(got, "\n  sorted      by size, not by peak: allocations "
				    "and frees of each call path were not counted "
				    "(--traffic)\n");
		CHECK(!strstr(got, "suspect"));
	}
}

/* An older snapshot, or one by the tables of Linux 5.10: each stack has its own peak. */
static void peak_not_counted(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	struct report_options options = options_of(view_find("peak"));

	fill(&f);
	f.snap->has_at_peak = false;
	f.snap->at_peak.len = 0;
	check(&f, "peak-old", "txt", &options);
	check(&f, "peak-old", "csv", &options);
}

/* A spike while memtrace read, and a peak that lacks nothing. */
static void peak_missed(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	struct report_options options = options_of(view_find("peak"));

	fill(&f);
	f.snap->missed_peak_bytes = 200000;
	f.snap->peak_bytes = 864 + 130048 + 64;

	_cleanup_(freep) char *got = render(&f, "text", &options);

	CHECK_CONTAINS(got, "195.3 KiB (200000 bytes) for a moment while memtrace read");
	CHECK(!strstr(got, "without a call path"));
}

/* Growth since an earlier report, more processes, mappings, filters and hidden noise. */
static void with_all_else(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	_cleanup_(report_filter_destroyp) struct report_filter *filter =
		report_filter_create();

	fill(&f);
	fixture_fill_second(&f);
	fixture_fill_mappings(&f);
	f.frames[1] = NULL;
	REQUIRE(filter);
	REQUIRE(!report_filter_add(filter, FILTER_EXCLUDE, "mod:libcache*"));
	REQUIRE(!report_filter_add(filter, FILTER_SUPPRESS, "fn:=format*"));
	REQUIRE(!report_filter_hide_noise(filter));
	for (const struct view_ops *const *it = views; *it; it++) {
		struct report_options options = options_of(*it);
		char name[64];

		options.filter = filter;
		options.skip_bytes = 100;
		snprintf(name, sizeof(name), "%s-all", (*it)->name);
		check(&f, name, "txt", &options);
	}
}

int main(int argc, char *argv[])
{
	if (argc > 1)
		write_dir = argv[1];
	setenv("TZ", "UTC", 1);
	tzset();
	RUN(each_view);
	RUN(found_unreachable);
	RUN(verdicts_on_blocks_that_are_not_listed);
	RUN(filters_leave_out_what_is_lost);
	RUN(filters_leave_it_out_of_files);
	RUN(small_call_paths_are_left_out_of_files);
	RUN(other_groups);
	RUN(json);
	RUN(sampled);
	RUN(no_ages);
	RUN(each_sort);
	RUN(nothing_measured);
	RUN(peak_not_counted);
	RUN(peak_missed);
	RUN(with_all_else);
	return check_done();
}
