// SPDX-License-Identifier: Apache-2.0
/* The call tree of deep stacks and hostile names. */
#include "fixture.h"

#define EXE    "/srv/app/bin/leaky"
#define LEVELS 60

static char *render(struct fixture *f, uint64_t entries)
{
	const struct report_options options = {
		.view = "tree", .sort = REPORT_SORT_CUMULATIVE, .entries = entries};

	fixture_report_with(f, &options);
	return fixture_render(f, "text", NULL);
}

/* Each level of calls allocates itself, so that none is folded. */
static void deep_lines_are_not_indented_further(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	_cleanup_(freep) char *text = NULL;
	uint64_t frames[LEVELS + 1];
	size_t lines = 0;

	fixture_init(&f);
	for (size_t i = 0; i <= LEVELS; i++)
		frames[LEVELS - i] = fixture_symbol(&f, i % 2 ? "odd" : "even", EXE);
	for (size_t i = 0; i <= LEVELS; i++)
		fixture_block(&f, BLOCK_HEAP, 100, 1,
			      fixture_stack(&f, STACK_END_COMPLETE, i + 1,
					    frames + LEVELS - i));
	text = render(&f, 0);
	for (const char *line = strstr(text, "function\n") + 9; *line && *line != '\n';
	     line = strchr(line, '\n') + 1, lines++)
		CHECK(strcspn(line, "\n") < 42 + 80 + 30);
	CHECK_INT(lines, LEVELS + 1);
	CHECK_CONTAINS(text, " 100.0 %      100 B       61  even [leaky]\n");
	CHECK_CONTAINS(text, "(depth 60) even\n");
	CHECK(!strstr(text, "(depth 40)"));
}

/* A long chain goes on on further lines; direct recursion takes one place. */
static void chains_are_broken(void)
{
	static const char name[] = "a_function_with_a_name_of_forty_columns_";
	_cleanup_(fixture_deinit) struct fixture f;
	_cleanup_(freep) char *text = NULL;
	uint64_t frames[12];

	fixture_init(&f);
	for (size_t i = 0; i < 6; i++)
		frames[i] = fixture_symbol(&f, i ? "again" : "leaf", EXE);
	for (size_t i = 6; i < 12; i++) {
		char *own = NULL;

		REQUIRE(asprintf(&own, "%s%zu", name, i) > 0);
		frames[i] = fixture_symbol(&f, own, EXE);
	}
	fixture_block(&f, BLOCK_HEAP, 100, 1,
		      fixture_stack(&f, STACK_END_COMPLETE, 12, frames));
	text = render(&f, 10);
	CHECK_CONTAINS(text, "_11 [leaky] > a_function_with_a_name_of_forty_columns_10 > "
			     "a_function_with_a_name_of_forty_columns_9\n"
			     "                                          > "
			     "a_function_with_a_name_of_forty_columns_8 > ");
	CHECK_CONTAINS(text, " > again (5 times) > leaf\n");
	for (size_t i = 6; i < 12; i++)
		free((char *)f.symbols.data[i].name);
}

static void hostile_names(void)
{
	static char name[100001];
	_cleanup_(fixture_deinit) struct fixture f;
	_cleanup_(freep) char *text = NULL;

	fixture_init(&f);
	memset(name, 'n', sizeof(name) - 1);
	name[1] = '\x1b';

	uint64_t main_ = fixture_symbol(&f, name, EXE);
	uint64_t leaf = fixture_symbol(&f, "l\n\x1b", "/tmp/\x1b[2J\nm");

	fixture_block(&f, BLOCK_HEAP, 100, 1,
		      FIXTURE_STACK(&f, STACK_END_COMPLETE, leaf, main_));
	text = render(&f, 10);
	CHECK_CONTAINS(text, "  n\\x1bnn");
	CHECK_CONTAINS(text, "nnn [leaky]\n");
	CHECK_CONTAINS(text, "  > l\\x0a\\x1b [\\x1b[2J\\x0am]\n");
	CHECK(!strchr(text, '\x1b'));
	CHECK(strlen(text) < 2000);
}

int main(void)
{
	RUN(deep_lines_are_not_indented_further);
	RUN(chains_are_broken);
	RUN(hostile_names);
	return check_done();
}
