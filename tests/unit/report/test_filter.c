// SPDX-License-Identifier: Apache-2.0
/* Patterns from the command line and from files, and filtered reports. */
#include "unit/render/fixture.h"

#include <stdbool.h>
#include <unistd.h>

#include "frames/filter.h"

DEFINE_CLEANUP(struct report_filter *, report_filter_destroy);

static struct report_frame frame_of(const char *symbol, const char *module,
				    const char *file)
{
	return (struct report_frame){.symbol = symbol, .module = module, .file = file};
}

static bool matches(const char *pattern, struct report_frame frame)
{
	_cleanup_(report_filter_destroyp) struct report_filter *filter =
		report_filter_create();

	REQUIRE(filter);
	REQUIRE(!report_filter_add(filter, FILTER_KEEP, pattern));
	return report_filter_match(filter, &frame) & FILTER_MATCH_KEEP;
}

static void a_filter_matches_function_module_or_source(void)
{
	struct report_frame frame = frame_of("Cache::insert(int)",
					     "/usr/lib/libcache.so.2", "/srv/cache.cpp");

	CHECK(matches("Cache::*", frame));
	CHECK(matches("fn:Cache::insert(*", frame));
	CHECK(matches("fn:insert*", frame));
	CHECK(matches("insert", frame));
	CHECK(!matches("fn:nsert*", frame));
	CHECK(!matches("fn:libcache*", frame));
	CHECK(matches("libcache.so.2", frame));
	CHECK(matches("mod:*/lib/libcache*", frame));
	CHECK(!matches("mod:Cache*", frame));
	CHECK(matches("src:cache.cpp", frame));
	CHECK(matches("src:/srv/*", frame));
	CHECK(!matches("cache.cpp", frame));
	CHECK(!matches("*", frame_of(NULL, NULL, "/x")));
	CHECK(matches("*", frame_of(NULL, "/x", NULL)));
	/* Two colons are part of a C++ name. */
	CHECK(matches("std::*", frame_of("std::sort", NULL, NULL)));
}

/* Names as people write them, without arguments, namespaces and templates. */
static void short_names(void)
{
	struct report_frame frame = frame_of(
		"void acme::Shop::make_order<int, Map<int, X> >(int) const", NULL, NULL);
	struct report_filter *filter = report_filter_create();

	CHECK(matches("make_order", frame));
	CHECK(matches("Shop::make_order", frame));
	CHECK(matches("acme::Shop::make_order", frame));
	CHECK(matches("fn:Shop::*", frame));
	CHECK(!matches("order", frame));
	CHECK(!matches("hop::make_order", frame));
	CHECK(!matches("X", frame));
	/* Frames are hidden by whole names alone. */
	REQUIRE(filter && !report_filter_add(filter, FILTER_HIDE, "make_order"));
	CHECK(!report_filter_match(filter, &frame));
	report_filter_destroy(filter);
}

static void check_refused(const char *pattern, const char *why)
{
	_cleanup_(report_filter_destroyp) struct report_filter *filter =
		report_filter_create();
	_cleanup_(error_destroyp) struct error *err =
		report_filter_add(filter, FILTER_HIDE, pattern);

	REQUIRE(err);
	CHECK_INT(err->code, ERROR_USAGE);
	CHECK_CONTAINS(err->message, why);
	CHECK(!strpbrk(err->message, "\n\x1b"));
}

static void refuses(void)
{
	check_refused("", "it is empty");
	check_refused("src:", "it is empty");
	check_refused("fn:[a", "a '[' is not closed");
	check_refused("file:a*", "got 'file:a*': what is before the ':' is not known");
	check_refused("mod:\x1bm\\", "got 'mod:\\x1bm\\': nothing follows");
}

/* Reads a temporary file with these bytes for `use`. Its name is stored in `path`. */
static struct error *read_bytes(struct report_filter *filter, enum filter_use use,
				const char *bytes, size_t len, char *path)
{
	struct error *err;
	int fd;

	strcpy(path, "/tmp/memtrace-test-XXXXXX");
	fd = mkstemp(path);
	REQUIRE(fd >= 0);
	REQUIRE(write(fd, bytes, len) == (ssize_t)len);
	close(fd);
	err = report_filter_read(filter, use, path);
	unlink(path);
	return err;
}

static bool suppresses(const char *line, struct report_frame frame)
{
	_cleanup_(report_filter_destroyp) struct report_filter *filter =
		report_filter_create();
	char path[64];

	REQUIRE(filter);
	REQUIRE(!read_bytes(filter, FILTER_SUPPRESS, line, strlen(line), path));
	return report_filter_match(filter, &frame) & FILTER_MATCH_SUPPRESS;
}

/* As in TemplateMatch of sanitizer_common. */
static void suppressions(void)
{
	struct report_frame frame =
		frame_of("ns::Bar(char[2])", "/usr/lib/libfoo.so", "/srv/x.c");

	CHECK(suppresses("leak:Bar", frame));
	CHECK(suppresses("# why\n\n  leak:Bar  \r\n", frame));
	CHECK(suppresses("leak:libfoo", frame));
	CHECK(suppresses("leak:srv/x", frame));
	CHECK(suppresses("leak:^ns::*)$", frame));
	CHECK(suppresses("leak:^/usr", frame));
	CHECK(suppresses("leak:.so$", frame));
	CHECK(!suppresses("leak:^Bar", frame));
	CHECK(!suppresses("leak:Bar$", frame));
	CHECK(suppresses("leak:char[2]", frame));
	CHECK(!suppresses("leak:B?r", frame));
	CHECK(!suppresses("#leak:Bar", frame));
	CHECK(!suppresses("leak:other", frame));
	CHECK(suppresses("leak:other\nleak:l*o.s", frame));
}

static void check_file_refused(enum filter_use use, const char *bytes, size_t len,
			       const char *why)
{
	_cleanup_(report_filter_destroyp) struct report_filter *filter =
		report_filter_create();
	char path[64], want[256];
	_cleanup_(error_destroyp) struct error *err =
		read_bytes(filter, use, bytes, len, path);

	REQUIRE(err);
	CHECK_INT(err->code, ERROR_USAGE);
	snprintf(want, sizeof(want), "%s: %s", path, why);
	CHECK_CONTAINS(err->message, want);
	CHECK(!strpbrk(err->message, "\n\x1b"));
}

#define REFUSED(use, bytes, why) check_file_refused(use, bytes, sizeof(bytes) - 1, why)

static void refuses_files(void)
{
	static char big[(1 << 20) + 5];

	REFUSED(FILTER_SUPPRESS, "leak:a\n\nrace:b\n",
		"line 3: expected leak:PATTERN; got 'race:b'");
	REFUSED(FILTER_SUPPRESS, "leak:", "line 1: expected leak:PATTERN; got 'leak:'");
	REFUSED(FILTER_SUPPRESS, "leak:a\nle\0ak:b", "line 2: expected text");
	REFUSED(FILTER_HIDE, "# all\nfn:a\nfn:[b\n", "line 3: expected GLOB");
	memset(big, '\n', sizeof(big));
	check_file_refused(FILTER_HIDE, big, sizeof(big),
			   "expected a list of patterns; it is larger than a mebibyte");

	_cleanup_(report_filter_destroyp) struct report_filter *filter =
		report_filter_create();
	_cleanup_(error_destroyp) struct error *missing =
		report_filter_read(filter, FILTER_HIDE, "/nonexistent/list");
	_cleanup_(error_destroyp) struct error *directory =
		report_filter_read(filter, FILTER_HIDE, "/");

	REQUIRE(missing && directory);
	CHECK_STR(missing->message,
		  "cannot read /nonexistent/list: No such file or directory");
	CHECK_INT(missing->code, ERROR_USAGE);
	CHECK_STR(directory->message, "cannot read /: Is a directory");
}

/* The built-in patterns are valid, hide the functions that they are meant for, and hide
 * no functions of a program. */
static void noise(void)
{
	static const char *const hidden[] = {
		"_start",
		"__libc_start_main@@GLIBC_2.34",
		"start_thread",
		"clone3",
		"_start_c",
		"libc_start_main_stage2",
		"operator new[](unsigned long, std::nothrow_t const&)",
		"std::__new_allocator<int>::allocate(unsigned long, void const*)",
		"alloc::raw_vec::RawVec<T,A>::grow_one",
		"std::rt::lang_start::{{closure}}",
		"std::sys::backtrace::__rust_begin_short_backtrace",
		"core::ops::function::FnOnce::call_once",
	};
	static const char *const shown[] = {"main",
					    "operator_new_table",
					    "start_threads",
					    "Cache::insert(int)",
					    "alloc::alloc_page",
					    "std::vector<int>::push_back(int&&)"};
	_cleanup_(report_filter_destroyp) struct report_filter *filter =
		report_filter_create();

	REQUIRE(filter);
	REQUIRE(!report_filter_hide_noise(filter));
	CHECK(report_filter_keeps_all(filter));
	for (size_t i = 0; i < sizeof(hidden) / sizeof(*hidden); i++) {
		struct report_frame frame = frame_of(hidden[i], NULL, NULL);

		report_filter_match(filter, &frame);
		if (!frame.hidden)
			CHECK_FAIL("shown: %s", hidden[i]);
	}
	for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++) {
		struct report_frame frame = frame_of(shown[i], "/lib/libc.so.6", NULL);

		report_filter_match(filter, &frame);
		if (frame.hidden)
			CHECK_FAIL("hidden: %s", shown[i]);
	}
}

/* The report of the standard case: stacks 0 and 1 contain Cache::insert (2050 and 1050
 * bytes), stack 2 libblob.so (2 MiB), stack 3 has no symbols (64), and 7 bytes have no
 * stack. */
static struct report *build(struct fixture *f, const struct report_options *options)
{
	struct report *report;

	report_history_destroy(f->history);
	f->history = report_history_create();
	REQUIRE(f->history);
	REQUIRE(!report_build(f->snap, f->history, f->frames, options, REPORT_STOPPED,
			      &report));
	return report;
}

static void check_sums(const struct report_left_out *left_out, uint64_t stacks,
		       uint64_t size_bytes)
{
	CHECK_INT(left_out->stack_count, stacks);
	CHECK_INT(left_out->sum.size_bytes, size_bytes);
}

static void reports(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	_cleanup_(report_filter_destroyp) struct report_filter *filter =
		report_filter_create();
	struct report_options options = {.top = 1, .filter = filter, .singles = 9};
	char path[64];

	fixture_init(&f);
	fixture_fill(&f);
	fixture_report(&f);
	REQUIRE(filter);

	struct report *report = build(&f, &options);
	const struct report_section *heap = &report->sections[0];

	CHECK_INT(heap->stack_count, 5);
	CHECK_INT(heap->ranked.size_bytes, heap->live.size_bytes);
	CHECK_INT(heap->single_count, 7);
	report_destroy(report);

	/* Filters apply before the cut to the top. */
	REQUIRE(!report_filter_add(filter, FILTER_EXCLUDE, "mod:libblob*"));
	report = build(&f, &options);
	heap = &report->sections[0];
	CHECK_INT(heap->stack_count, 4);
	REQUIRE(heap->row_count == 1);
	CHECK_INT(heap->rows[0].stack, 0);
	check_sums(&heap->filtered, 1, 2 << 20);
	CHECK_INT(heap->single_count, 5);
	CHECK_INT(heap->singles[0].block->size_bytes, 1050);
	report_destroy(report);

	/* Blocks without a stack match no pattern. */
	REQUIRE(!report_filter_add(filter, FILTER_KEEP, "fn:main_loop"));
	report = build(&f, &options);
	heap = &report->sections[0];
	CHECK_INT(heap->stack_count, 2);
	check_sums(&heap->filtered, 3, (2 << 20) + 64 + 7);
	report_destroy(report);

	REQUIRE(!read_bytes(filter, FILTER_SUPPRESS, "leak:insert", 11, path));
	report = build(&f, &options);
	heap = &report->sections[0];
	CHECK_INT(heap->stack_count, 0);
	check_sums(&heap->suppressed, 2, 3100);
	/* The totals include filtered rows. */
	CHECK_INT(heap->live.size_bytes, (2 << 20) + 3100 + 64 + 7);
	report_destroy(report);
}

/* A pattern that nothing matches: which names are near. */
static void hints(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	_cleanup_(report_filter_destroyp) struct report_filter *filter =
		report_filter_create();
	struct report_options options = {.filter = filter};
	struct report *report;

	fixture_init(&f);
	fixture_fill(&f);
	fixture_report(&f);
	REQUIRE(filter && !report_filter_add(filter, FILTER_KEEP, "fn:zzzzzz"));
	report = build(&f, &options);
	CHECK_INT(report->sections[0].stack_count, 0);
	CHECK(!report->near_filter);
	report_destroy(report);
	REQUIRE(!report_filter_add(filter, FILTER_KEEP, "mian_loop*"));
	REQUIRE(!report_filter_add(filter, FILTER_KEEP, "insret"));
	report = build(&f, &options);
	CHECK_INT(report->sections[0].stack_count, 0);
	CHECK_STR(report->near_filter, "main_loop, insert");
	report_destroy(report);
	/* Something is shown. */
	REQUIRE(!report_filter_add(filter, FILTER_KEEP, "insert"));
	report = build(&f, &options);
	CHECK(report->sections[0].stack_count && !report->near_filter);
	report_destroy(report);
}

static void skips(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	struct report_options options = {.skip_bytes = 1051};

	fixture_init(&f);
	fixture_fill(&f);
	fixture_report(&f);

	struct report *report = build(&f, &options);

	CHECK_INT(report->sections[0].stack_count, 2);
	check_sums(&report->sections[0].skipped, 3, 1050 + 64 + 7);
	report_destroy(report);
	options = (struct report_options){.skip_count = 2};
	report = build(&f, &options);
	CHECK_INT(report->sections[0].stack_count, 2);
	report_destroy(report);

	/* Sorted by allocated bytes if traffic is measured. */
	f.snap->has_traffic = true;
	for (size_t i = 0; i < f.snap->stacks.len; i++) {
		const struct snapshot_traffic traffic = {.allocations = 10 * i,
							 .allocated_bytes = 1000 * i};

		REQUIRE(vec_push(&f.snap->traffic, traffic));
	}
	options = (struct report_options){
		.skip_count = 20, .skip_by_traffic = true, .past = true};
	report = build(&f, &options);
	CHECK_INT(report->sections[0].stack_count, 2);
	report_destroy(report);
}

static void hides(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	_cleanup_(report_filter_destroyp) struct report_filter *filter =
		report_filter_create();
	struct report_options options = {.filter = filter};

	fixture_init(&f);
	fixture_fill(&f);
	fixture_report(&f);
	REQUIRE(filter && !report_filter_add(filter, FILTER_HIDE, "malloc"));
	REQUIRE(!report_filter_add(filter, FILTER_HIDE, "mod:libblob.so"));

	struct report *report = build(&f, &options);
	const struct report_row *row = &report->sections[0].rows[0];

	REQUIRE(row->depth == 3);
	CHECK(!report_row_shows(row, 0) && !report_row_shows(row, 1));
	CHECK(report_row_shows(row, 2));
	report_destroy(report);

	/* If all frames of a stack are hidden, all are shown. */
	REQUIRE(!report_filter_add(filter, FILTER_HIDE, "main_loop"));
	report = build(&f, &options);
	row = &report->sections[0].rows[0];
	CHECK(report_row_shows(row, 0) && report_row_shows(row, 2));
	report_destroy(report);
}

int main(void)
{
	RUN(a_filter_matches_function_module_or_source);
	RUN(short_names);
	RUN(refuses);
	RUN(suppressions);
	RUN(refuses_files);
	RUN(noise);
	RUN(reports);
	RUN(hints);
	RUN(skips);
	RUN(hides);
	return check_done();
}
