// SPDX-License-Identifier: Apache-2.0
/* The HTML page of real programs (tests/golden/screens), at the widths of a desktop and
 * of a telephone, light and dark: its height, what its first screen shows, and each cause
 * after a click. */
#include "check.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "browser/browser.h"
#include "util/cleanup.h"

#define CAUSES_MOST 6 /* clicks on each page */

/* WCAG 2.2, 1.4.3: of text that is not large. */
#define CONTRAST "4.5"

static struct browser *browser;

static const struct program {
	const char *name;
	const char *verdict; /* begin */
	const char *first;   /* of the first cause */
	const char *own;     /* the first function of the program's own code below it */
} programs[] = {
	{"store", "leaking 34.2 MiB/min, 99 % from process_command", "process_command",
	 "process_command"},
	{"shop", "leaking 3.1 MiB/min, 86 % from shop::order::order",
	 "shop::order::order", "shop::order::order"},
	{"orders", "leaking 8.6 MiB/min, 100 % from orders::describe", "orders::describe",
	 "orders::describe"},
	{"redis", "leaking 3.8 MiB/min, 83 % from _sdsnewlen", "_sdsnewlen",
	 "_sdsnewlen"},
	{"python", "leaking 15.4 MiB/min, 69 % from python3.11+0x5a7141",
	 "python3.11+0x5a7141", NULL},
	{"clang", "grows unsteadily: +349.0 KiB in 2 s", "cc1_main", "cc1_main"},
};

#define PROGRAMS (sizeof(programs) / sizeof(*programs))

/* The page of a snapshot, owned. */
static char *make_page(const char *name, size_t *len)
{
	char dir[] = "/tmp/memtrace-test-XXXXXX", snapshot[512], page[64];
	_cleanup_(fclosep) FILE *file = NULL;
	struct stat st;
	char *text;
	int status;
	pid_t pid;

	REQUIRE(mkdtemp(dir));
	snprintf(snapshot, sizeof(snapshot), TEST_DATA_DIR "/golden/screens/%s.mts",
		 name);
	snprintf(page, sizeof(page), "%s/page.html", dir);
	fflush(NULL);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		setenv("TZ", "UTC", 1);
		execl(MEMTRACE, "memtrace", "--replay", snapshot, "-q", "-o", "/dev/null",
		      "--html", page, (char *)NULL);
		_exit(127);
	}
	REQUIRE(waitpid(pid, &status, 0) == pid);
	CHECK_INT(status, 0);
	file = fopen(page, "re");
	REQUIRE(file && !fstat(fileno(file), &st));
	text = malloc((size_t)st.st_size + 1);
	REQUIRE(text);
	*len = fread(text, 1, (size_t)st.st_size, file);
	REQUIRE(*len == (size_t)st.st_size);
	REQUIRE(!unlink(page) && !rmdir(dir));
	return text;
}

static double number(const char *expression)
{
	return browser_number(browser, expression);
}

static void check_string(const char *expression, const char *want)
{
	_cleanup_(freep) char *got = browser_string(browser, expression);

	CHECK_STR(got, want);
}

/* The first element whose text cannot be read on its background; "": none. */
static void check_contrast(const char *what)
{
	static const char unreadable[] =
		"(function () {"
		"function parts(c) { return c.match(/[\\d.]+/g).map(Number); }"
		"function light(c) { return parts(c).slice(0, 3).map(v => { v /= 255;"
		" return v <= 0.03928 ? v / 12.92 : Math.pow((v + 0.055) / 1.055, 2.4); "
		"})"
		".reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0); }"
		"function ground(e) { for (; e; e = e.parentElement) {"
		" var c = getComputedStyle(e).backgroundColor, p = parts(c);"
		" if (p.length < 4 || p[3] > 0.9) return c; }"
		" return 'rgb(255, 255, 255)'; }"
		"var list = Array.from(document.querySelectorAll('body *')).filter(e =>"
		" !e.closest('svg') && e.checkVisibility() &&"
		" Array.from(e.childNodes).some(n => n.nodeType == 3 && n.data.trim()) &&"
		" (function () { var a = light(getComputedStyle(e).color),"
		" b = light(ground(e));"
		" return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < " CONTRAST
		"; }()));"
		"return list.length ? list[0].outerHTML.slice(0, 200) : ''; }())";
	_cleanup_(freep) char *first = browser_string(browser, unreadable);

	if (*first)
		CHECK_FAIL("%s: cannot be read: %s", what, first);
	check_state.checks++;
}

static void check_no_overflow(const char *what)
{
	double over = number("document.documentElement.scrollWidth - innerWidth");

	if (over > 0)
		CHECK_FAIL("%s: %.0f pixels too wide", what, over);
	check_state.checks++;
}

static void check_first_screen(const struct program *program)
{
	char expression[512];

	snprintf(expression, sizeof(expression),
		 "document.querySelector('#verdict').innerText.slice(0, %zu)",
		 strlen(program->verdict));
	check_string(expression, program->verdict);
	check_string("document.querySelector('.cause code').textContent", program->first);
	CHECK(number("document.querySelector('#verdict').getBoundingClientRect().top") >=
	      0);
	CHECK(number("document.querySelector('.cause code').getBoundingClientRect()"
		     ".bottom") < 1000);
}

/* Click on the causes, one after the other. Each opens, shows frames, and among them the
 * first of the program's own code is highlighted. */
static void click_causes(const struct program *program, const char *what)
{
	int causes = (int)number("document.querySelectorAll('.cause').length");

	CHECK(causes > 0);
	for (int i = 1; i <= causes && i <= CAUSES_MOST; i++) {
		char text[256];

		snprintf(text, sizeof(text), ".cause:nth-of-type(%d) > summary", i);
		browser_click_on(browser, text);
		snprintf(text, sizeof(text),
			 "Number(document.querySelectorAll('.cause')[%d].open)", i - 1);
		CHECK_INT(number(text), 1);
		snprintf(text, sizeof(text),
			 "Number(Array.from(document.querySelectorAll('.cause')[%d]"
			 ".querySelectorAll('code')).filter(c => c.checkVisibility())"
			 ".length > 1)",
			 i - 1);
		/* A cause without callers has no more than its name. */
		CHECK(number(text) == 1 || !program->own);
		check_no_overflow(what);
	}
	if (program->own)
		check_string("document.querySelector('.cause[open] code').textContent",
			     program->own);
	check_contrast(what);
}

static void check_page(const struct program *program, const char *html, size_t len,
		       unsigned width, const char *scheme)
{
	char what[128];
	double height;

	snprintf(what, sizeof(what), "%s at %u, %s", program->name, width, scheme);
	browser_width(browser, width);
	browser_media(browser, "screen", scheme);
	browser_open(browser, "html", html, len);
	height = number("document.documentElement.scrollHeight");
	if (height >= 3000)
		CHECK_FAIL("%s: %.0f pixels high", what, height);
	check_state.checks++;
	check_first_screen(program);
	check_no_overflow(what);
	check_contrast(what);
	click_causes(program, what);
	CHECK_STR(browser_errors(browser), "");
}

static void every_page(void)
{
	static const unsigned widths[] = {1400, 390};
	static const char *const schemes[] = {"light", "dark"};

	for (size_t i = 0; i < PROGRAMS; i++) {
		_cleanup_(freep) char *html = NULL;
		size_t len;

		html = make_page(programs[i].name, &len);
		for (size_t w = 0; w < 2; w++)
			for (size_t s = 0; s < 2; s++)
				check_page(&programs[i], html, len, widths[w],
					   schemes[s]);
	}
}

int main(void)
{
	browser = browser_start();
	RUN(every_page);
	browser_stop(browser);
	return check_done();
}
