// SPDX-License-Identifier: Apache-2.0
/* The call tree: what is folded, what is left out, and that no byte is lost. */
#include "unit/render/fixture.h"

#include <stdbool.h>

#include "report/tree.h"
#include "unit/random.h"

#define EXE "/srv/app/bin/leaky"

/* Adds a stack with one block. */
#define HOLD(f, bytes, ...)                                                              \
	fixture_block((f), BLOCK_HEAP, (bytes), 1,                                       \
		      FIXTURE_STACK((f), STACK_END_COMPLETE, __VA_ARGS__))

static const struct report_section *report_of(struct fixture *f)
{
	const struct report_options options = {.top = 0};

	return &fixture_report_with(f, &options)->sections[0];
}

/* Check a shown line by its place: "a b" are the names of its functions, first to last.
 */
static void check_line(const struct tree *tree, size_t at, const char *names,
		       uint32_t depth, uint64_t bytes, uint64_t flat_bytes)
{
	REQUIRE(at < tree->order.len);

	const struct tree_line *line = &tree->lines.data[tree->order.data[at]];
	_cleanup_(strbuf_deinit) struct strbuf got = {0};

	for (uint32_t node = line->last;; node = tree->nodes.data[node].parent) {
		const struct group *group =
			&tree->groups.list.data[tree->nodes.data[node].group];
		const char *name = group->kind == GROUP_CODE
					   ? group_name(&tree->groups, group)
					   : "note";
		struct strbuf longer = {0};

		strbuf_appendf(&longer, "%s%s%s", name ? name : "?", got.len ? " " : "",
			       strbuf_text(&got));
		strbuf_deinit(&got);
		got = longer;
		if (node == line->first)
			break;
	}
	CHECK_STR(strbuf_text(&got), names);
	CHECK_INT(line->depth, depth);
	CHECK_INT(line->bytes, bytes);
	CHECK_INT(line->flat_bytes, flat_bytes);
	CHECK(line->is_shown);
}

/* main calls loop for all: loop calls big (96 %), which calls a (500) and b (460); and
 * small functions x (30) and y (10). */
static void fill(struct fixture *f)
{
	uint64_t main_ = fixture_symbol(f, "main", EXE);
	uint64_t loop = fixture_symbol(f, "loop", EXE);
	uint64_t big = fixture_symbol(f, "big", EXE);
	uint64_t a = fixture_symbol(f, "a", EXE), b = fixture_symbol(f, "b", EXE);
	uint64_t x = fixture_symbol(f, "x", EXE), y = fixture_symbol(f, "y", EXE);
	uint64_t new = fixture_symbol(f, "operator new(unsigned long)", EXE);

	HOLD(f, 500, new, a, big, loop, main_);
	HOLD(f, 460, b, big, loop, main_);
	HOLD(f, 30, x, loop, main_);
	HOLD(f, 10, y, loop, main_);
}

static void callers_first(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	_cleanup_(tree_deinit) struct tree tree, cut, few;
	const struct report_section *section;

	fixture_init(&f);
	fill(&f);
	section = report_of(&f);
	REQUIRE(!tree_make(f.report, section, &(struct tree_options){.min_bytes = 20},
			   &tree));
	CHECK_INT(tree.order.len, 5);
	check_line(&tree, 0, "main loop", 0, 1000, 0);
	/* 96 %, but x is to be shown too. */
	check_line(&tree, 1, "big", 1, 960, 0);
	check_line(&tree, 2, "a", 2, 500, 500);
	check_line(&tree, 3, "b", 2, 460, 460);
	check_line(&tree, 4, "x", 1, 30, 30);
	CHECK_INT(tree.small.branches, 1);
	CHECK_INT(tree.small.bytes, 10);
	CHECK_INT(tree.small.count, 1);
	CHECK_INT(tree.beyond.branches, 0);
	REQUIRE(!tree_make(f.report, section, &(struct tree_options){.min_bytes = 40},
			   &cut));
	CHECK_INT(cut.order.len, 3);
	check_line(&cut, 0, "main loop big", 0, 1000, 0);
	check_line(&cut, 2, "b", 1, 460, 460);
	CHECK_INT(cut.small.branches, 2);
	CHECK_INT(cut.small.bytes, 40);
	REQUIRE(!tree_make(f.report, section, &(struct tree_options){.branches = 2},
			   &few));
	CHECK_INT(few.order.len, 4);
	check_line(&few, 3, "b", 2, 460, 460);
	CHECK_INT(few.beyond.branches, 2);
	CHECK_INT(few.beyond.bytes, 40);
	CHECK_INT(few.small.branches, 0);
}

static void callees_first(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	_cleanup_(tree_deinit) struct tree tree;
	const struct tree_options options = {.callees_first = true, .min_bytes = 20};

	fixture_init(&f);
	fill(&f);
	report_of(&f);
	REQUIRE(!tree_make(f.report, &f.report->sections[0], &options, &tree));
	CHECK_INT(tree.order.len, 3);
	check_line(&tree, 0, "a big loop main", 0, 500, 500);
	check_line(&tree, 1, "b big loop main", 0, 460, 460);
	check_line(&tree, 2, "x loop main", 0, 30, 30);
	CHECK_INT(tree.small.branches, 1);
	CHECK_INT(tree.small.bytes, 10);
}

/* A function that allocates itself is not folded if its part is to be shown; the ends of
 * incomplete stacks are roots of their own; recursion is a chain. */
static void ends_and_recursion(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	_cleanup_(tree_deinit) struct tree tree;
	const struct tree_options options = {.min_bytes = 1};

	fixture_init(&f);

	uint64_t main_ = fixture_symbol(&f, "main", EXE);
	uint64_t walk = fixture_symbol(&f, "walk", EXE);

	HOLD(&f, 96, walk, walk, walk + 4, main_);
	HOLD(&f, 2, main_);
	fixture_block(&f, BLOCK_HEAP, 50, 1, FIXTURE_STACK(&f, STACK_END_CORRUPT, walk));
	fixture_block(&f, BLOCK_HEAP, 7, 1, SNAPSHOT_NO_STACK);
	report_of(&f);
	REQUIRE(!tree_make(f.report, &f.report->sections[0], &options, &tree));
	CHECK_INT(tree.order.len, 4);
	check_line(&tree, 0, "main", 0, 98, 2);
	check_line(&tree, 1, "walk walk walk", 1, 96, 96);
	check_line(&tree, 2, "note walk", 0, 50, 50);
	check_line(&tree, 3, "note", 0, 7, 7);
}

static void processes(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	_cleanup_(tree_deinit) struct tree tree;
	const struct report_options options = {.group_by_process = true};

	fixture_init(&f);

	uint64_t main_ = fixture_symbol(&f, "main", EXE);

	HOLD(&f, 10, main_);
	fixture_process(&f, 99, "other");
	HOLD(&f, 30, main_);
	fixture_report_with(&f, &options);
	REQUIRE(!tree_make(f.report, &f.report->sections[0],
			   &(struct tree_options){.min_bytes = 1}, &tree));
	CHECK_INT(tree.order.len, 2);
	check_line(&tree, 0, "note main", 0, 30, 30);
	check_line(&tree, 1, "note main", 0, 10, 10);
}

static void check_sums(const struct tree *tree, uint64_t total, uint64_t branches)
{
	uint64_t shown = 0, ends = 0;

	for (size_t i = 0; i < tree->order.len; i++) {
		const struct tree_line *line = &tree->lines.data[tree->order.data[i]];
		bool is_end = i + 1 == tree->order.len ||
			      tree->lines.data[tree->order.data[i + 1]].parent !=
				      tree->order.data[i];

		ends += is_end;
		shown += line->flat_bytes;
		if (line->parent == TREE_NO_LINE)
			CHECK_INT(line->depth, 0);
		else
			CHECK_INT(line->depth, tree->lines.data[line->parent].depth + 1);
	}
	CHECK_INT(shown + tree->small.bytes + tree->beyond.bytes, total);
	CHECK(!branches || ends <= branches);
	CHECK_INT(tree->nodes.data[0].bytes, total);
}

/* Random and very deep stacks, cut in all ways: the shown and the omitted bytes add up to
 * the live memory. */
static void sums(void)
{
	static uint64_t deep[60000];
	_cleanup_(fixture_deinit) struct fixture f;
	uint64_t symbols[8], total = 0;

	fixture_init(&f);
	for (size_t i = 0; i < 8; i++)
		symbols[i] =
			fixture_symbol(&f, (const char *[]){"a", "b", "c", "d"}[i % 4],
				       i % 3 ? EXE : "/usr/lib/libc.so.6");
	for (size_t i = 0; i < 400; i++) {
		size_t depth = i < 2 ? 60000 : random_below(20);
		uint64_t size_bytes = random_below(10000);

		for (size_t k = 0; k < depth; k++)
			deep[k] = symbols[random_below(8)];
		fixture_block(
			&f, BLOCK_HEAP, size_bytes, 1,
			fixture_stack(&f, (enum stack_end)random_below(4), depth, deep));
		total += size_bytes;
	}

	const struct report_section *section = report_of(&f);

	for (unsigned i = 0; i < 12; i++) {
		_cleanup_(tree_deinit) struct tree tree;
		const struct tree_options options = {
			.callees_first = i & 1,
			.min_bytes = i & 2 ? total / 100 : 0,
			.branches = (uint64_t[]){0, 1, 10}[i / 4],
		};

		REQUIRE(!tree_make(f.report, section, &options, &tree));
		check_sums(&tree, total, options.branches);
		CHECK_INT(!tree.small.branches, !options.min_bytes);
		CHECK_INT(!tree.beyond.branches, !options.branches);
	}
}

int main(void)
{
	RUN(callers_first);
	RUN(callees_first);
	RUN(ends_and_recursion);
	RUN(processes);
	RUN(sums);
	return check_done();
}
