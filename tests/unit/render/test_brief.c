// SPDX-License-Identifier: Apache-2.0
/* Parts of the brief report: shortened and wrapped text, rates, the wording of
 * verdicts. */
#include "fixture.h"

#include <stdbool.h>

#include "render/text/brief_page.h"
#include "render/brief_rate.h"
#include "render/text/brief_verdict.h"
#include "frames/filter.h"

DEFINE_CLEANUP(struct report_filter *, report_filter_destroy);

#define EXE  "/srv/app/bin/leaky"
#define LIBC "/usr/lib/libc.so.6"

/* --- text that fits ----------------------------------------------------------------- */

static void check_cut(const char *text, size_t columns, bool utf8, const char *want)
{
	_cleanup_(strbuf_deinit) struct strbuf got = {0};

	text_append_within(&got, text, columns, utf8);
	CHECK_STR(strbuf_text(&got), want);
	CHECK(text_width(want, strlen(want), utf8) <= columns);
}

static void cuts(void)
{
	check_cut("process_command", 15, false, "process_command");
	check_cut("process_command", 14, false, "pro..._command");
	check_cut("process_command", 6, false, "p...nd");
	check_cut("process_command", 5, false, "proce");
	check_cut("process_command", 0, false, "");
	check_cut("", 5, false, "");
	/* Only whole characters. East Asian characters take two columns each. */
	check_cut("\u00e9\u00e9\u00e9\u00e9", 4, true, "\u00e9\u00e9\u00e9\u00e9");
	check_cut("\u00e9\u00e9\u00e9\u00e9", 4, false, "\u00e9\u00e9");
	check_cut("\u6f22\u6f22\u6f22\u6f22", 7, true, "...\u6f22");
	check_cut("\u6f22\u6f22\u6f22\u6f22", 8, true, "\u6f22\u6f22\u6f22\u6f22");
	CHECK_INT(text_width("a\u6f22\U0001f600", 8, true), 5);
}

static struct brief_page page_of(struct report *report, unsigned columns)
{
	struct brief_page page;

	*report = (struct report){.options = {.columns = columns}};
	brief_page_init(&page, report);
	return page;
}

static void check_words(unsigned columns, const char *text, const char *want)
{
	struct report report;
	struct brief_page page = page_of(&report, columns);

	brief_put_words(&page, TEXT_PLAIN, 2, text);
	brief_end_line(&page);
	CHECK_STR(strbuf_text(&page.text), want);
	strbuf_deinit(&page.text);
}

static void words(void)
{
	check_words(20, "one two three four five", "one two three four\n  five\n");
	/* A number stays with its unit. */
	check_words(10, "live 12 MiB now", "live\n  12 MiB\n  now\n");
	check_words(10, "live +12 MiB", "live\n  +12 MiB\n");
	check_words(12, "a_very_long_word b", "a_v...g_word\n  b\n");
	check_words(80, "  many   spaces ", "many spaces\n");
	check_words(80, "", "\n");
}

static void labels(void)
{
	struct report report;
	struct brief_page page = page_of(&report, 40);

	brief_put_labelled(&page, "heap", "12 MiB live in 345 blocks since the attach");
	CHECK_STR(strbuf_text(&page.text), "  heap      12 MiB live in 345 blocks\n"
					   "            since the attach\n");
	CHECK_INT(page.lines, 2);
	strbuf_deinit(&page.text);
}

/* --- rates -------------------------------------------------------------------------- */

static void check_rate(double largest, double slope, const char *want)
{
	struct brief_rate rate;

	brief_rate_init(&rate, largest);
	CHECK_STR(brief_rate_format(&rate, slope).s, want);
}

static void rates(void)
{
	const double mib_per_min = 1024.0 * 1024 / 60;

	check_rate(9.2 * mib_per_min, 9.2 * mib_per_min, "9.2 MiB/min");
	check_rate(9.2 * mib_per_min, 0.4 * mib_per_min, "0.4 MiB/min");
	check_rate(9.2 * mib_per_min, 10, "<0.1 MiB/min");
	check_rate(9.2 * mib_per_min, 0, "0.0 MiB/min");
	check_rate(1, 1, "3.5 KiB/h");
	check_rate(0.001, 0.001, "86.4 B/day");
	check_rate(1e9, 1e9, "953.7 MiB/s");
	check_rate(1e300, 1, "<0.1 PiB/s");
	check_rate(0.0 / 0.0, 5, "432000.0 B/day");
}

/* --- verdicts ----------------------------------------------------------------------- */

/* A cause with the name process_command, at store.c:212. */
struct sample {
	struct report_frame frame;
	const struct report_frame *frames[1];
	struct report_row row;
	struct cause_part part;
	struct cause cause;
	struct snapshot snap;
};

static void sample_init(struct sample *s)
{
	*s = (struct sample){.frame = {.symbol = "shop::process_command(int)",
				       .file = "/srv/store.c",
				       .line = 212}};
	s->frames[0] = &s->frame;
	s->row = (struct report_row){.frames = s->frames, .depth = 1};
	s->part = (struct cause_part){.row = &s->row};
	s->cause = (struct cause){.parts = &s->part, .part_count = 1};
}

static void check_verdict_of(const struct verdict *verdict, unsigned columns, bool lossy,
			     uint64_t lost_bytes, const char *want)
{
	struct sample s;
	struct verdict v = *verdict;
	struct report report;
	struct brief_page page = page_of(&report, columns);
	char line[256];

	sample_init(&s);
	s.snap.losses[LOSS_EVENTS_LOST] = lossy;
	s.snap.search.total.lost = (struct snapshot_sum){lost_bytes / 2, lost_bytes != 0};
	s.snap.search.total.held = s.snap.search.total.lost;
	report.snapshot = &s.snap;
	v.cause = &s.cause;
	brief_put_verdict(&page, &v);
	snprintf(line, sizeof(line), "%s\n", want);
	CHECK_STR(strbuf_text(&page.text), line);
	strbuf_deinit(&page.text);
}

static void check_verdict(const struct verdict *verdict, unsigned columns, bool lossy,
			  const char *want)
{
	check_verdict_of(verdict, columns, lossy, 0, want);
}

static const struct verdict leak = {
	.kind = VERDICT_LEAKING,
	.slope_bytes_per_s = 9.7 * 1024 * 1024 / 60,
	.share_percent = 95,
	.more_bytes = 1 << 30,
	.more_s = 6480,
};

/* The most important parts are dropped last. */
static void leaks(void)
{
	check_verdict(
		&leak, 120, true,
		"leaking 9.7 MiB/min, 95 % from shop::process_command (store.c:212); "
		"+1 GiB in 1.8 h; not all was recorded");
	check_verdict(
		&leak, 100, true,
		"leaking 9.7 MiB/min, 95 % from shop::process_command (store.c:212); "
		"+1 GiB in 1.8 h");
	check_verdict(&leak, 80, true,
		      "leaking 9.7 MiB/min, 95 % from process_command (store.c:212); "
		      "+1 GiB in 1.8 h");
	check_verdict(&leak, 60, false,
		      "leaking 9.7 MiB/min, 95 % from process_command (store.c:212)");
	check_verdict(&leak, 50, false, "leaking 9.7 MiB/min, 95 % from process_command");
	check_verdict(&leak, 42, false, "leaking 9.7 MiB/min; +1 GiB in 1.8 h");
	check_verdict(&leak, 20, false, "leaking 9.7 MiB/min");
}

/* After a search for unreachable blocks. */
static void lost(void)
{
	check_verdict_of(&leak, 110, true, 3072,
			 "leaking 9.7 MiB/min, 95 % from shop::process_command "
			 "(store.c:212); +1 GiB in 1.8 h; 3.0 KiB lost for good");
	check_verdict_of(&leak, 60, false, 3072,
			 "leaking 9.7 MiB/min, 95 % from process_command (store.c:212)");
}

/* Where another cause has the same name, the caller tells them apart. */
static void callers(void)
{
	const struct report_frame caller = {.symbol = "handle(int)"};
	struct verdict v = leak;

	v.caller = &caller;
	check_verdict(
		&v, 100, false,
		"leaking 9.7 MiB/min, 95 % from shop::process_command (store.c:212) "
		"by handle; +1 GiB in 1.8 h");
	check_verdict(&v, 85, false,
		      "leaking 9.7 MiB/min, 95 % from shop::process_command by handle; "
		      "+1 GiB in 1.8 h");
	check_verdict(&v, 60, false,
		      "leaking 9.7 MiB/min, 95 % from process_command (store.c:212)");
}

static void verdicts(void)
{
	const struct report_sum live = {
		.estimated_bytes = 3 << 20, .estimated_count = 7, .count = 7};

	check_verdict(&(struct verdict){.kind = VERDICT_EARLY,
					.reports = 3,
					.wait_ns = 15 * FIXTURE_NS},
		      80, false, "too early: leak suspects after 3 more reports (15 s)");
	check_verdict(&(struct verdict){.kind = VERDICT_EARLY, .reports = 1}, 80, false,
		      "too early: leak suspects after 1 more report");
	check_verdict(&(struct verdict){.kind = VERDICT_SHORT,
					.live = live,
					.share_percent = 80},
		      120, false,
		      "3.0 MiB live, 80 % from shop::process_command (store.c:212); too "
		      "short to find leaks: 5 reports are needed");
	check_verdict(&(struct verdict){.kind = VERDICT_EXITED,
					.live = live,
					.share_percent = 80},
		      80, false,
		      "exited: 3.0 MiB live, 80 % from shop::process_command "
		      "(store.c:212)");
	check_verdict(&(struct verdict){.kind = VERDICT_EXITED}, 80, false,
		      "exited with nothing live");
	check_verdict(&(struct verdict){.kind = VERDICT_UNSTEADY,
					.growth_bytes = 2 << 20,
					.growth_ns = 90 * FIXTURE_NS},
		      80, false, "grows unsteadily: +2.0 MiB in 90 s; no leak suspects");
	check_verdict(&(struct verdict){.kind = VERDICT_UNSTEADY,
					.growth_bytes = 2 << 20,
					.growth_ns = 90 * FIXTURE_NS,
					.is_filtered = true},
		      80, false,
		      "grows unsteadily: +2.0 MiB in 90 s; no leak suspects that the "
		      "filters show");
	check_verdict(&(struct verdict){.kind = VERDICT_FILTERED}, 80, false,
		      "no stack matches the filters");
	check_verdict(&(struct verdict){.kind = VERDICT_QUIET, .live = live}, 80, false,
		      "nothing grows: 3.0 MiB live");
	check_verdict(&(struct verdict){.kind = VERDICT_QUIET,
					.live = live,
					.class = BLOCK_MAPPING},
		      80, false, "mappings: nothing grows: 3.0 MiB live");
	check_verdict(&(struct verdict){.kind = VERDICT_EMPTY}, 80, false,
		      "nothing live that was allocated since the attach");
}

/* --- whole reports ------------------------------------------------------------------ */

static void fill(struct fixture *f)
{
	uint64_t allocate = fixture_symbol(f, "malloc", LIBC);
	uint64_t own = fixture_symbol(f, "Store::put(int)", EXE);
	uint64_t inner = fixture_symbol(f, "std::vector<int>::push_back(int)", EXE);
	uint64_t start = fixture_symbol(f, "_start", LIBC);

	fixture_block(f, BLOCK_HEAP, 1000, 1,
		      FIXTURE_STACK(f, STACK_END_COMPLETE, allocate, inner, own, inner,
				    inner + 1, own, start));
}

static char *render_with(struct fixture *f, struct report_options options)
{
	fixture_report_with(f, &options);
	return fixture_render(f, "brief", NULL);
}

static void folded_stacks(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fill(&f);

	_cleanup_(freep) char *text = render_with(&f, (struct report_options){0});

	CHECK_CONTAINS(text, "\nLive, largest first:\n"
			     "  1000 B  Store::put\n"
			     "      in 1 block, oldest 1.0 s\n"
			     "      via std::vector::push_back\n"
			     "      from ... 2 frames of libstdc++\n"
			     "           Store::put\n"
			     "\n");
	CHECK(!strstr(text, "_start"));
	CHECK(!strchr(text, '\033'));
}

/* The parts of a cause, largest sum first. */
static void parts(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	uint64_t allocate, own, map, string;

	fixture_init(&f);
	allocate = fixture_symbol(&f, "malloc", LIBC);
	own = fixture_symbol(&f, "Store::put(int)", EXE);
	map = fixture_symbol(&f, "std::map<int, int>::operator[](int)", EXE);
	string = fixture_symbol(&f, "std::string::reserve(unsigned long)", EXE);
	fixture_block(&f, BLOCK_HEAP, 300, 1,
		      FIXTURE_STACK(&f, STACK_END_COMPLETE, allocate, map, own));
	fixture_block(&f, BLOCK_HEAP, 100, 1,
		      FIXTURE_STACK(&f, STACK_END_COMPLETE, allocate, own));
	for (unsigned i = 0; i < 2; i++)
		fixture_block(
			&f, BLOCK_HEAP, 200, 1,
			FIXTURE_STACK(&f, STACK_END_COMPLETE, allocate, string + i, own));

	_cleanup_(freep) char *text = render_with(&f, (struct report_options){0});

	CHECK_CONTAINS(text, "      in 4 blocks, oldest 1.0 s\n"
			     "      400 B via std::string::reserve\n"
			     "      300 B via std::map::operator[]\n"
			     "      100 B via malloc\n");
}

static void whole_stacks(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fill(&f);

	_cleanup_(freep) char *text =
		render_with(&f, (struct report_options){.whole_stacks = true});

	CHECK_CONTAINS(text, "      from malloc (libc.so.6)\n"
			     "           std::vector::push_back\n"
			     "           Store::put\n"
			     "           std::vector::push_back\n"
			     "           std::vector::push_back\n"
			     "           Store::put\n"
			     "           _start (libc.so.6)\n");
}

/* Full names go on in the next line, behind a blank. */
static void full_names(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fill(&f);

	_cleanup_(freep) char *text =
		render_with(&f, (struct report_options){.names = REPORT_FORM_FULL,
							.addresses = true});

	CHECK_CONTAINS(text, "  1000 B  0x400110 Store::put(int)\n"
			     "      in 1 block, oldest 1.0 s\n"
			     "      via std::vector<int>::push_back(int)\n"
			     "      from ... 2 frames of libstdc++\n"
			     "           0x400110 Store::put(int)\n");
}

/* The program's own function is highlighted. */
static void colors(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fill(&f);

	_cleanup_(freep) char *text =
		render_with(&f, (struct report_options){.color = true});

	CHECK_CONTAINS(text, "\033[1mStore::put\033[0m\n");
	CHECK_CONTAINS(text, "\033[2m... 2 frames of libstdc++\033[0m\n");
	CHECK_CONTAINS(text, "\033[32mStore::put\033[0m\n");
}

static void filtered(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	_cleanup_(report_filter_destroyp) struct report_filter *filter =
		report_filter_create();

	fixture_init(&f);
	fill(&f);
	REQUIRE(filter && !report_filter_add(filter, FILTER_KEEP, "fn:nothing"));

	_cleanup_(freep) char *text =
		render_with(&f, (struct report_options){.filter = filter});

	CHECK_CONTAINS(text, "\n  No stack matches the filters.\n");
	CHECK_CONTAINS(text, "  left out  1000 bytes in 1 block of 1 stack, by --filter "
			     "and --exclude\n");
}

/* Stacks below the cut are counted in the rest. */
static void stacks_below_the_cut_are_counted(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);

	_cleanup_(freep) char *text =
		render_with(&f, (struct report_options){.top = 2, .entries = 1});

	/* 3100 + 64 + 7 bytes in total. The second stack's row does not belong to the
	 * first cause. */
	CHECK_CONTAINS(text, "  ... 1 more cause and 3 more stacks: 3.1 KiB\n");
}

static void events(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fill(&f);
	f.snap->event = strdup("uprobe:libc.so.6:malloc");

	_cleanup_(freep) char *text = render_with(&f, (struct report_options){0});

	CHECK_CONTAINS(text, "  event       uprobe:libc.so.6:malloc\n");
}

/* Growth that says nothing is in none of the reports for people. */
static void growth_of_a_moment(void)
{
	static const char *const formats[] = {"brief", "text", "html"};
	static const char *const words[] = {"since the last report",
					    "since the last report",
					    "since the report before"};

	for (size_t i = 0; i < 6; i++) {
		_cleanup_(fixture_deinit) struct fixture f;

		fixture_init(&f);
		fixture_fill(&f);
		fixture_report(&f);
		f.report->has_previous = true;
		f.report->has_growth = i % 2;

		_cleanup_(freep) char *text = fixture_render(&f, formats[i / 2], NULL);

		/* "10.0 s, 10.0 s since the last report" is not growth. */
		CHECK_INT(strstr(text, i / 2 == 1 ? "B since the last report"
						  : words[i / 2]) != NULL,
			  i % 2);
	}
}

int main(void)
{
	RUN(cuts);
	RUN(words);
	RUN(labels);
	RUN(rates);
	RUN(leaks);
	RUN(lost);
	RUN(callers);
	RUN(verdicts);
	RUN(folded_stacks);
	RUN(parts);
	RUN(whole_stacks);
	RUN(full_names);
	RUN(colors);
	RUN(filtered);
	RUN(growth_of_a_moment);
	RUN(stacks_below_the_cut_are_counted);
	RUN(events);
	return check_done();
}
