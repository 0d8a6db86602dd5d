// SPDX-License-Identifier: Apache-2.0
/* Tests of the HTML summary that need no browser. tests/browser has the others. */
#include "fixture_timeline.h"

#include "render/html/html.h"
#include "render/html/parts.h"
#include "util/sha256.h"

static char *render(struct fixture *f)
{
	const struct flame_options options = {0};
	char *html = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&html, &len);

	if (!f->report)
		fixture_report(f);
	REQUIRE(out && !html_render(f->report, &options, out) && !fclose(out));
	CHECK_INT(strlen(html), len);
	return html;
}

/* Checks that the policy contains the hash of the text between `from` and `to`. */
static void check_hash(const char *html, const char *kind, const char *from,
		       const char *to)
{
	const char *begin = strstr(html, from), *end = begin ? strstr(begin, to) : NULL;
	char want[128];

	REQUIRE(begin && end);
	begin += strlen(from);
	/* It occurs once. */
	CHECK(!strstr(end, from));

	_cleanup_(freep) char *text = strndup(begin, (size_t)(end - begin));

	REQUIRE(text && strlen(text) > 1000);
	snprintf(want, sizeof(want), "%s 'sha256-%s'", kind, sha256_base64(text).s);
	CHECK_CONTAINS(html, want);
}

static void the_policy_names_script_and_style(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);

	_cleanup_(freep) char *html = render(&f);

	check_hash(html, "script-src", "<script>", "</script>");
	check_hash(html, "style-src", "<style>", "</style>");
	CHECK_CONTAINS(html, "content=\"default-src 'none'; ");
	CHECK(!strstr(flame_script(), "</script") && !strstr(flame_script(), "<!--"));
	/* The policy comes before all content. */
	CHECK(strstr(html, "Content-Security-Policy") < strstr(html, "<title>"));
	CHECK(!strstr(html, " style=") && !strstr(html, " onclick=") &&
	      !strstr(html, "href=") && !strstr(html, " src="));
}

static void equal_reports_give_equal_pages(void)
{
	char *pages[2];

	for (size_t i = 0; i < 2; i++) {
		_cleanup_(fixture_deinit) struct fixture f;

		fixture_init(&f);
		fixture_fill(&f);
		fixture_fill_timeline(&f);
		pages[i] = render(&f);
	}
	CHECK_STR(pages[0], pages[1]);
	free(pages[0]);
	free(pages[1]);
}

/* A long table is cut off, and says so. */
static void many_call_paths(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	char names[150][8];

	fixture_init(&f);
	for (size_t i = 0; i < 150; i++) {
		snprintf(names[i], sizeof(names[i]), "f%zu", i);
		uint64_t symbol = fixture_symbol(&f, names[i], NULL);

		fixture_block(&f, BLOCK_HEAP, 1000 + i, 1,
			      FIXTURE_STACK(&f, STACK_END_COMPLETE, symbol));
	}

	_cleanup_(freep) char *html = render(&f);

	CHECK_CONTAINS(html, "These are the first 100 of 150 call paths.");
	CHECK_CONTAINS(html, "<summary><code class=\"first\">f149</code></summary>");
	CHECK_CONTAINS(html, "<summary><code class=\"first\">f50</code></summary>");
	CHECK(!strstr(html, "<summary><code class=\"first\">f49</code></summary>"));
}

/* What matters comes first. */
/* After a search for unreachable blocks the table of call paths has a column for them. */
static void lost_bytes_have_a_column(void)
{
	static const struct snapshot_unreachable found[] = {
		{.lost = {288, 3}, .held = {64, 1}},
		{.possible = {65536, 2}},
		{.lost.bytes = 0}};
	_cleanup_(fixture_deinit) struct fixture f, searched;

	fixture_init(&f);
	fixture_fill(&f);

	_cleanup_(freep) char *before = render(&f);

	CHECK(!strstr(before, ">Lost<") && !strstr(before, "data-head=\"Lost\""));
	fixture_init(&searched);
	fixture_fill(&searched);
	searched.snap->search.count = 1;
	for (size_t i = 0; i < 3; i++)
		REQUIRE(vec_push(&searched.snap->unreachable, found[i]));

	_cleanup_(freep) char *html = render(&searched);

	CHECK_CONTAINS(html, "<th class=\"n\" scope=\"col\">Lost</th>");
	/* With the block that only lost ones lead to. */
	CHECK_CONTAINS(html, "data-head=\"Lost\" title=\"352 bytes\">352 B</td>");
	CHECK_CONTAINS(html, "data-head=\"Lost\" title=\"0 bytes\">0 B</td>");
	CHECK(!strstr(html, "title=\"65536 bytes\">64.0 KiB</td>"));
}

static void the_order_of_the_page(void)
{
	static const char *const parts[] = {
		"<h1>leaky (4321)</h1>",   "<p id=\"verdict\"",
		"<p class=\"complete\">",  "<section id=\"timeline\">",
		"<section class=\"causes", "<section id=\"flame\">",
		"<details class=\"folded", "id=\"stacks\">",
		"id=\"sizes\">",           "id=\"ages\">",
		"id=\"threads\">",         "<footer>"};
	_cleanup_(fixture_deinit) struct fixture f;
	const char *last;

	fixture_init(&f);
	fixture_fill(&f);
	fixture_fill_timeline(&f);

	_cleanup_(freep) char *html = render(&f);

	last = html;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		const char *at = strstr(last, parts[i]);

		CHECK_CONTAINS(html, parts[i]);
		if (!at)
			CHECK_FAIL("%s comes too early", parts[i]);
		last = at ? at : last;
	}
	CHECK_CONTAINS(html, "<strong>leaking 12.0 KiB/min</strong>, 100 % from <code "
			     "class=\"first\">Cache::insert</code>; +10 MiB in 14 h</p>");
}

/* Whatever options leave out, the whole is what is live. */
static void percentages_are_of_one_whole(void)
{
	static const char share[] = "<span class=\"share\">50.0 %</span>";
	const struct report_options options = {.older_ns = 2 * FIXTURE_NS};
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	for (unsigned i = 0; i < 2; i++) {
		uint64_t symbol = fixture_symbol(&f, i ? "young" : "old", NULL);

		fixture_block(&f, BLOCK_HEAP, 1000, 1,
			      FIXTURE_STACK(&f, STACK_END_COMPLETE, symbol));
	}
	f.snap->blocks[BLOCK_HEAP].data[0].time_ns -= 2 * FIXTURE_NS;
	fixture_report_with(&f, &options);

	_cleanup_(freep) char *html = render(&f);

	CHECK_CONTAINS(html, share);
	CHECK_CONTAINS(html, "data-head=\"Share\">50.0 %</td>");
	CHECK_CONTAINS(html, "<title>old\n1000 B, 1000 bytes in 1 block, 50.0 %</title>");
	CHECK_CONTAINS(html, "percentages are of all live memory");
	CHECK(!strstr(html, ">young<"));
}

/* The user's own function stands first, however deep it is below library code. */
static void own_code_is_highlighted(void)
{
	static const char *const names[] = {
		"operator new(unsigned long)",
		"std::vector<int, std::allocator<int> >::push_back(int const&)"};
	_cleanup_(fixture_deinit) struct fixture f;
	uint64_t at[4];

	fixture_init(&f);
	for (size_t i = 0; i < 2; i++)
		at[i] = fixture_symbol(&f, names[i], "/usr/lib/libstdc++.so.6");
	at[2] = fixture_symbol(&f, "shop::add<int>(int)", "/srv/app/bin/leaky");
	at[3] = fixture_symbol(&f, "main", "/srv/app/bin/leaky");
	fixture_block(&f, BLOCK_HEAP, 1000, 1,
		      fixture_stack(&f, STACK_END_COMPLETE, 4, at));

	_cleanup_(freep) char *html = render(&f);

	CHECK_CONTAINS(html,
		       "<span class=\"who\"><code class=\"first\">shop::add</code>");
	CHECK_CONTAINS(html, "<li class=\"other\"><code>std::vector::push_back</code>");
	CHECK_CONTAINS(html, "<li class=\"first\"><code>shop::add</code>");
	CHECK_CONTAINS(html, "<li class=\"own\"><code>main</code>");
	CHECK_CONTAINS(html, "<summary><code>operator new</code> <span "
			     "class=\"from\">\u2190</span> <span class=\"more\">1 "
			     "frame</span> <span class=\"from\">\u2190</span> <code "
			     "class=\"first\">shop::add</code>");
	/* The list of all call paths has the whole names. */
	CHECK_CONTAINS(html,
		       "<li class=\"first\"><code>shop::add&lt;int&gt;(int)</code>");
}

/* Numbers that no clock and no kernel returns, and more moments than a page holds. */
static void hostile_moments(void)
{
	static const uint64_t times[] = {UINT64_MAX, 0, 5, UINT64_MAX, 1, UINT64_MAX - 1};
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);
	for (size_t i = 0; i < 300000; i++) {
		struct snapshot_moment m = {
			.time_ns = times[i % 6],
			.live_bytes = {i % 2 ? UINT64_MAX : i, UINT64_MAX - i},
			.live_blocks = {UINT64_MAX},
			.allocated_bytes = i % 3 ? UINT64_MAX : 0,
			.allocations = UINT64_MAX,
			.vm_rss_bytes = UINT64_MAX,
		};

		REQUIRE(vec_push(&f.snap->moments, m));
	}

	_cleanup_(freep) char *html = render(&f);

	CHECK_CONTAINS(html, "<section id=\"timeline\">");
	CHECK(strlen(html) < 1000000);
	CHECK(!strstr(html, "nan") && !strstr(html, "inf "));
}

static void hostile_counts(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);
	fixture_fill_threads(&f);
	fixture_fill_traffic(&f);
	fixture_fill_trends(&f);
	vec_foreach (traffic, &f.snap->traffic)
		memset(traffic, 0xff, sizeof(*traffic));
	vec_foreach (lifetimes, &f.snap->lifetimes)
		memset(lifetimes, 0xff, sizeof(*lifetimes));
	memset(f.snap->sizes, 0xff, sizeof(f.snap->sizes));
	f.snap->peak_bytes = f.snap->peak_time_ns = UINT64_MAX;
	f.snap->threads.data[0].process = UINT32_MAX;
	f.snap->threads.data[0].allocated_bytes = UINT64_MAX;
	f.snap->threads.data[1].freed_own_bytes = UINT64_MAX;
	f.snap->trends[BLOCK_HEAP].data[0].slope_bytes_per_s = 1e300;
	f.snap->blocks[BLOCK_HEAP].data[0].time_ns = UINT64_MAX;
	f.snap->blocks[BLOCK_HEAP].data[1].size_bytes = UINT64_MAX;
	f.snap->wall_ns = UINT64_MAX;

	_cleanup_(freep) char *html = render(&f);

	CHECK_CONTAINS(html, "id=\"threads\">");
	CHECK_CONTAINS(html, "</html>\n");
}

/* A suspect far below the fastest one. */
/* After a search for unreachable blocks the totals say what is lost. */
static void lost_blocks_have_a_card(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);

	_cleanup_(freep) char *before = render(&f);

	CHECK(!strstr(before, "<dt>Lost</dt>"));
	f.snap->search.count = 1;
	f.snap->search.total.lost = (struct snapshot_sum){3072, 3};
	f.snap->search.total.possible = (struct snapshot_sum){512, 1};

	_cleanup_(freep) char *html = render(&f);

	CHECK_CONTAINS(html, "<dt>Lost</dt><dd><strong>3.0 KiB</strong><span>3 blocks "
			     "that nothing points to<br>possibly 512 B more</span>");
	f.snap->search.total.held = (struct snapshot_sum){2048, 2};

	_cleanup_(freep) char *held = render(&f);

	CHECK_CONTAINS(held, "<dt>Lost</dt><dd><strong>5.0 KiB</strong><span>3 blocks "
			     "that nothing points to<br>and 2 that only these lead to "
			     "(2.0 KiB)<br>possibly 512 B more</span>");
	f.snap->search.total.unverified = (struct snapshot_sum){1024, 1};
	f.snap->search.total.lost_but_freed = (struct snapshot_sum){256, 1};
	f.snap->search.total.held_but_freed = (struct snapshot_sum){64, 1};
	f.snap->search.unsearched = 1;
	f.snap->search.processes = 2;

	_cleanup_(freep) char *rest = render(&f);

	CHECK_CONTAINS(rest,
		       "<br>1.0 KiB unverified, for want of time<br>256 B called "
		       "lost by mistake, and freed (64 B because only lost blocks "
		       "led to them)<br>1 of 2 processes could not be searched</span>");
}

static void rates_are_escaped(void)
{
	static const double slopes[] = {3 * 1048576.0 / 60, 100};
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	f.snap->has_trends = true;
	for (size_t i = 0; i < 2; i++) {
		fixture_block(&f, BLOCK_HEAP, 1000, 1,
			      FIXTURE_STACK(&f, STACK_END_COMPLETE,
					    fixture_symbol(&f, i ? "slow" : "fast",
							   "/srv/app/bin/leaky")));
		REQUIRE(vec_push(&f.snap->trends[BLOCK_HEAP],
				 (struct snapshot_trend){.intervals = 9,
							 .grew = 9,
							 .slope_bytes_per_s = slopes[i],
							 .determination = 1,
							 .rise_bytes = 900}));
	}

	_cleanup_(freep) char *html = render(&f);

	CHECK_CONTAINS(html, "<span class=\"rate\">+3.0 MiB/min</span>");
	CHECK_CONTAINS(html, "<span class=\"rate\">&lt;0.1 MiB/min</span>");
}

/* Names are chosen by the target: no character of them is markup, ends an attribute or
 * changes the order of the text. */
static void names_are_escaped(void)
{
	static const char name[] = "<a b=\"c\" d='e'>&lt;\n\xe2\x80\xae";
	static const char want[] =
		"&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;lt;\\x0a\\xe2\\x80\\xae";
	_cleanup_(strbuf_deinit) struct strbuf out = {0};
	struct strbuf text = {0};

	html_append_text(&out, name);
	CHECK_STR(strbuf_text(&out), want);
	out.len = 0;
	strbuf_append(&text, "<\"'&>");
	html_move_text(&out, &text);
	CHECK_STR(strbuf_text(&out), "&lt;&quot;&#39;&amp;&gt;");
}

int main(void)
{
	RUN(the_policy_names_script_and_style);
	RUN(equal_reports_give_equal_pages);
	RUN(many_call_paths);
	RUN(lost_bytes_have_a_column);
	RUN(the_order_of_the_page);
	RUN(percentages_are_of_one_whole);
	RUN(own_code_is_highlighted);
	RUN(hostile_moments);
	RUN(hostile_counts);
	RUN(lost_blocks_have_a_card);
	RUN(rates_are_escaped);
	RUN(names_are_escaped);
	return check_done();
}
