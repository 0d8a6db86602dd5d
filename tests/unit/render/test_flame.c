// SPDX-License-Identifier: Apache-2.0
/* Parses the flame graph as XML and compares it with the collapsed stacks of the same
 * report. */
#include "fixture.h"
#include "render/flame/flame.h"
#include "svg_page.h"

/* Adds stacks that are all at least a tenth of a pixel wide. */
static void fill_wide(struct fixture *f)
{
	uint64_t allocate = fixture_symbol(f, "malloc", "/usr/lib/libc.so.6");
	uint64_t a = fixture_symbol(f, "a", "/bin/x");
	uint64_t b = fixture_symbol(f, "b", "/bin/x");
	uint64_t c = fixture_symbol(f, "c", "/bin/y");

	fixture_block(f, BLOCK_HEAP, 700, 1,
		      FIXTURE_STACK(f, STACK_END_COMPLETE, allocate, b, a));
	fixture_block(f, BLOCK_HEAP, 111, 1,
		      FIXTURE_STACK(f, STACK_END_COMPLETE, allocate, c, a));
	fixture_block(f, BLOCK_HEAP, 37, 1,
		      FIXTURE_STACK(f, STACK_END_COMPLETE, allocate, a));
	/* The same function at the end of one stack and in the middle of another. */
	fixture_block(f, BLOCK_HEAP, 13, 1, FIXTURE_STACK(f, STACK_END_COMPLETE, b, a));
	fixture_block(f, BLOCK_HEAP, 3, 1,
		      FIXTURE_STACK(f, STACK_END_COMPLETE, allocate, a, a, b));
	fixture_block(f, BLOCK_HEAP, 29, 1,
		      FIXTURE_STACK(f, STACK_END_DEPTH, allocate, c));
	fixture_block(f, BLOCK_HEAP, 7, 1, SNAPSHOT_NO_STACK);
}

static void widths_are_sums(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fill_wide(&f);

	_cleanup_(freep) char *collapsed = fixture_render(&f, "collapsed", NULL);
	_cleanup_(page_deinit) struct page page = draw(&f, false, false);
	const struct svg_frame *all = find(&page, 0, "all");

	CHECK_INT(all->bytes, 900);
	CHECK_INT(all->blocks, 7);
	CHECK_INT(all->x, 1000);
	CHECK_INT(all->width, 118000);
	CHECK_INT(find(&page, 1, "a")->bytes, 700 + 111 + 37 + 13);
	CHECK_INT(find(&page, 2, "b")->bytes, 713);
	CHECK_INT(find(&page, 1, "[no stack: it was not stored]")->bytes, 7);
	/* all, 4 on level 1, then 5, 4 and 1 */
	CHECK_INT(page.frames.len, 15);
	vec_foreach (frame, &page.frames) {
		if (frame->level)
			check_frame(&page, frame, collapsed);
	}
}

static void narrow_frames_count_in_their_callers(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	uint64_t root = fixture_symbol(&f, "root", NULL);
	uint64_t wide = fixture_symbol(&f, "wide", NULL);
	uint64_t edge = fixture_symbol(&f, "edge", NULL);
	uint64_t narrow = fixture_symbol(&f, "narrow", NULL);

	/* A tenth of a pixel is 1/11800 of the whole. */
	fixture_block(&f, BLOCK_HEAP, 117801, 1,
		      FIXTURE_STACK(&f, STACK_END_COMPLETE, wide, root));
	fixture_block(&f, BLOCK_HEAP, 10, 1,
		      FIXTURE_STACK(&f, STACK_END_COMPLETE, edge, root));
	fixture_block(&f, BLOCK_HEAP, 9, 1,
		      FIXTURE_STACK(&f, STACK_END_COMPLETE, narrow, root));
	fixture_block(&f, BLOCK_HEAP, 180, 1,
		      FIXTURE_STACK(&f, STACK_END_COMPLETE, root));

	_cleanup_(freep) char *svg = render(&f, &(struct flame_options){0});
	_cleanup_(page_deinit) struct page page = parse(svg);

	CHECK_INT(page.frames.len, 4);
	CHECK_INT(find(&page, 0, "all")->bytes, 118000);
	CHECK_INT(find(&page, 1, "root")->bytes, 118000);
	CHECK_INT(find(&page, 1, "root")->blocks, 4);
	CHECK_INT(find(&page, 2, "wide")->width, 117801);
	CHECK_INT(find(&page, 2, "edge")->width, 10);
	CHECK_CONTAINS(svg, ">1 frame of less than 10 B is not shown<");
}

/* 27,002 frames are too many to draw each. The graph says how many are missing. */
static void many_frames_are_too_many(void)
{
	enum {
		STACKS = 9000
	};
	static char names[STACKS][16];
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	uint64_t outer = fixture_symbol(&f, "outer", NULL);
	uint64_t inner = fixture_symbol(&f, "inner", NULL);

	for (size_t i = 0; i < STACKS; i++) {
		snprintf(names[i], sizeof(names[i]), "f%zu", i);
		uint64_t leaf = fixture_symbol(&f, names[i], NULL);

		fixture_block(
			&f, BLOCK_HEAP, 100, 1,
			FIXTURE_STACK(&f, STACK_END_COMPLETE, inner, inner, leaf, outer));
	}
	fixture_block(&f, BLOCK_HEAP, 280000, 1,
		      FIXTURE_STACK(&f, STACK_END_COMPLETE, inner, outer));

	_cleanup_(freep) char *svg = render(&f, &(struct flame_options){0});
	_cleanup_(page_deinit) struct page page = parse(svg);

	CHECK_INT(page.frames.len, 3);
	CHECK_INT(find(&page, 1, "outer")->bytes, 100 * STACKS + 280000);
	CHECK_INT(find(&page, 2, "inner")->bytes, 280000);
	CHECK_CONTAINS(svg, ">27000 frames of less than 200 B are not shown<");
}

static void inverted_and_reverse(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fill_wide(&f);

	_cleanup_(page_deinit) struct page up = draw(&f, false, false);
	_cleanup_(page_deinit) struct page down = draw(&f, true, false);
	_cleanup_(page_deinit) struct page reverse = draw(&f, false, true);

	CHECK(find(&up, 0, "all")->y > find(&up, 1, "a")->y);
	CHECK(find(&up, 1, "a")->y > find(&up, 2, "b")->y);
	CHECK(find(&down, 0, "all")->y < find(&down, 1, "a")->y);
	CHECK(find(&down, 1, "a")->y < find(&down, 2, "b")->y);
	REQUIRE(up.frames.len == down.frames.len);
	for (size_t i = 0; i < up.frames.len; i++) {
		CHECK_INT(up.frames.data[i].x, down.frames.data[i].x);
		CHECK_INT(up.frames.data[i].width, down.frames.data[i].width);
	}
	/* All stacks except two end in malloc. */
	CHECK_INT(find(&reverse, 1, "malloc")->bytes, 900 - 13 - 7);
	CHECK_INT(find(&reverse, 1, "b")->bytes, 13);
	CHECK_INT(find(&reverse, 3, "[truncated: stack depth limit]")->bytes, 29);
	CHECK(find(&reverse, 0, "all")->y > find(&reverse, 1, "malloc")->y);
}

static void mappings_are_apart(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);
	fixture_fill_mappings(&f);

	_cleanup_(page_deinit) struct page page = draw(&f, false, false);

	CHECK_INT(find(&page, 1, "[heap]")->bytes, 2 * 1024 * 1024 + 3100 + 64 + 7);
	CHECK_INT(find(&page, 1, "[mappings]")->bytes, 4096 + 8192);
	CHECK_INT(find(&page, 1, "[mappings]")->blocks, 2);
}

static void processes_are_apart(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);
	fixture_fill_second(&f);

	_cleanup_(freep) char *svg = render(&f, &(struct flame_options){0});
	_cleanup_(page_deinit) struct page page = parse(svg);

	CHECK_CONTAINS(svg, ">memtrace: memory held by 2 processes, ");
	CHECK_INT(find(&page, 1, "leaky (4321)")->bytes, 2 * 1024 * 1024 + 3100 + 64);
	CHECK_INT(find(&page, 1, "se;c\\x0a (99)")->bytes, 5000);
	CHECK_INT(find(&page, 2, "other")->bytes, 5000);
}

static void check_elements(const struct page *page)
{
	static const char *const known[] = {"svg",  "title", "style", "rect",
					    "text", "g",     "script"};
	size_t scripts = 0;

	vec_foreach (name, &page->elements) {
		bool found = false;

		for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
			found = found || !strcmp(*name, known[i]);
		CHECK(found);
		scripts += !strcmp(*name, "script");
	}
	CHECK_INT(scripts, 1);
}

static void names_are_short(void)
{
	static const char full[] =
		"std::vector<Key, std::allocator<Key> >::reserve(unsigned "
		"long)";
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	FIXTURE_STACK(&f, STACK_END_COMPLETE, fixture_symbol(&f, full, "/bin/leaky"),
		      fixture_symbol(&f, "main", "/bin/leaky"));
	fixture_block(&f, BLOCK_HEAP, 1000, 1, 0);
	name_form = REPORT_FORM_AUTO;

	_cleanup_(page_deinit) struct page page = draw(&f, false, false);

	/* The full name is the next line of a frame's text, unless they are the same. */
	CHECK_CONTAINS(find(&page, 2, "std::vector::reserve")->title,
		       "std::vector::reserve\nstd::vector<Key, std::allocator<Key> >::"
		       "reserve(unsigned long)\nleaky\n1000 B, ");
	CHECK_CONTAINS(find(&page, 1, "main")->title, "main\nleaky\n1000 B, ");
	name_form = REPORT_FORM_FULL;

	_cleanup_(page_deinit) struct page long_page = draw(&f, false, false);

	CHECK_CONTAINS(find(&long_page, 2, full)->title, "long)\nleaky\n1000 B, ");
}

/* --flame-of: the numbers that the graph shows, and their names. */
static void shows_the_requested_numbers(void)
{
	static const struct {
		enum report_flame_of of;
		uint64_t bytes[2];
		const char *text, *described;
	} kinds[] = {
		{REPORT_FLAME_LIVE,
		 {1000, 200},
		 "1000 bytes in 1 block, 83.3 %",
		 "heap: 1.2 KiB in 2 blocks"},
		{REPORT_FLAME_PEAK,
		 {30, 90},
		 "30 bytes in 2 blocks, 25.0 %",
		 "heap: 121 B at its peak, 1.5 s after the attach"},
		{REPORT_FLAME_TRAFFIC,
		 {7000, 3000},
		 "7000 bytes in 70 blocks, 70.0 %",
		 "heap: 9.8 KiB allocated in 100 blocks since the attach"},
		{REPORT_FLAME_COUNT,
		 {1, 1},
		 "\n1 block, 50.0 %",
		 "heap: 1.2 KiB in 2 blocks"},
	};
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	FIXTURE_STACK(&f, STACK_END_COMPLETE, fixture_symbol(&f, "one", "/bin/leaky"));
	FIXTURE_STACK(&f, STACK_END_COMPLETE, fixture_symbol(&f, "two", "/bin/leaky"));
	fixture_block(&f, BLOCK_HEAP, 1000, 1, 0);
	fixture_block(&f, BLOCK_HEAP, 200, 1, 1);
	f.snap->has_traffic = f.snap->has_at_peak = true;
	f.snap->peak_bytes = 121;
	f.snap->peak_time_ns = f.snap->attached_ns + FIXTURE_NS * 3 / 2;
	REQUIRE(vec_push(
		&f.snap->traffic,
		(struct snapshot_traffic){.allocations = 70, .allocated_bytes = 7000}));
	REQUIRE(vec_push(
		&f.snap->traffic,
		(struct snapshot_traffic){.allocations = 30, .allocated_bytes = 3000}));
	REQUIRE(vec_push(&f.snap->at_peak, (struct snapshot_at_peak){30, 2}));
	REQUIRE(vec_push(&f.snap->at_peak, (struct snapshot_at_peak){90, 1}));
	fixture_report(&f);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		f.report->options.flame_of = kinds[i].of;

		_cleanup_(freep) char *svg = render(&f, &(struct flame_options){0});
		_cleanup_(page_deinit) struct page page = parse(svg);

		CHECK_INT(find(&page, 1, "one")->bytes, kinds[i].bytes[0]);
		CHECK_INT(find(&page, 1, "two")->bytes, kinds[i].bytes[1]);
		CHECK_CONTAINS(find(&page, 1, "one")->title, kinds[i].text);
		CHECK_CONTAINS(svg, kinds[i].described);
	}
}

/* Numbers that the run has not counted are refused. */
static void nothing_was_counted(void)
{
	static const enum report_flame_of kinds[] = {REPORT_FLAME_PEAK,
						     REPORT_FLAME_TRAFFIC};
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);
	fixture_report(&f);
	for (size_t i = 0; i < 2; i++) {
		char *svg = NULL;
		size_t len = 0;
		FILE *out = open_memstream(&svg, &len);
		struct error *err;

		REQUIRE(out);
		f.report->options.flame_of = kinds[i];
		err = flame_render(f.report, &(struct flame_options){0}, out);
		REQUIRE(!fclose(out));
		REQUIRE(err);
		CHECK_CONTAINS(err->message, i ? "(--traffic)" : "(--peak)");
		error_destroy(err);
		free(svg);
	}
}

static void hostile_names_stay_text(void)
{
	static const struct {
		const char *symbol, *shown;
	} cases[] = {
		{"</svg><script>alert(1)</script>", "</svg><script>alert(1)</script>"},
		{"]]>", "]]>"},
		{"\"><rect onclick='x'", "\"><rect onclick='x'"},
		{"&lt;&#0;&unknown;", "&lt;&#0;&unknown;"},
		{"<!--", "<!--"},
		{"<![CDATA[", "<![CDATA["},
		{"a\x01\x1b\n\r\x7f", "a\\x01\\x1b\\x0a\\x0d\\x7f"},
		{"\xff\xfe\xc3\x28\xed\xa0\x80", "\\xff\\xfe\\xc3(\\xed\\xa0\\x80"},
		{"\xef\xbf\xbe\xef\xbf\xbf", "\\xef\\xbf\\xbe\\xef\\xbf\\xbf"},
		{"\xef\xbf\xbd \xc3\xa9", "\xef\xbf\xbd \xc3\xa9"},
		{"", "[<b>\"'<script>]"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		_cleanup_(fixture_deinit) struct fixture f;

		fixture_init(&f);
		uint64_t leaf = fixture_symbol(&f, cases[i].symbol, "<b>\"'<script>");

		free(f.snap->processes.data[0].command);
		f.snap->processes.data[0].command = strdup(cases[i].symbol);
		fixture_block(&f, BLOCK_HEAP, 9, 1,
			      FIXTURE_STACK(&f, STACK_END_COMPLETE, leaf));

		_cleanup_(page_deinit) struct page page = draw(&f, i % 2, i % 3 == 0);

		check_elements(&page);
		REQUIRE(page.frames.len == 2);
		CHECK(find(&page, 1, cases[i].shown));
	}
}

/* Numbers at the ends of their ranges. */
static void hostile_sizes(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	uint64_t leaf = fixture_symbol(&f, "leaf", NULL);
	uint64_t other = fixture_symbol(&f, "other", NULL);

	f.snap->sampling.every = UINT64_MAX;
	fixture_block(&f, BLOCK_HEAP, UINT64_MAX, 1,
		      FIXTURE_STACK(&f, STACK_END_COMPLETE, leaf));
	fixture_block(&f, BLOCK_HEAP, UINT64_MAX, 1,
		      FIXTURE_STACK(&f, STACK_END_COMPLETE, other));

	_cleanup_(page_deinit) struct page page = draw(&f, false, false);

	CHECK(find(&page, 0, "all")->bytes == UINT64_MAX);
	CHECK_INT(find(&page, 0, "all")->width, 118000);
	CHECK_INT(find(&page, 1, "leaf")->width, 118000);
}

static void nothing_to_draw(void)
{
	_cleanup_(fixture_deinit) struct fixture f, zero;

	fixture_init(&f);
	fixture_init(&zero);
	fixture_block(&zero, BLOCK_HEAP, 0, 1, SNAPSHOT_NO_STACK);

	_cleanup_(freep) char *svg = render(&f, &(struct flame_options){0});
	_cleanup_(page_deinit) struct page page = parse(svg);
	_cleanup_(page_deinit) struct page zeros = draw(&zero, true, true);

	CHECK_CONTAINS(svg, ">no memory<");
	CHECK_INT(page.frames.len, 0);
	CHECK_INT(zeros.frames.len, 0);
}

static void equal_reports_give_equal_graphs(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);
	f.snap->losses[LOSS_BLOCKS_FULL] = 12;
	f.snap->sampling.every = 100;

	_cleanup_(freep) char *a = render(&f, &(struct flame_options){0});
	_cleanup_(freep) char *b = render(&f, &(struct flame_options){0});

	CHECK_STR(a, b);
	CHECK_CONTAINS(a, ">incomplete: blocks_full 12<");
	CHECK_CONTAINS(a, "(estimated from one allocation in 100)");
	/* The only URL is the XML namespace. */
	CHECK(!strstr(strstr(a, "http://www.w3.org/2000/svg") + 1, "http"));
	CHECK(!strstr(a, "@import") && !strstr(a, "eval(") && !strstr(a, "innerHTML"));
}

int main(void)
{
	RUN(widths_are_sums);
	RUN(narrow_frames_count_in_their_callers);
	RUN(many_frames_are_too_many);
	RUN(inverted_and_reverse);
	RUN(mappings_are_apart);
	RUN(processes_are_apart);
	RUN(names_are_short);
	RUN(shows_the_requested_numbers);
	RUN(nothing_was_counted);
	RUN(hostile_names_stay_text);
	RUN(hostile_sizes);
	RUN(nothing_to_draw);
	RUN(equal_reports_give_equal_graphs);
	return check_done();
}
