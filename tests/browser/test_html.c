// SPDX-License-Identifier: Apache-2.0
/* The HTML summary in a browser. */
#include <math.h>

#include "browser/browser.h"
#include "browser/html_page.h"

/* Open the parts that are folded. */
static void unfold(void)
{
	CHECK(browser_number(browser, "Array.from(document.querySelectorAll("
				      "'details.folded, #timeline details')).map("
				      "d => d.open = true).length") > 1);
}

static void check_shows(const char *selector, const char *want)
{
	char text[512];
	_cleanup_(freep) char *got = NULL;

	/* innerText is the text as it is shown, without what is folded. SVG elements lack
	 * it. */
	snprintf(text, sizeof(text),
		 "(function () { var e = document.querySelector(\"%s\");"
		 "return (e.innerText === undefined ? e.textContent : e.innerText)"
		 ".replace(/\\s+/g, ' ').trim(); }())",
		 selector);
	got = browser_string(browser, text);
	CHECK_STR(got, want);
}

static void totals_and_tables(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fill(&f);
	open_page(&f);
	unfold();
	check_shows("h1", "leaky (4321)");
	check_shows("#totals .card:nth-child(1)",
		    "Live heap 2.0 MiB 2100323 bytes in 7 blocks");
	check_shows("#totals .card:nth-child(2)",
		    "Heap at its peak 2.9 MiB 3000000 bytes, 4.0 s after the attach");
	check_shows("#totals .card:nth-child(3)", "Allocated 6.2 MiB 6000 allocations");
	check_shows("#totals .card:nth-child(4)", "Freed 4.2 MiB 5993 frees");
	check_shows(
		"#totals .card:nth-child(5)",
		"Resident (VmRSS) 15.0 MiB at most 16.0 MiB 64.0 MiB of address space");
	check_shows(".complete", "Nothing was lost: the numbers are complete.");
	CHECK_INT(count("#losses"), 0);
	check_shows("#threads tbody tr:nth-child(1)",
		    "4322 wor<ker>\\x0a exited 2.8 MiB 0 2.9 MiB 0 B 97.7 KiB 0 B");
	check_shows("#threads tbody tr:nth-child(2)",
		    "4321 main 244.1 KiB 190 878.9 KiB 585.9 KiB 48.8 KiB 97.7 KiB");
	check_quiet();
}

static void the_verdict_names_the_suspect(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fill(&f);
	open_page(&f);
	check_shows("#verdict", "leaking 12.0 KiB/min, 100 % from Cache::insert; "
				"+10 MiB in 14 h");
	check_shows(".causes h2", "1 leak suspect");
	CHECK_INT(count(".suspect"), 1);
	check_shows(".suspect > summary",
		    "3.0 KiB +12.0 KiB/min 0.1 % Cache::insert in 3 blocks, grew in 9 of "
		    "9 intervals, oldest 1.0 s; from main_loop");
	check_quiet();
}

static void nothing_is_suspected(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fill(&f);
	f.snap->trends[BLOCK_HEAP].data[0].grew = 0;
	f.snap->trends[BLOCK_HEAP].data[0].slope_bytes_per_s = 0;
	open_page(&f);
	CHECK_INT(count(".suspect, .causes .rate"), 0);
	check_shows(".causes h2", "Live, largest first");
	check_quiet();
}

/* A click on each cause opens it, and a click on its call path shows the frames. */
static void causes_open(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	double causes;
	char text[128];

	fill(&f);
	open_page(&f);
	causes = count(".cause");
	CHECK_INT(causes, 4);
	for (int i = 1; i <= causes; i++) {
		snprintf(text, sizeof(text), ".cause:nth-of-type(%d)[open]", i);
		CHECK_INT(count(text), 0);
		snprintf(text, sizeof(text), ".cause:nth-of-type(%d) > summary", i);
		browser_click_on(browser, text);
		snprintf(text, sizeof(text), ".cause:nth-of-type(%d)[open]", i);
		CHECK_INT(count(text), 1);
	}
	check_shows(".suspect .parts > li:nth-child(1)",
		    "2.0 KiB +12.0 KiB/min 0.1 % malloc \u2190 Cache::insert \u2190 "
		    "main_loop It grew in 9 of 9 intervals, 12.0 KiB/min, R\u00b2 0.99.");
	browser_click_on(browser, ".suspect .parts summary");
	check_shows(".suspect ol", "malloc libc.so.6 Cache::insert main_loop");
	check_quiet();
}

static void a_call_path_unfolds(void)
{
	static const char visible[] =
		"Number(document.querySelector('#stacks ol').checkVisibility())";
	_cleanup_(fixture_deinit) struct fixture f;

	fill(&f);
	open_page(&f);
	CHECK_INT(browser_number(browser, "Number(document.querySelector('#stacks table')"
					  ".checkVisibility())"),
		  0);
	browser_click_on(browser, "#stacks > summary");
	CHECK_INT(browser_number(browser, "Number(document.querySelector('#stacks table')"
					  ".checkVisibility())"),
		  1);
	CHECK_INT(count("#stacks tbody tr"), 5);
	check_shows("#stacks tbody tr:nth-child(1) .path",
		    "malloc \u2190 libblob.so+0x10 \u2190 main_loop");
	CHECK_INT(browser_number(browser, visible), 0);
	browser_click_on(browser, "#stacks td summary");
	CHECK_INT(browser_number(browser, visible), 1);
	check_shows("#stacks tbody tr:nth-child(1) .path ol",
		    "malloc+0x10 [libc.so.6] [libblob.so]+0x10 "
		    "main_loop+0x10 [leaky] truncated: stack depth limit, raise "
		    "--stack-depth");
	check_shows("#stacks tbody tr:nth-child(1) .path .note",
		    "Allocated 2.0 MiB in 32 blocks, freed 2.9 KiB in 30, 2 of them "
		    "temporary; held at most 2.0 MiB.");
	check_quiet();
}

/* Read an attribute of a chart's element, in pixels of the chart. */
static double chart_number(const char *selector, const char *attribute)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "Number(document.querySelector(\"#timeline %s\").getAttribute('%s'))",
		 selector, attribute);
	return browser_number(browser, text);
}

static void the_timeline_is_drawn(void)
{
	static const double live[] = {100000, 400000, 350000, 1200000, 1800000, 2100323};
	_cleanup_(fixture_deinit) struct fixture f;

	fill(&f);
	open_page(&f);
	/* Three panels with six points each, in two sizes. */
	CHECK_INT(count("#timeline > .chart g"), 2);
	CHECK_INT(count("#timeline details .chart g"), 4);
	CHECK_INT(count("#timeline circle"), 36);
	check_shows("#timeline g .name", "Live heap");

	double bottom = chart_number("g .grid", "y1");
	double last = chart_number("g circle:nth-of-type(6)", "cy");

	/* Heights are proportional to the bytes, from 0 on. Points are evenly spaced in
	 * time. */
	for (int i = 0; i < 6; i++) {
		char selector[64];

		snprintf(selector, sizeof(selector), "g circle:nth-of-type(%d)", i + 1);

		double height = bottom - chart_number(selector, "cy");
		double x = chart_number(selector, "cx");

		CHECK(fabs(height / (bottom - last) - live[i] / 2100323) < 0.002);
		CHECK(fabs((x - chart_number("g .grid", "x1")) /
				   (chart_number("g .grid", "x2") -
				    chart_number("g .grid", "x1")) -
			   (5 + i) / 10.0) < 0.001);
	}

	_cleanup_(freep) char *title =
		browser_string(browser, "document.querySelector('#timeline g "
					"circle:nth-of-type(6)').textContent");

	CHECK_STR(title, "2.0 MiB after 10.0 s");
	browser_click_on(browser, "#timeline summary");
	CHECK_INT(count("#timeline tbody tr"), 6);
	/* 1.5 MB and a thousand calls in one second. */
	check_shows("#timeline tbody tr:nth-child(5)",
		    "9.0 s 1.7 MiB 6 14.0 MiB 1.4 MiB 1 000");
	check_shows("#timeline tbody tr:nth-child(6)",
		    "10.0 s 2.0 MiB 7 15.0 MiB 976.6 KiB 1 000");
	check_quiet();
}

/* The length of a bar is proportional to its number. */
static void histograms(void)
{
	static const char bar[] = "Number(document.querySelector(\"%s\")"
				  ".getAttribute('width'))";
	_cleanup_(fixture_deinit) struct fixture f;
	char text[256];

	fill(&f);
	open_page(&f);
	unfold();
	/* From "4 to 7 bytes" to "1 MiB up to 2 MiB". */
	CHECK_INT(count("#sizes tbody tr"), 19);
	check_shows("#sizes tbody tr:nth-child(1)", "4 to 7 B 1 0");
	check_shows("#sizes tbody tr:nth-child(5)", "64 to 127 B 1 100");
	check_shows("#sizes tbody tr:nth-child(9)", "1.0 KiB up to 2.0 KiB 2 25");
	check_shows("#sizes tbody tr:nth-child(19)", "1.0 MiB up to 2.0 MiB 2 0");
	snprintf(text, sizeof(text), bar, "#sizes tr:nth-child(5) td:nth-child(5) rect");
	CHECK_INT(browser_number(browser, text), 100);
	snprintf(text, sizeof(text), bar, "#sizes tr:nth-child(9) td:nth-child(5) rect");
	CHECK_INT(browser_number(browser, text), 25);
	snprintf(text, sizeof(text), bar, "#sizes tr:nth-child(5) td:nth-child(3) rect");
	CHECK_INT(browser_number(browser, text), 50);
	check_shows("#ages tbody tr:nth-child(1)", "under 1 ms 0 10");
	check_shows("#ages tbody tr:nth-child(2)", "1 ms up to 2 ms 0 15");
	check_shows("#ages tbody tr:nth-child(4)", "4 ms up to 8 ms 0 70");
	/* All live blocks are one second old. */
	check_shows("#ages tbody tr:last-child", "512 ms up to 1.0 s 7 0");
	check_quiet();
}

static void the_flame_graph_works(void)
{
	static const char width[] =
		"Array.from(document.querySelectorAll('g.f')).find(g => g.querySelector("
		"'title').textContent.startsWith('Cache::insert')).querySelector('rect')"
		".getAttribute('width')";
	_cleanup_(fixture_deinit) struct fixture f;

	fill(&f);
	open_page(&f);

	/* As wide as the page, less its margins. */
	double graph = browser_number(browser, "document.querySelector('.graph')"
					       ".clientWidth") -
		       20;

	CHECK(graph > browser_number(browser, "innerWidth") - 140);
	CHECK_INT(browser_number(browser, "document.querySelector('.flame')"
					  ".viewBox.baseVal.width"),
		  graph + 20);

	_cleanup_(freep) char *before = browser_string(browser, width);

	browser_answer(browser, "insert");
	browser_click_on(browser, "#search");
	check_shows("#matched", "matched 0.1 %, 3100 bytes, in 1 frames");
	/* The frame is 2 pixels wide. */
	browser_click_on(browser, "g.match rect");

	_cleanup_(freep) char *zoomed = browser_string(browser, width);

	CHECK(fabs(strtod(zoomed, NULL) - graph) < 0.01);
	browser_click_on(browser, "#reset");

	_cleanup_(freep) char *after = browser_string(browser, width);

	CHECK(fabs(strtod(before, NULL) - graph * 3100 / 2100323) < 0.01);
	CHECK_STR(after, before);
	check_quiet();
}

static void losses_are_said(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fill(&f);
	f.snap->losses[LOSS_STACKS_FULL] = 12;
	open_page(&f);
	check_shows("#losses li",
		    "stacks_full 12: blocks are counted without their stack, "
		    "because the table of stacks was full or did not grow in time: "
		    "raise --max-stacks");
	CHECK_INT(count("#losses li"), 1);
	CHECK_INT(count(".complete"), 0);
	check_quiet();
}

/* Every string that the target can choose. */
static void names_stay_text(void)
{
	static const char evil[] =
		"</code></style></script>]]>--><script>owned=1</script>"
		"<img src=x onerror='owned=1'>\"'&amp;\x1b\xff\r\n";
	static const char shown[] =
		"</code></style></script>]]>--><script>owned=1</script>"
		"<img src=x onerror='owned=1'>\"'&amp;\\x1b\\xff\\x0d\\x0a";
	_cleanup_(fixture_deinit) struct fixture f;
	struct snapshot_process *process;

	fill(&f);
	process = f.snap->processes.data;
	f.symbols.data[1].name = evil;
	f.symbols.data[3].module = evil;
	free(process->command);
	free(process->executable);
	free(f.snap->threads.data[0].name);
	process->command = strdup(evil);
	process->executable = strdup(evil);
	f.snap->library = strdup(evil);
	f.snap->threads.data[0].name = strdup(evil);
	open_page(&f);

	_cleanup_(freep) char *name = browser_string(
		browser, "document.querySelector('#stacks tr:nth-child(2) li:nth-child("
			 "3) code').textContent");
	_cleanup_(freep) char *thread = browser_string(
		browser, "document.querySelector('#threads tr:nth-child(2) td')"
			 ".textContent");
	_cleanup_(freep) char *executable = browser_string(
		browser, "document.querySelector('header .note code').textContent");

	CHECK_STR(name, shown);
	CHECK_STR(thread, shown);
	CHECK_STR(executable, shown);
	/* Only memtrace's own script and style. */
	CHECK_INT(count("script"), 1);
	CHECK_INT(count("style"), 1);
	CHECK_INT(
		count("img, iframe, object, link, a, form, [onerror], [onload], [style]"),
		0);
	CHECK_INT(browser_number(browser, "Number('owned' in window)"), 0);
	browser_answer(browser, "owned");
	browser_click_on(browser, "#search");
	browser_click_on(browser, "g.match rect");
	CHECK_INT(browser_number(browser, "Number('owned' in window)"), 0);
	CHECK_INT(count("script"), 1);
	check_quiet();
}

/* Even if a name did become markup, no foreign script runs, and nothing is loaded. */
static void the_policy_holds(void)
{
	static const char inject[] = "(function () {"
				     "var s = document.createElement('script');"
				     "s.textContent = 'owned = 1';"
				     "document.body.appendChild(s);"
				     "document.body.setAttribute('onclick', 'owned = 1');"
				     "document.body.click();"
				     "var i = document.createElement('img');"
				     "i.src = 'http://127.0.0.1:9/beacon';"
				     "document.body.appendChild(i);"
				     "return Number('owned' in window); }())";
	_cleanup_(fixture_deinit) struct fixture f;

	fill(&f);
	open_page(&f);
	CHECK_INT(browser_number(browser, inject), 0);
	CHECK_CONTAINS(browser_errors(browser), "script-src");
	CHECK_CONTAINS(browser_errors(browser), "/beacon");
	CHECK_CONTAINS(browser_errors(browser), "Content Security Policy");
}

/* A run with nothing to show gives a valid page. */
static void an_empty_run(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	open_page(&f);
	unfold();
	check_shows("#verdict", "nothing live that was allocated since the attach");
	check_shows("#totals .card:nth-child(1)", "Live heap 0 B 0 bytes in 0 blocks");
	CHECK_INT(count("#timeline, #sizes, #ages, #threads, #processes"), 0);
	check_shows("#stacks p", "None.");
	check_quiet();
}

int main(void)
{
	browser = browser_start();
	RUN(totals_and_tables);
	RUN(the_verdict_names_the_suspect);
	RUN(nothing_is_suspected);
	RUN(causes_open);
	RUN(a_call_path_unfolds);
	RUN(the_timeline_is_drawn);
	RUN(histograms);
	RUN(the_flame_graph_works);
	RUN(losses_are_said);
	RUN(names_stay_text);
	RUN(the_policy_holds);
	RUN(an_empty_run);
	browser_stop(browser);
	return check_done();
}
