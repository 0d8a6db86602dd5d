// SPDX-License-Identifier: Apache-2.0
/* A stack that was too deep to be kept completely: each format says where frames are
 * missing. */
#include "fixture.h"

#define MARK "[frames left out: deep recursion]"

static void fill(struct fixture *f)
{
	uint64_t leaf = fixture_symbol(f, "parse_leaf", "/srv/app/bin/leaky");
	uint64_t down = fixture_symbol(f, "parse_down", "/srv/app/bin/leaky");
	uint64_t root = fixture_symbol(f, "run", "/srv/app/bin/leaky");
	uint32_t deep = FIXTURE_STACK(f, STACK_END_COMPLETE, leaf, down, down, root);
	uint32_t whole = FIXTURE_STACK(f, STACK_END_COMPLETE, leaf, down, down, root);

	fixture_module(f, FIXTURE_BASE, FIXTURE_BASE + 0x300, "/srv/app/bin/leaky", NULL);
	f->snap->stacks.data[deep].gap = 2;
	fixture_block(f, BLOCK_HEAP, 3000, 4321, deep);
	fixture_block(f, BLOCK_HEAP, 200, 4321, whole);
}

static void rows(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	const struct report_row *deep, *whole;

	fixture_init(&f);
	fill(&f);
	fixture_report(&f);
	REQUIRE(f.report->sections[0].row_count == 2);
	deep = &f.report->sections[0].rows[0];
	whole = &f.report->sections[0].rows[1];
	REQUIRE(deep->depth == 5 && whole->depth == 4);
	for (size_t i = 0; i < 5; i++)
		CHECK_INT(deep->frames[i]->is_gap, i == 2);
	CHECK_STR(deep->frames[1]->symbol, "parse_down");
	CHECK_STR(deep->frames[2]->symbol, MARK);
	CHECK_STR(deep->frames[3]->symbol, "parse_down");
	CHECK(!whole->frames[2]->is_gap);
}

static void text(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fill(&f);

	_cleanup_(freep) char *text = fixture_render(&f, "text", NULL);
	const char *mark = strstr(text, "\t\t... frames left out (deep recursion) ...\n");
	const char *root = strstr(text, "run+0x10");

	REQUIRE(mark && root);
	CHECK(mark > strstr(text, "parse_down+0x10"));
	CHECK(mark < root);
	/* The other stack is complete. */
	CHECK(!strstr(root, "... frames left out"));
}

static void names(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fill(&f);

	_cleanup_(freep) char *folded = fixture_render(&f, "collapsed", NULL);
	_cleanup_(freep) char *csv = fixture_render(&f, "csv", NULL);
	_cleanup_(freep) char *svg = fixture_render(&f, "flame", NULL);

	CHECK_CONTAINS(folded, "run;parse_down;" MARK ";parse_down;parse_leaf 3000\n");
	CHECK_CONTAINS(folded, "run;parse_down;parse_down;parse_leaf 200\n");
	CHECK_CONTAINS(csv, MARK);
	CHECK_CONTAINS(svg, "[frames left out: deep recursion]");
}

/* The mark has no address, offset or module. */
static void json(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fill(&f);

	_cleanup_(freep) char *text = fixture_render(&f, "json", NULL);
	const char *mark = strstr(text, MARK);

	REQUIRE(mark);
	while (mark > text && *mark != '{')
		mark--;

	_cleanup_(freep) char *frame = strndup(mark, strcspn(mark, "}"));

	REQUIRE(frame);
	CHECK_CONTAINS(frame, "\"address\":null");
	CHECK_CONTAINS(frame, "\"offset\":null");
	CHECK_CONTAINS(frame, "\"module\":null");
}

static void html(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fill(&f);

	_cleanup_(freep) char *text = fixture_render(&f, "html", NULL);

	CHECK_CONTAINS(text, "<li class=\"other\"><code>" MARK "</code></li>");
}

int main(void)
{
	RUN(rows);
	RUN(text);
	RUN(names);
	RUN(json);
	RUN(html);
	return check_done();
}
