// SPDX-License-Identifier: Apache-2.0
#include "fixture.h"

static void paths_are_merged_and_sorted(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);

	_cleanup_(freep) char *text = fixture_render(&f, "collapsed", NULL);

	CHECK_STR(text, "[no stack: it was not stored] 7\n"
			"[truncated: no frame pointer];[unknown];malloc 64\n"
			"[truncated: stack depth limit];main_loop;[libblob.so];malloc "
			"2097152\n"
			"main_loop;Cache::insert(std::string const&);malloc 3100\n");
}

static void mappings_have_a_root_of_their_own(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);
	fixture_fill_mappings(&f);

	_cleanup_(freep) char *text = fixture_render(&f, "collapsed", NULL);

	CHECK_CONTAINS(text, "[heap];[no stack: it was not stored] 7\n");
	CHECK_CONTAINS(text, "[heap];main_loop;Cache::insert(std::string const&);malloc "
			     "3100\n");
	CHECK_CONTAINS(text, "[mappings];main_loop;Cache::insert(std::string "
			     "const&);malloc 4096\n");
	CHECK_CONTAINS(text, "[mappings];[truncated: stack depth limit];main_loop;"
			     "[libblob.so];malloc 8192\n");
}

static void processes_are_roots(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);
	fixture_fill_second(&f);
	fixture_fill_mappings(&f);

	_cleanup_(freep) char *text = fixture_render(&f, "collapsed", NULL);

	CHECK_CONTAINS(text, "leaky (4321);[heap];main_loop;Cache::insert(std::string "
			     "const&);malloc 3100\n");
	CHECK_CONTAINS(text, "\nse\\x3bc\\x0a (99);[heap];other 5000\n");
	CHECK_CONTAINS(text,
		       "[process not known];[heap];[no stack: it was not stored] 7\n");
}

static void sampled_numbers_are_scaled(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);
	f.snap->sampling.every = 100;

	_cleanup_(freep) char *text = fixture_render(&f, "collapsed", NULL);

	CHECK_CONTAINS(text, "malloc 310000\n");
}

/* Whatever a symbol contains, a line has one path and one number, and the path has its
 * depth. */
static void names_cannot_break_a_line(void)
{
	static const struct {
		const char *symbol, *shown;
	} cases[] = {
		{"a;b", "a\\x3bb"},
		{"a\nb", "a\\x0ab"},
		{"a\r\tb", "a\\x0d\\x09b"},
		{"leaf 5", "leaf\\x205"},
		{"leaf 5 6.5", "leaf\\x205\\x206.5"},
		{"leaf 5 x", "leaf 5 x"},
		{" leading", "\\x20leading"},
		{"trailing ", "trailing\\x20"},
		{"operator new(unsigned long)", "operator new(unsigned long)"},
		{"\xff\xc3\x28", "\\xff\\xc3("},
		{"\xe2\x80\xa8", "\\xe2\\x80\\xa8"},
		{"", "[leaky]"},
		{" ", "\\x20"},
		{"1", "1"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		_cleanup_(fixture_deinit) struct fixture f;

		fixture_init(&f);
		uint64_t root = fixture_symbol(&f, "root", "/bin/leaky");
		uint64_t leaf = fixture_symbol(&f, cases[i].symbol, "/bin/leaky");
		uint32_t stack = FIXTURE_STACK(&f, STACK_END_COMPLETE, leaf, root);
		char want[128];

		fixture_block(&f, BLOCK_HEAP, 9, 1, stack);
		snprintf(want, sizeof(want), "root;%s 9\n", cases[i].shown);

		_cleanup_(freep) char *text = fixture_render(&f, "collapsed", NULL);

		CHECK_STR(text, want);
	}
}

static void an_empty_report_is_an_empty_file(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);

	_cleanup_(freep) char *text = fixture_render(&f, "collapsed", NULL);

	CHECK_STR(text, "");
}

int main(void)
{
	RUN(paths_are_merged_and_sorted);
	RUN(mappings_have_a_root_of_their_own);
	RUN(processes_are_roots);
	RUN(sampled_numbers_are_scaled);
	RUN(names_cannot_break_a_line);
	RUN(an_empty_report_is_an_empty_file);
	return check_done();
}
