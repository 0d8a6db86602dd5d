// SPDX-License-Identifier: Apache-2.0
/* What each function holds, itself and with its callees, computed by hand. */
#include "unit/render/fixture_lines.h"

#include <stdbool.h>

#include "report/functions.h"
#include "unit/random.h"

#define EXE  "/srv/app/bin/leaky"
#define LIBC "/usr/lib/libc.so.6"

static void find(struct fixture *f, enum report_group by, enum report_sort sort,
		 struct functions *ret)
{
	const struct report_options options = {.sort = sort, .gone = true};
	const struct report *report = fixture_report_with(f, &options);

	REQUIRE(!functions_find(report, &report->sections[0], by, ret));
}

/* The function with a name; NULL: without. Else of kind GROUP_END. */
static const struct function *named(const struct functions *functions, const char *name)
{
	const struct function *found = NULL;

	for (size_t i = 0; i < functions->count; i++) {
		const struct groups *groups = &functions->groups;
		const char *has =
			group_name(groups, &groups->list.data[functions->list[i].group]);

		if (!has || strcmp(has, name) != 0)
			continue;
		CHECK(!found);
		found = &functions->list[i];
	}
	REQUIRE(found);
	return found;
}

static void check(const struct functions *functions, const char *name,
		  uint64_t flat_bytes, uint64_t flat_count, uint64_t bytes,
		  uint64_t count)
{
	const struct function *function = named(functions, name);

	CHECK_INT(function->flat.size_bytes, flat_bytes);
	CHECK_INT(function->flat.count, flat_count);
	CHECK_INT(function->cumulative.size_bytes, bytes);
	CHECK_INT(function->cumulative.count, count);
}

static void flat_and_cumulative(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	_cleanup_(functions_deinit) struct functions functions;

	fixture_init(&f);

	uint64_t new = fixture_symbol(&f, "operator new(unsigned long)", LIBC);
	uint64_t put = fixture_symbol(&f, "void Shop::put<int>(int)", EXE);
	uint64_t put_too = fixture_symbol(&f, "void Shop::put<char>(char)", EXE);
	uint64_t walk = fixture_symbol(&f, "walk(Node*)", EXE);
	uint64_t main_ = fixture_symbol(&f, "main", EXE);

	/* Direct and indirect recursion. */
	fixture_block(&f, BLOCK_HEAP, 100, 1,
		      FIXTURE_STACK(&f, STACK_END_COMPLETE, new, put, walk, walk + 4,
				    walk, main_));
	fixture_block(&f, BLOCK_HEAP, 20, 1,
		      FIXTURE_STACK(&f, STACK_END_COMPLETE, new + 4, put_too, walk, put,
				    main_));
	fixture_block(&f, BLOCK_HEAP, 3, 1,
		      FIXTURE_STACK(&f, STACK_END_NO_FRAME, walk, main_));
	fixture_block(&f, BLOCK_HEAP, 4, 1, 2);
	fixture_block(&f, BLOCK_HEAP, 5, 1, SNAPSHOT_NO_STACK);
	find(&f, REPORT_GROUP_FUNCTION, REPORT_SORT_CUMULATIVE, &functions);
	check(&functions, "Shop::put", 120, 2, 120, 2);
	check(&functions, "walk", 7, 2, 127, 4);
	check(&functions, "main", 0, 0, 127, 4);
	/* And the block without a stack. The allocation function is not one of them. */
	CHECK_INT(functions.count, 4);
	CHECK_INT(functions.list[0].cumulative.size_bytes, 127);
	CHECK_INT(functions.list[1].cumulative.size_bytes, 127);
	CHECK_INT(functions.list[2].cumulative.size_bytes, 120);
	CHECK_INT(functions.list[3].flat.size_bytes, 5);
	CHECK_INT(functions.groups.list.data[functions.list[3].group].kind, GROUP_END);
}

static void orders(void)
{
	static const struct {
		enum report_sort sort;
		const char *names[3];
	} cases[] = {{REPORT_SORT_CUMULATIVE, {"top", "few", "many"}},
		     {REPORT_SORT_SIZE, {"few", "many", "top"}},
		     {REPORT_SORT_COUNT, {"many", "few", "top"}}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		_cleanup_(fixture_deinit) struct fixture f;
		_cleanup_(functions_deinit) struct functions functions;

		fixture_init(&f);

		uint64_t top = fixture_symbol(&f, "top", EXE);
		uint64_t few = fixture_symbol(&f, "few", EXE);
		uint64_t many = fixture_symbol(&f, "many", EXE);
		uint32_t of_many = FIXTURE_STACK(&f, STACK_END_COMPLETE, many, top);

		fixture_block(&f, BLOCK_HEAP, 100, 1,
			      FIXTURE_STACK(&f, STACK_END_COMPLETE, few, top));
		fixture_block(&f, BLOCK_HEAP, 10, 1, of_many);
		fixture_block(&f, BLOCK_HEAP, 10, 1, of_many);
		find(&f, REPORT_GROUP_PATH, cases[i].sort, &functions);
		REQUIRE(functions.count == 3);
		for (size_t k = 0; k < 3; k++)
			CHECK(named(&functions, cases[i].names[k]) == &functions.list[k]);
	}
}

/* Functions inlined into others have a part of their own; a file counts once. */
static void inlined(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	_cleanup_(functions_deinit) struct functions functions, files;
	const char *file = "/srv/app/src/cache.cc";
	bool found = false;

	fixture_init(&f);
	fixture_fill(&f);
	f.wrap = fixture_lines;
	find(&f, REPORT_GROUP_FUNCTION, REPORT_SORT_SIZE, &functions);
	/* Stacks 0 and 1: malloc, allocate<T> in Cache::grow in Cache::insert. */
	check(&functions, "allocate", 3100, 3, 3100, 3);
	check(&functions, "Cache::grow", 0, 0, 3100, 3);
	check(&functions, "Cache::insert", 0, 0, 3100, 3);
	check(&functions, "main_loop", 0, 0, 3100 + 2097152, 5);
	REQUIRE(!functions_find(f.report, &f.report->sections[0], REPORT_GROUP_SOURCE,
				&files));
	for (size_t i = 0; i < files.count; i++) {
		const char *has = group_file(
			&files.groups, &files.groups.list.data[files.list[i].group]);

		if (!has || strcmp(has, file) != 0)
			continue;
		CHECK(!found);
		found = true;
		CHECK_INT(files.list[i].flat.size_bytes, 0);
		CHECK_INT(files.list[i].cumulative.size_bytes, 3100);
	}
	CHECK(found);
}

/* A function counts once for all processes of its program, but another program's function
 * is another one. */
static void several_processes(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	_cleanup_(functions_deinit) struct functions functions, modules;

	fixture_init(&f);

	uint64_t work = fixture_symbol(&f, "work", EXE);
	uint64_t other = fixture_symbol(&f, "other", "/bin/other");

	fixture_block(&f, BLOCK_HEAP, 100, 1,
		      FIXTURE_STACK(&f, STACK_END_COMPLETE, work));
	fixture_process(&f, 99, "leaky");
	fixture_block(&f, BLOCK_HEAP, 20, 1,
		      FIXTURE_STACK(&f, STACK_END_COMPLETE, work + 4));
	fixture_block(&f, BLOCK_HEAP, 3, 1,
		      FIXTURE_STACK(&f, STACK_END_COMPLETE, work, other));
	find(&f, REPORT_GROUP_FUNCTION, REPORT_SORT_SIZE, &functions);
	CHECK_INT(functions.count, 2);
	check(&functions, "work", 123, 3, 123, 3);
	check(&functions, "other", 0, 0, 3, 1);
	REQUIRE(!functions_find(f.report, &f.report->sections[0], REPORT_GROUP_MODULE,
				&modules));
	REQUIRE(modules.count == 2);
	CHECK_STR(group_module(&modules.groups,
			       &modules.groups.list.data[modules.list[0].group]),
		  EXE);
	CHECK_INT(modules.list[0].flat.size_bytes, 123);
	CHECK_INT(modules.list[1].cumulative.size_bytes, 3);
}

static void sampled(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	_cleanup_(functions_deinit) struct functions functions;

	fixture_init(&f);

	uint64_t work = fixture_symbol(&f, "work", EXE);

	fixture_block(&f, BLOCK_HEAP, 100, 1,
		      FIXTURE_STACK(&f, STACK_END_COMPLETE, work));
	f.snap->sampling.every = 50;
	find(&f, REPORT_GROUP_FUNCTION, REPORT_SORT_SIZE, &functions);
	check(&functions, "work", 5000, 50, 5000, 50);
}

/* Growth includes call paths that were freed altogether. */
static void growth(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	_cleanup_(functions_deinit) struct functions functions;
	const struct report_options options = {.sort = REPORT_SORT_GROWTH, .gone = true};

	fixture_init(&f);

	uint64_t grows = fixture_symbol(&f, "grows", EXE);
	uint64_t shrinks = fixture_symbol(&f, "shrinks", EXE);
	uint64_t main_ = fixture_symbol(&f, "main", EXE);
	uint32_t grown = FIXTURE_STACK(&f, STACK_END_COMPLETE, grows, main_);
	uint32_t gone = FIXTURE_STACK(&f, STACK_END_COMPLETE, shrinks, main_);

	fixture_block(&f, BLOCK_HEAP, 500, 1, gone);
	fixture_report_with(&f, &options);
	report_destroy(f.report);
	f.report = NULL;
	f.snap->blocks[BLOCK_HEAP].len = 0;
	f.snap->time_ns += FIXTURE_NS;
	fixture_block(&f, BLOCK_HEAP, 80, 1, grown);
	REQUIRE(!report_build(f.snap, f.history, f.frames, &options, REPORT_STOPPED,
			      &f.report));
	CHECK_INT(f.report->sections[0].row_count, 1);
	REQUIRE(!functions_find(f.report, &f.report->sections[0], REPORT_GROUP_FUNCTION,
				&functions));
	REQUIRE(functions.count == 3);
	CHECK(named(&functions, "grows") == &functions.list[0]);
	CHECK_INT(named(&functions, "grows")->flat.growth_bytes, 80);
	CHECK_INT(named(&functions, "shrinks")->flat.growth_bytes, -500);
	CHECK_INT(named(&functions, "main")->flat.growth_bytes, 0);
	CHECK_INT(named(&functions, "main")->cumulative.growth_bytes, -420);
}

/* The flat sums add up to the live memory, however the stacks look, in each grouping. */
static void sums(void)
{
	static const enum report_group by[] = {
		REPORT_GROUP_FUNCTION,  REPORT_GROUP_CALLER, REPORT_GROUP_MODULE,
		REPORT_GROUP_LIBRARY,   REPORT_GROUP_SOURCE, REPORT_GROUP_LINE,
		REPORT_GROUP_ALLOCATOR, REPORT_GROUP_THREAD};
	_cleanup_(fixture_deinit) struct fixture f;
	const struct report_section *section;
	uint64_t symbols[20], total = 0;

	fixture_init(&f);
	for (size_t i = 0; i < 20; i++)
		symbols[i] = fixture_symbol(
			&f, (const char *[]){"malloc", "a", "b", NULL, "c()"}[i % 5],
			i % 3 ? EXE : LIBC);
	for (size_t i = 0; i < 500; i++) {
		uint64_t frames[30];
		size_t depth = random_below(30);
		uint64_t size_bytes = random_below(10000);

		for (size_t k = 0; k < depth; k++)
			frames[k] = symbols[random_below(20)];
		fixture_block(&f, BLOCK_HEAP, size_bytes, 1 + (uint32_t)i % 7,
			      fixture_stack(&f, (enum stack_end)random_below(4), depth,
					    frames));
		total += size_bytes;
	}
	section =
		&fixture_report_with(&f, &(struct report_options){.top = 0})->sections[0];
	CHECK_INT(section->live.size_bytes, total);
	for (size_t i = 0; i < sizeof(by) / sizeof(*by); i++) {
		_cleanup_(functions_deinit) struct functions functions;
		uint64_t flat = 0, count = 0;

		REQUIRE(!functions_find(f.report, section, by[i], &functions));
		for (size_t k = 0; k < functions.count; k++) {
			const struct function *function = &functions.list[k];

			flat += function->flat.size_bytes;
			count += function->flat.count;
			CHECK(function->cumulative.size_bytes >=
			      function->flat.size_bytes);
			CHECK(function->cumulative.size_bytes <= total);
		}
		CHECK_INT(flat, total);
		CHECK_INT(count, 500);
	}
}

int main(void)
{
	RUN(flat_and_cumulative);
	RUN(orders);
	RUN(inlined);
	RUN(several_processes);
	RUN(sampled);
	RUN(growth);
	RUN(sums);
	return check_done();
}
