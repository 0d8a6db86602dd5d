// SPDX-License-Identifier: Apache-2.0
/* The HTML summary of a large program, on narrow screens, in the dark and on paper. */
#include "browser/browser.h"
#include "browser/html_page.h"

/* A server: many causes, deep stacks of templates, long names, many modules. */
static void fill_large(struct fixture *f)
{
	static char names[120][400], modules[30][64];
	uint64_t frames[120];

	fill(f);
	for (unsigned i = 0; i < 30; i++)
		snprintf(modules[i], sizeof(modules[i]),
			 "/opt/server/lib/libserver_component_%u.so.1", i);
	for (unsigned i = 0; i < 120; i++) {
		char *name = names[i];
		int len = snprintf(name, sizeof(names[i]), "server::Part%u<", i);

		while (len < 300)
			len += snprintf(name + len, sizeof(names[i]) - (size_t)len,
					"std::pair<std::string, int>, ");
		snprintf(name + len, sizeof(names[i]) - (size_t)len,
			 "int>::a_rather_long_name_of_a_function_%u(int)", i);
		frames[i] = fixture_symbol(f, name, modules[i / 4]);
	}
	for (unsigned i = 0; i < 300; i++) {
		unsigned depth = 40 + i % 60;
		uint32_t stack =
			fixture_stack(f, STACK_END_COMPLETE, depth, frames + 120 - depth);
		struct snapshot_trend trend = {.intervals = 9,
					       .grew = 9,
					       .slope_bytes_per_s = i % 5 ? 0 : 2e5 + i,
					       .determination = 0.99,
					       .rise_bytes = i % 5 ? 0 : 1 << 20};
		struct snapshot_traffic traffic = {.allocations = 1};
		struct snapshot_lifetimes lifetimes = {.count = {1}};

		fixture_block(f, BLOCK_HEAP, 10000 + 97 * i, 4321, stack);
		REQUIRE(vec_push(&f->snap->trends[BLOCK_HEAP], trend));
		REQUIRE(vec_push(&f->snap->traffic, traffic));
		REQUIRE(vec_push(&f->snap->lifetimes, lifetimes));
	}
	for (unsigned i = 0; i < 300; i++) {
		struct snapshot_thread thread = {
			.tid = 5000 + i,
			.name = strdup("a-worker-thread"),
			.allocations = 1000,
			.allocated_bytes = UINT64_C(1) << 40,
		};

		REQUIRE(vec_push(&f->snap->threads, thread));
	}
}

static void check_no_overflow(void)
{
	static const char outside[] =
		"(function () { var list = Array.from(document.querySelectorAll("
		"'body *')).filter(e => !e.closest('.flame, thead') && "
		"e.checkVisibility() "
		"&& e.getBoundingClientRect().right > innerWidth + 1);"
		"return list.length ? list[0].outerHTML.slice(0, 200) : ''; }())";
	_cleanup_(freep) char *first = browser_string(browser, outside);

	CHECK_STR(first, "");
	CHECK(browser_number(browser, "document.documentElement.scrollWidth - "
				      "innerWidth") <= 0);
}

/* What is visible without a click fits few screens, at the widths of a desktop and of a
 * telephone. */
static void a_large_page_is_short(void)
{
	static const struct {
		unsigned width;
		double height;
	} screens[] = {{1400, 3000}, {390, 3400}};
	_cleanup_(fixture_deinit) struct fixture f;

	fill_large(&f);
	for (size_t i = 0; i < 2; i++) {
		double height;

		browser_width(browser, screens[i].width);
		if (i) {
			/* The graph follows the width. */
			CHECK(browser_number(browser, "document.querySelector('.flame')"
						      ".viewBox.baseVal.width") < 390);
		}
		open_page(&f);
		height = browser_number(browser, "document.documentElement.scrollHeight");
		if (height >= screens[i].height)
			CHECK_FAIL("%.0f pixels high at a width of %u", height,
				   screens[i].width);
		/* The verdict, the curve and the first cause are on the first screen. */
		CHECK(browser_number(browser, "document.querySelector('.cause .who')"
					      ".getBoundingClientRect().bottom") < 1000);
		check_no_overflow();
		CHECK_INT(
			browser_number(browser,
				       "Array.from(document.querySelectorAll('details'))"
				       ".map(d => d.open = true).length > 100 ? 1 : 0"),
			1);
		check_no_overflow();
		check_quiet();
	}
	browser_width(browser, 0);
}

static void dark_and_print(void)
{
	static const char page[] = "getComputedStyle(document.body).backgroundColor";
	static const char shown[] = "Number(getComputedStyle(document.querySelector("
				    "'.control')).display !== 'none')";
	_cleanup_(fixture_deinit) struct fixture f;

	fill(&f);
	browser_media(browser, "screen", "light");
	open_page(&f);

	_cleanup_(freep) char *light = browser_string(browser, page);

	CHECK_INT(browser_number(browser, shown), 1);
	browser_media(browser, "screen", "dark");

	_cleanup_(freep) char *dark = browser_string(browser, page);

	browser_media(browser, "print", "dark");

	_cleanup_(freep) char *print = browser_string(browser, page);

	CHECK_INT(browser_number(browser, shown), 0);
	/* What is folded is printed. */
	CHECK(browser_number(browser, "Array.from(document.querySelectorAll('.folded > "
				      "table, .folded > dl')).filter("
				      "e => e.getBoundingClientRect().height > 0 && "
				      "e.checkVisibility()).length") >= 5);
	CHECK_INT(browser_number(browser,
				 "Number(document.querySelector('.cause > .parts, "
				 ".cause > .frames').checkVisibility())"),
		  1);
	CHECK_STR(light, "rgb(246, 247, 249)");
	CHECK_STR(dark, "rgb(20, 22, 26)");
	CHECK_STR(print, "rgb(255, 255, 255)");
	browser_media(browser, "screen", "light");
}

int main(void)
{
	browser = browser_start();
	RUN(a_large_page_is_short);
	RUN(dark_and_print);
	browser_stop(browser);
	return check_done();
}
