// SPDX-License-Identifier: Apache-2.0
/* From options to report settings: views, pattern files, colour. */
#include "unit/options/options_check.h"

#include "options/option_table.h"
#include "output/report_setup.h"
#include "render/table/renderers.h"
#include "render/views/views.h"
#include "frames/filter.h"

static void check_choices(void)
{
	const struct option_row *row = &option_rows[OPTION_VIEW];
	size_t i = 0;

	for (; row->choices[i]; i++) {
		REQUIRE(views[i]);
		CHECK_STR(row->choices[i], views[i]->name);
		CHECK_CONTAINS(row->help, views[i]->name);
	}
	CHECK(!views[i]);
	row = &option_rows[OPTION_SORT];
	for (i = 0; row->choices[i]; i++) {
		REQUIRE(i < REPORT_SORTS);
		CHECK_STR(row->choices[i], report_sort_name((enum report_sort)i));
		CHECK_CONTAINS(row->help, row->choices[i]);
	}
	CHECK_INT(i, REPORT_SORTS);
	row = &option_rows[OPTION_FORMAT];
	for (i = 0; row->choices[i]; i++) {
		CHECK(renderer_find(row->choices[i]));
		CHECK_CONTAINS(row->help, row->choices[i]);
	}
	CHECK(i >= 3);
}

/* A view sets its order and the data that it needs. */
static void views_and_sorts(void)
{
	struct options o;

	PARSE(&o, NULL);
	CHECK_STR(o.view, "leaks");
	CHECK_INT(o.sort, REPORT_SORT_SIZE);
	CHECK(!o.trace.traffic);
	PARSE(&o, "--view=growth");
	CHECK_INT(o.sort, REPORT_SORT_GROWTH);
	CHECK(!o.trace.traffic);
	PARSE(&o, "--view", "peak");
	CHECK_INT(o.sort, REPORT_SORT_AT_PEAK);
	CHECK(o.trace.traffic);
	CHECK(o.trace.peak);
	PARSE(&o, "--peak");
	CHECK(o.trace.traffic);
	CHECK(o.trace.peak);
	PARSE(&o, "--sort=at-peak");
	CHECK(o.trace.peak);
	PARSE(&o, "--traffic");
	CHECK(!o.trace.peak);
	PARSE(&o, "--save=a");
	CHECK(o.trace.peak);
	PARSE(&o, "--save=a", "--sample-bytes=1K");
	CHECK(o.trace.traffic);
	CHECK(!o.trace.peak);
	PARSE(&o, "--view=peak", "--sample-bytes=1K");
	CHECK(o.trace.peak);
	PARSE(&o, "--peak", "--sample-bytes=1K", "--mappings");
	CHECK(o.trace.peak);
	PARSE(&o, "--flamegraph=a", "--flame-of=peak");
	CHECK(o.trace.traffic);
	CHECK(o.trace.peak);
	CHECK_INT(o.flame_of, REPORT_FLAME_PEAK);
	PARSE(&o, "--html=a", "--flame-of=traffic");
	CHECK(o.trace.traffic);
	CHECK(!o.trace.peak);
	PARSE(&o, "--flame=a", "--flame-of=count");
	CHECK(!o.trace.traffic);
	PARSE(&o, "--sort=temporary");
	CHECK_STR(o.view, "leaks");
	CHECK_INT(o.sort, REPORT_SORT_TEMPORARY);
	CHECK(o.trace.traffic);
	PARSE(&o, "--group-by=module");
	CHECK_STR(o.view, "functions");
	CHECK_INT(o.group_by, REPORT_GROUP_MODULE);
	CHECK_INT(o.sort, REPORT_SORT_CUMULATIVE);
	CHECK(!o.trace.traffic);
	PARSE(&o, "--group-by=thread");
	CHECK_STR(o.view, "functions");
	CHECK(o.trace.traffic);
	PARSE(&o, "--group-by=process", "--view=tree", "--reverse");
	CHECK_STR(o.view, "tree");
	CHECK(o.reverse);
	PARSE(&o, "--sort=size", "--view=lifetimes");
	CHECK_INT(o.sort, REPORT_SORT_SIZE);
	CHECK(o.trace.traffic);
	PARSE(&o, "--view=histogram");
	CHECK(o.trace.traffic);
	PARSE(&o, "--view=allocations");
	CHECK(!o.trace.traffic);
}

static void setup(struct report_setup *ret, bool is_terminal, struct options *options)
{
	_cleanup_(error_destroyp) struct error *err =
		report_setup_init(options, is_terminal, ret);

	if (err)
		CHECK_FAIL("%s", err->message);
	REQUIRE(!err);
}

static void what_reports_need(void)
{
	_cleanup_(report_setup_deinit) struct report_setup s;
	struct options o;

	PARSE(&o, "--view=traffic", "--skip-size=4K", "--skip-count=3", "-T7");
	setup(&s, false, &o);
	CHECK(s.options.past && s.options.skip_by_traffic);
	CHECK_INT(s.options.skip_bytes, 4096);
	CHECK_INT(s.options.skip_count, 3);
	CHECK_INT(s.options.top, 7);
	CHECK_INT(s.options.singles, 0);
	CHECK_STR(s.options.view, "traffic");
	report_setup_deinit(&s);
	PARSE(&o, "--view=allocations");
	setup(&s, false, &o);
	CHECK(!s.options.past && !s.options.skip_by_traffic);
	CHECK_INT(s.options.singles, 10);
	report_setup_deinit(&s);
	PARSE(&o, "--view=allocations", "--top=0");
	setup(&s, false, &o);
	CHECK(s.options.singles == UINT64_MAX);
	report_setup_deinit(&s);
	/* JSON contains all tables. */
	PARSE(&o, "--format=json", "--top=0");
	setup(&s, false, &o);
	CHECK(s.options.past && !s.options.skip_by_traffic);
	CHECK_INT(s.options.singles, 10);
}

/* Check the default format on a terminal and elsewhere. */
static void check_formats(const char *option, const char *on_terminal,
			  const char *elsewhere)
{
	_cleanup_(report_setup_deinit) struct report_setup s;
	struct options o;

	PARSE(&o, (char *)option);
	setup(&s, true, &o);
	CHECK_STR(s.format, on_terminal);
	report_setup_deinit(&s);
	setup(&s, false, &o);
	CHECK_STR(s.format, elsewhere);
}

/* On a terminal the brief report is the default, unless an option asks for what it does
 * not show. Scripts get memleak's form. */
static void formats(void)
{
	static const char *const others[] = {"--view=leaks", "--sort=size",
					     "--group-by=stack", "--show-allocs"};

	check_formats(NULL, "brief", "text");
	check_formats("--combined-only", "brief", "text");
	check_formats("--follow-forks", "brief", "text");
	check_formats("--format=brief", "brief", "brief");
	check_formats("--format=text", "text", "text");
	check_formats("--format=json", "json", "json");
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		check_formats(others[i], "text", "text");
	check_formats("--kernel", "text", "text");
	check_formats("--with-kernel", "text", "text");
	check_formats("--growth", "text", "text");
}

/* Functions are made of all stacks; JSON has the stacks that --top says. */
static void tops_of_functions(void)
{
	static char *const views_of_all[] = {"--view=functions", "--view=tree",
					     "--group-by=line"};
	_cleanup_(report_setup_deinit) struct report_setup s;
	struct options o;

	for (size_t i = 0; i < 3; i++) {
		PARSE(&o, views_of_all[i], "--top=7");
		setup(&s, true, &o);
		CHECK_STR(s.format, "text");
		CHECK_INT(s.options.entries, 7);
		CHECK_INT(s.options.top, 0);
		CHECK(s.options.gone);
		report_setup_deinit(&s);
	}
	PARSE(&o, "--view=tree", "--top=7", "--format=json");
	setup(&s, false, &o);
	CHECK_INT(s.options.top, 7);
	CHECK(!s.options.gone);
	report_setup_deinit(&s);
	PARSE(&o, "--group-by=thread", "--top=7", "--format=json");
	setup(&s, false, &o);
	CHECK_INT(s.options.entries, 7);
	CHECK_INT(s.options.top, 0);
}

/* --top limits the causes. A cause can have many stacks, so the limit of stacks is
 * higher. */
static void brief_tops(void)
{
	_cleanup_(report_setup_deinit) struct report_setup s;
	struct options o;

	PARSE(&o, "--format=brief");
	setup(&s, false, &o);
	CHECK_INT(s.options.entries, 10);
	CHECK_INT(s.options.top, 1000);
	CHECK_INT(s.options.interval_ns, 5000000000);
	CHECK(s.fits_terminal && !s.options.whole_stacks);
	report_setup_deinit(&s);
	PARSE(&o, "--format=brief", "--top=0", "--hide-frames=none", "-i7");
	setup(&s, false, &o);
	CHECK_INT(s.options.entries, 0);
	CHECK_INT(s.options.top, 0);
	CHECK_INT(s.options.interval_ns, 7000000000);
	CHECK(!s.fits_terminal && s.options.whole_stacks);
	report_setup_deinit(&s);
	PARSE(&o, "--format=brief", "--top=5000");
	setup(&s, false, &o);
	CHECK_INT(s.options.top, 5000);
}

/* Text in the width of a terminal, with short names. */
static void forms_of_names(void)
{
	_cleanup_(report_setup_deinit) struct report_setup s;
	struct options o;

	PARSE(&o, "--format=text");
	setup(&s, true, &o);
	CHECK(s.options.is_terminal && !s.options.addresses);
	CHECK_INT(s.options.names, REPORT_FORM_AUTO);
	report_setup_deinit(&s);
	PARSE(&o, "--names=full", "--paths=short", "--addresses");
	setup(&s, false, &o);
	CHECK(!s.options.is_terminal && s.options.addresses);
	CHECK_INT(s.options.names, REPORT_FORM_FULL);
	CHECK_INT(s.options.paths, REPORT_FORM_SHORT);
}

static bool has_color(bool is_terminal, const char *how)
{
	_cleanup_(report_setup_deinit) struct report_setup s;
	struct options o;

	PARSE(&o, "--color", (char *)how);
	setup(&s, is_terminal, &o);
	return s.options.color;
}

static void colors(void)
{
	setenv("TERM", "xterm", 1);
	unsetenv("NO_COLOR");
	CHECK(has_color(true, "auto"));
	CHECK(!has_color(false, "auto"));
	CHECK(has_color(false, "always"));
	CHECK(!has_color(true, "never"));
	/* An empty variable counts as unset. */
	setenv("NO_COLOR", "", 1);
	CHECK(has_color(true, "auto"));
	setenv("NO_COLOR", "1", 1);
	CHECK(!has_color(true, "auto"));
	CHECK(has_color(true, "always"));
	unsetenv("NO_COLOR");
	setenv("TERM", "dumb", 1);
	CHECK(!has_color(true, "auto"));
	unsetenv("TERM");
	CHECK(!has_color(true, "auto"));
}

static bool has_utf8(const char *all, const char *type, const char *lang)
{
	_cleanup_(report_setup_deinit) struct report_setup s;
	struct options o;

	setenv("LC_ALL", all, 1);
	setenv("LC_CTYPE", type, 1);
	setenv("LANG", lang, 1);
	PARSE(&o, NULL);
	setup(&s, true, &o);
	return s.options.utf8;
}

static void locales(void)
{
	CHECK(has_utf8("C.UTF-8", "C", "C"));
	CHECK(!has_utf8("C", "de_DE.utf8", "de_DE.utf8"));
	CHECK(has_utf8("", "de_DE.utf8", "C"));
	CHECK(has_utf8("", "", "en_US.UTF-8"));
	CHECK(!has_utf8("", "", "en_US.ISO-8859-1"));
	CHECK(!has_utf8("", "", ""));
}

static void check_message(struct error *err, const char *want)
{
	REQUIRE(err);
	CHECK_INT(err->code, ERROR_USAGE);
	CHECK_STR(err->message, want);
	error_destroy(err);
}

static void patterns(void)
{
	_cleanup_(report_setup_deinit) struct report_setup s;
	struct options o;
	struct report_frame frame = {.symbol = "start_thread"};

	PARSE(&o, "--filter=fn:a", "--filter", "b", "--exclude=c");
	CHECK_STR(o.filters.values[1], "b");
	CHECK_STR(o.excludes.values[0], "c");
	CHECK(!o.filters.values[2] && !o.excludes.values[1]);
	setup(&s, false, &o);
	CHECK(s.options.filter && !report_filter_keeps_all(s.options.filter));
	CHECK(report_filter_match(s.options.filter, &frame) == FILTER_MATCH_HIDE);
	CHECK(frame.hidden);
	report_setup_deinit(&s);
	PARSE(&o, "--hide-frames=none");
	setup(&s, false, &o);
	CHECK(report_filter_keeps_all(s.options.filter));
	report_filter_match(s.options.filter, &frame);
	CHECK(!frame.hidden);
	report_setup_deinit(&s);
	PARSE(&o, "--hide-frames", "/nonexistent");
	check_message(report_setup_init(&o, false, &s),
		      "--hide-frames: cannot read /nonexistent: No such file or "
		      "directory");
	report_setup_deinit(&s);
	PARSE(&o, "--suppressions", "/nonexistent");
	check_message(report_setup_init(&o, false, &s),
		      "--suppressions: cannot read /nonexistent: No such file or "
		      "directory");
}

static void aliases(void)
{
	struct options o;

	PARSE(&o, "--min-alloc-size=16", "--max-alloc-size", "1K");
	CHECK_INT(o.trace.min_size_bytes, 16);
	CHECK_INT(o.trace.max_size_bytes, 1024);
}

int main(void)
{
	RUN(check_choices);
	RUN(views_and_sorts);
	RUN(what_reports_need);
	RUN(formats);
	RUN(tops_of_functions);
	RUN(brief_tops);
	RUN(forms_of_names);
	RUN(colors);
	RUN(locales);
	RUN(patterns);
	RUN(aliases);
	return check_done();
}
