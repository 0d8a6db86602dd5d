/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of the HTML summary in a browser: opens one, and looks at what is shown. */
#ifndef TESTS_BROWSER_HTML_PAGE_H
#define TESTS_BROWSER_HTML_PAGE_H

#include "browser/browser.h"
#include "render/html/html.h"
#include "unit/render/fixture_timeline.h"

static struct browser *browser;

static inline void open_page(struct fixture *f)
{
	char *html = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&html, &len);

	REQUIRE(out);
	REQUIRE(!html_render(f->report ? f->report : fixture_report(f),
			     &(struct flame_options){0}, out));
	REQUIRE(!fclose(out));
	browser_open(browser, "html", html, len);
	free(html);
}

static inline double count(const char *selector)
{
	char text[512];

	snprintf(text, sizeof(text), "document.querySelectorAll(\"%s\").length",
		 selector);
	return browser_number(browser, text);
}

static inline void check_quiet(void)
{
	const char *requests = browser_requests(browser);

	CHECK_STR(browser_errors(browser), "");
	/* The only request is the page itself. */
	CHECK(!strncmp(requests, "file:///tmp/", 12));
	CHECK(strchr(requests, '\n') == requests + strlen(requests) - 1);
}

static inline void fill(struct fixture *f)
{
	fixture_init(f);
	fixture_fill(f);
	/* A stack that no longer has live blocks. */
	FIXTURE_STACK(f, STACK_END_COMPLETE, f->symbols.data[2].start + 5);
	fixture_fill_timeline(f);
	f->snap->processes.data->memory = (struct snapshot_memory){
		.vm_rss_bytes = 15 << 20,
		.vm_hwm_bytes = 16 << 20,
		.vm_size_bytes = 64 << 20,
	};
	f->snap->totals[BLOCK_HEAP] = (struct snapshot_totals){
		.allocations = 6000,
		.allocated_bytes = 6500000,
		.frees = 5993,
		.freed_bytes = 6500000 - 2100323,
	};
}

#endif
