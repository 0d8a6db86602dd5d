// SPDX-License-Identifier: Apache-2.0
/*
 * One snapshot with everything that can be measured, shown by each view as text and CSV,
 * and sorted each way. The results are in views/. With a directory as argument, writes
 * the outputs there instead.
 */
#include <stdbool.h>
#include <time.h>

#include "cut.h"
#include "frames/filter.h"
#include "render/views/views.h"
#include "symbol_table.h"
#include "text_file.h"
#include "views_snapshot.h"

DEFINE_CLEANUP(struct report_filter *, report_filter_destroy);

static const char *write_dir;

static void compare(const char *name, const char *suffix, const char *got)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s.%s",
		 write_dir ? write_dir : TEST_DATA_DIR "/golden/views", name, suffix);
	text_file_compare(path, write_dir, got);
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
