// SPDX-License-Identifier: Apache-2.0
/* The flame graph in a browser: click, search and reset it, and compare what it then
 * shows with the numbers that it was made from. */
#include "unit/render/fixture.h"

#include <math.h>

#include "browser/browser.h"
#include "render/flame/flame.h"
#include "util/cleanup.h"

#define TOTAL (2 * 1024 * 1024 + 3100 + 64 + 7)
/* Width of the root frame ("all"), in pixels. */
#define WIDTH 1180

static struct browser *browser;

static void open_graph(struct fixture *f, const struct flame_options *options)
{
	char *svg = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&svg, &len);

	REQUIRE(out && !flame_render(fixture_report(f), options, out) && !fclose(out));
	browser_open(browser, "svg", svg, len);
	free(svg);
}

/* Evaluate `what`, where `g` is the frame whose name begins with `name` and `r` its
 * box. */
static void frame_expression(char *ret, size_t size, const char *name, const char *what)
{
	snprintf(ret, size,
		 "(function () {"
		 "var g = Array.from(document.querySelectorAll('g.f')).find("
		 "e => e.querySelector('title').textContent.startsWith(\"%s\"));"
		 "var r = g.querySelector('rect').getBoundingClientRect();"
		 "return %s; }())",
		 name, what);
}

static double frame_number(const char *name, const char *what)
{
	char text[1024];

	frame_expression(text, sizeof(text), name, what);
	return browser_number(browser, text);
}

static void check_label(const char *name, const char *want)
{
	char text[1024];
	_cleanup_(freep) char *got = NULL;

	frame_expression(text, sizeof(text), name, "g.querySelector('text').textContent");
	got = browser_string(browser, text);
	CHECK_STR(got, want);
}

/* Compare the width of the frame's box on the screen; 0 = not shown. */
static void check_width(const char *name, double want)
{
	double got = frame_number(name, "r.width");

	/* Its border is half a pixel wide, half of it outside. */
	if (fabs(got - want) > 0.6)
		CHECK_FAIL("%s is %.2f pixels wide, expected %.2f", name, got, want);
}

static void click(const char *name)
{
	double x = frame_number(name, "r.left + r.width / 2");
	double y = frame_number(name, "r.top + r.height / 2");

	browser_click(browser, x, y);
}

static void check_text(const char *selector, const char *want)
{
	char text[256];
	_cleanup_(freep) char *got = NULL;

	snprintf(text, sizeof(text), "document.querySelector(\"%s\").textContent",
		 selector);
	got = browser_string(browser, text);
	CHECK_STR(got, want);
}

static double visible_frames(void)
{
	return browser_number(browser,
			      "Array.from(document.querySelectorAll('g.f')).filter("
			      "g => g.getBoundingClientRect().width > 0).length");
}

static void check_quiet(void)
{
	const char *requests = browser_requests(browser);

	CHECK_STR(browser_errors(browser), "");
	/* The only request is the page itself. */
	CHECK(!strncmp(requests, "file:///tmp/", 12));
	CHECK(strchr(requests, '\n') == requests + strlen(requests) - 1);
}

/* The clicked frame has 3100 bytes, less than 1 % of the total. */
static void a_click_zooms(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	const double insert = 3100.0 / TOTAL * WIDTH;

	fixture_init(&f);
	fixture_fill(&f);
	open_graph(&f, &(struct flame_options){0});

	double all = visible_frames();

	check_width("all", WIDTH);
	check_width("Cache::insert", insert);
	check_label("Cache::insert", "");
	click("Cache::insert");
	check_width("Cache::insert", WIDTH);
	check_label("Cache::insert", "Cache::insert");
	/* Its callers and callees become as wide; the other frames disappear. */
	check_width("all", WIDTH);
	check_width("[libblob.so]", 0);
	CHECK_INT(visible_frames(), 4);
	browser_click_on(browser, "#reset");
	check_width("Cache::insert", insert);
	check_label("Cache::insert", "");
	CHECK_INT(visible_frames(), all);
	/* A click on the root frame and Escape reset too. */
	click("Cache::insert");
	click("all");
	CHECK_INT(visible_frames(), all);
	click("Cache::insert");
	browser_key(browser, "Escape");
	check_width("Cache::insert", insert);
	CHECK_INT(visible_frames(), all);
	/* So does Enter while the button has the focus. */
	click("Cache::insert");
	CHECK_INT(visible_frames(), 4);
	CHECK_INT(browser_number(browser,
				 "document.querySelector('#reset').focus(), "
				 "document.activeElement.id === 'reset' ? 1 : 0"),
		  1);
	browser_key(browser, "Enter");
	CHECK_INT(visible_frames(), all);
	check_quiet();
}

static void search(const char *term, const char *want, double matches)
{
	browser_answer(browser, term);
	browser_click_on(browser, "#search");
	check_text("#matched", want);
	CHECK_INT(browser_number(browser,
				 "Array.from(document.querySelectorAll('.match rect'))"
				 ".filter(r => getComputedStyle(r).fill === "
				 "'rgb(238, 102, 238)').length"),
		  matches);
}

/* Memory is counted once, even if matching frames are nested. */
static void a_search_sums_up(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);
	open_graph(&f, &(struct flame_options){0});
	search("CACHE::", "matched 0.1 %, 3100 bytes, in 1 frames", 1);
	search("leaky", "matched 100.0 %, 2100252 bytes, in 3 frames", 3);
	search("no such name", "matched 0.0 %, 0 bytes, in 0 frames", 0);
	search("", "", 0);
	/* A cancelled prompt keeps the previous search. */
	search("libblob", "matched 99.8 %, 2097152 bytes, in 1 frames", 1);
	search(NULL, "matched 99.8 %, 2097152 bytes, in 1 frames", 1);
	browser_answer(browser, "insert");
	browser_key(browser, "/");
	check_text("#matched", "matched 0.1 %, 3100 bytes, in 1 frames");
	check_quiet();
}

static void a_pointer_shows_numbers(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);
	open_graph(&f, &(struct flame_options){0});
	browser_move(browser, frame_number("[libblob.so]", "r.left + 50"),
		     frame_number("[libblob.so]", "r.top + 5"));
	check_text("#details", "2.0 MiB, 2097152 bytes in 2 blocks, 99.8 %: "
			       "[libblob.so], libblob.so");
	browser_move(browser, 5, 5);
	check_text("#details", " ");
}

static void rows_go_up_or_down(void)
{
	for (int inverted = 0; inverted < 2; inverted++) {
		_cleanup_(fixture_deinit) struct fixture f;

		fixture_init(&f);
		fixture_fill(&f);
		open_graph(&f, &(struct flame_options){.inverted = inverted});

		double root = frame_number("all", "r.top");
		double leaf = frame_number("main_loop", "r.top");

		CHECK((leaf > root) == (inverted != 0));
		check_quiet();
	}
}

/* The distinct fill colours of a module's frames. */
static void a_module_has_a_colour(void)
{
	static const char fills[] =
		"Array.from(new Set(Array.from(document.querySelectorAll('g.f')).filter("
		"g => g.querySelector('title').textContent.split('\\n')[1] === '%s').map("
		"g => getComputedStyle(g.querySelector('rect')).fill))).join()";
	static const char *const modules[] = {"leaky", "libc.so.6", "libblob.so"};
	_cleanup_(fixture_deinit) struct fixture f;
	char *got[3], text[512];

	fixture_init(&f);
	fixture_fill(&f);
	open_graph(&f, &(struct flame_options){0});
	for (size_t i = 0; i < 3; i++) {
		snprintf(text, sizeof(text), fills, modules[i]);
		got[i] = browser_string(browser, text);
		CHECK(!strncmp(got[i], "rgb(", 4) && !strchr(got[i] + 4, 'r'));
	}
	CHECK(strcmp(got[0], got[1]) && strcmp(got[1], got[2]) && strcmp(got[0], got[2]));
	for (size_t i = 0; i < 3; i++)
		free(got[i]);
}

/* The buttons are not printed; the colours are. */
static void it_prints(void)
{
	static const char shown[] = "Number(getComputedStyle(document.querySelector("
				    "'.control')).display !== 'none')";
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);
	open_graph(&f, &(struct flame_options){0});
	CHECK_INT(browser_number(browser, shown), 1);
	browser_media(browser, "print", "light");
	CHECK_INT(browser_number(browser, shown), 0);

	_cleanup_(freep) char *colours = browser_string(
		browser, "getComputedStyle(document.querySelector('.f rect'))"
			 ".printColorAdjust");

	CHECK_STR(colours, "exact");
	browser_media(browser, "screen", "light");
}

/* Names with markup, or with the end of the script's CDATA section. */
static void names_stay_text(void)
{
	static const char evil[] = "]]></script><script>document.title='owned';alert(1)"
				   "</script><g onload='alert(2)'>\"'&\x1b\xff";
	static const char shown[] = "]]></script><script>document.title='owned';alert(1)"
				    "</script><g onload='alert(2)'>\"'&\\x1b\\xff";
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);
	f.symbols.data[1].name = evil;
	f.symbols.data[3].module = evil;
	free(f.snap->processes.data->command);
	f.snap->processes.data->command = strdup(evil);
	open_graph(&f, &(struct flame_options){0});
	CHECK_INT(browser_number(browser, "document.scripts.length"), 0);
	CHECK_INT(browser_number(browser, "document.querySelectorAll('script').length"),
		  1);

	_cleanup_(freep) char *name = browser_string(
		browser,
		"Array.from(document.querySelectorAll('g.f[data-l=\"2\"] title'))"
		/* The label, then the full name. */
		".flatMap(t => t.textContent.split('\\n'))"
		".find(t => t.includes('</g') || t.includes('<g'))");

	CHECK_STR(name, shown);
	/* The script writes names into the page, too. */
	browser_answer(browser, "owned");
	browser_click_on(browser, "#search");
	browser_click_on(browser, "g.match rect");

	_cleanup_(freep) char *title = browser_string(browser, "document.title");

	CHECK(!!strcmp(title, "owned"));
	CHECK_CONTAINS(title, "process 4321 (]]>");
	CHECK_INT(browser_number(browser, "document.querySelectorAll('script').length"),
		  1);
	check_quiet();
}

int main(void)
{
	browser = browser_start();
	RUN(a_click_zooms);
	RUN(a_search_sums_up);
	RUN(a_pointer_shows_numbers);
	RUN(rows_go_up_or_down);
	RUN(a_module_has_a_colour);
	RUN(it_prints);
	RUN(names_stay_text);
	browser_stop(browser);
	return check_done();
}
