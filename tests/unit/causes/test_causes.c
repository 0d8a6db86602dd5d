// SPDX-License-Identifier: Apache-2.0
/* Which call paths belong to one cause, and which frame names it. */
#include "unit/render/fixture.h"

#include <stdbool.h>

#include "causes/causes.h"

#define EXE  "/srv/app/bin/leaky"
#define LIBC "/usr/lib/libc.so.6"

/* Symbols of a C++ server. */
struct server {
	struct fixture f;
	uint64_t allocate, new, push, insert, xmalloc, xml, start;
	uint64_t main, loop, handle, put, get;
};

static void server_init(struct server *s)
{
	struct fixture *f = &s->f;

	fixture_init(f);
	s->allocate = fixture_symbol(f, "malloc", LIBC);
	s->new = fixture_symbol(f, "operator new(unsigned long)",
				"/usr/lib/libstdc++.so.6");
	s->push = fixture_symbol(f, "std::vector<int>::push_back(int)", EXE);
	s->insert = fixture_symbol(f, "std::map<int, int>::insert(int)", EXE);
	s->xmalloc = fixture_symbol(f, "xmalloc", EXE);
	s->xml = fixture_symbol(f, "xmlNewNode", "/usr/lib/libxml2.so.2");
	s->start = fixture_symbol(f, "__libc_start_call_main", LIBC);
	s->main = fixture_symbol(f, "main", EXE);
	s->loop = fixture_symbol(f, "loop(int)", EXE);
	s->handle = fixture_symbol(f, "handle(int)", EXE);
	s->put = fixture_symbol(f, "Store::put(int)", EXE);
	s->get = fixture_symbol(f, "Store::get(int)", EXE);
}

static void server_deinit(struct server *s)
{
	fixture_deinit(&s->f);
}

/* Adds a stack with one block. A slope makes it a suspect. */
#define HOLD(s, bytes, slope, ...)                                                       \
	hold((s), (bytes), (slope),                                                      \
	     FIXTURE_STACK(&(s)->f, STACK_END_COMPLETE, __VA_ARGS__))
static void hold(struct server *s, uint64_t size_bytes, double slope, uint32_t stack)
{
	struct snapshot_trend trend = {.intervals = 6,
				       .grew = slope > 0 ? 6 : 0,
				       .slope_bytes_per_s = slope,
				       .determination = slope > 0 ? 0.99 : 0,
				       .rise_bytes = size_bytes};

	fixture_block(&s->f, BLOCK_HEAP, size_bytes, 1, stack);
	REQUIRE(vec_push(&s->f.snap->trends[BLOCK_HEAP], trend));
	s->f.snap->has_trends = true;
}

static void find(struct server *s, uint64_t top, struct causes *ret)
{
	const struct report_options options = {.older_ns = 0, .top = top};
	const struct report *report = fixture_report_with(&s->f, &options);

	REQUIRE(!causes_find(report, &report->sections[0], NULL, ret));
}

static void check_cause(const struct causes *causes, size_t index, const char *symbol,
			size_t parts, uint64_t bytes, double slope)
{
	REQUIRE(index < causes->count);

	const struct cause *cause = &causes->list[index];
	const struct report_row *row = cause->parts->row;

	REQUIRE(cause->parts->named_by < row->depth);
	CHECK_STR(row->frames[cause->parts->named_by]->symbol, symbol);
	CHECK_INT(cause->part_count, parts);
	CHECK_INT(cause->sum.estimated_bytes, bytes);
	CHECK_INT(cause->slope_bytes_per_s, slope);
}

/* The same functions of the program, with different library functions below and
 * between. */
static void containers(void)
{
	_cleanup_(server_deinit) struct server s;
	_cleanup_(causes_deinit) struct causes causes;

	server_init(&s);
	HOLD(&s, 100, 0, s.allocate, s.new, s.push, s.put, s.main, s.start);
	HOLD(&s, 300, 0, s.allocate, s.new, s.insert, s.put, s.main, s.start);
	/* Another line of the same function, and a wrapper. */
	HOLD(&s, 200, 0, s.allocate, s.xmalloc, s.put + 8, s.main);
	HOLD(&s, 50, 0, s.allocate, s.put, s.insert, s.main + 4, s.start);
	/* Another caller. */
	HOLD(&s, 70, 0, s.allocate, s.put, s.loop, s.main);
	find(&s, 0, &causes);
	CHECK_INT(causes.count, 2);
	CHECK_INT(causes.suspect_count, 0);
	check_cause(&causes, 0, "Store::put(int)", 4, 650, 0);
	check_cause(&causes, 1, "Store::put(int)", 1, 70, 0);
	CHECK_INT(causes.list[0].sum.count, 4);
	CHECK_INT(causes.list[0].oldest_age_ns, FIXTURE_NS);
	/* The largest part comes first. */
	CHECK_INT(causes.list[0].parts[0].row->sum.size_bytes, 300);
	CHECK_INT(causes.list[0].parts[3].row->sum.size_bytes, 50);
	CHECK_INT(causes.list[0].parts->named_by, 3);
}

static void recursion(void)
{
	_cleanup_(server_deinit) struct server s;
	_cleanup_(causes_deinit) struct causes causes;

	server_init(&s);
	HOLD(&s, 10, 0, s.allocate, s.put, s.handle, s.main);
	HOLD(&s, 20, 0, s.allocate, s.put, s.handle, s.handle, s.handle, s.main);
	HOLD(&s, 40, 0, s.allocate, s.put, s.handle, s.loop, s.handle, s.main);
	find(&s, 0, &causes);
	CHECK_INT(causes.count, 2);
	check_cause(&causes, 0, "Store::put(int)", 1, 40, 0);
	check_cause(&causes, 1, "Store::put(int)", 2, 30, 0);
}

/* Suspects come first, ordered by slope. A suspect is not listed twice. */
static void suspects(void)
{
	_cleanup_(server_deinit) struct server s;
	_cleanup_(causes_deinit) struct causes causes;

	server_init(&s);
	HOLD(&s, 100000, 0, s.allocate, s.get, s.main);
	HOLD(&s, 4000, 500, s.allocate, s.new, s.push, s.put, s.main);
	HOLD(&s, 9000, 0, s.allocate, s.new, s.insert, s.put, s.main);
	HOLD(&s, 5000, 700, s.allocate, s.put, s.main);
	HOLD(&s, 6000, 900, s.allocate, s.handle, s.main);
	find(&s, 0, &causes);
	CHECK_INT(causes.count, 3);
	CHECK_INT(causes.suspect_count, 2);
	check_cause(&causes, 0, "Store::put(int)", 3, 18000, 1200);
	check_cause(&causes, 1, "handle(int)", 1, 6000, 900);
	check_cause(&causes, 2, "Store::get(int)", 1, 100000, 0);
	CHECK_INT(causes.list[0].parts[0].slope_bytes_per_s, 700);
	CHECK_INT(causes.list[0].parts[2].slope_bytes_per_s, 0);
	/* In the first report all bytes are growth. */
	CHECK_INT(causes.list[0].estimated_growth_bytes, 18000);
}

/* Of the suspects, those with blocks that nothing points to come first. */
static void lost_suspects(void)
{
	_cleanup_(server_deinit) struct server s;
	_cleanup_(causes_deinit) struct causes causes;
	const struct snapshot_unreachable none = {.lost_but_freed = {0}},
					  some = {.lost = {100, 2}, .held = {60, 1}};
	const struct report_options options = {.older_ns = 0};
	const struct report *report;

	server_init(&s);
	HOLD(&s, 6000, 900, s.allocate, s.handle, s.main);
	HOLD(&s, 5000, 70, s.allocate, s.put, s.main);
	HOLD(&s, 100000, 0, s.allocate, s.get, s.main);
	s.f.snap->search.count = 1;
	REQUIRE(vec_push(&s.f.snap->unreachable, none));
	REQUIRE(vec_push(&s.f.snap->unreachable, some));
	REQUIRE(vec_push(&s.f.snap->unreachable, some));
	report = fixture_report_with(&s.f, &options);
	REQUIRE(!causes_find(report, &report->sections[0], NULL, &causes));
	CHECK_INT(causes.suspect_count, 2);
	check_cause(&causes, 0, "Store::put(int)", 1, 5000, 70);
	check_cause(&causes, 1, "handle(int)", 1, 6000, 900);
	check_cause(&causes, 2, "Store::get(int)", 1, 100000, 0);
	CHECK_INT(causes.list[0].lost_bytes, 160);
	CHECK_INT(causes.list[1].lost_bytes, 0);
	REQUIRE(report->sections[0].suspect_count == 2);
	CHECK_INT(report->sections[0].suspects[0].row->sum.size_bytes, 5000);
	CHECK_INT(report_row_lost_bytes(report->sections[0].suspects[0].row), 160);
	CHECK_INT(report_row_lost_bytes(report->sections[0].suspects[1].row), 0);
}

/* A suspect is listed even if its row is not. */
static void suspects_beyond_the_top(void)
{
	_cleanup_(server_deinit) struct server s;
	_cleanup_(causes_deinit) struct causes causes;

	server_init(&s);
	HOLD(&s, 100000, 0, s.allocate, s.get, s.main);
	HOLD(&s, 4000, 500, s.allocate, s.put, s.main);
	find(&s, 1, &causes);
	CHECK_INT(causes.count, 2);
	check_cause(&causes, 0, "Store::put(int)", 1, 4000, 500);
	check_cause(&causes, 1, "Store::get(int)", 1, 100000, 0);
}

/* Without own code, a library function names the cause, then a runtime's function, then
 * any frame. */
static void no_own_code(void)
{
	_cleanup_(server_deinit) struct server s;
	_cleanup_(causes_deinit) struct causes causes;

	server_init(&s);

	uint64_t unnamed = fixture_symbol(&s.f, NULL, NULL);
	uint64_t other = fixture_symbol(&s.f, NULL, NULL);

	HOLD(&s, 5000, 0, s.allocate, s.new, s.xml, s.start);
	HOLD(&s, 400, 0, s.allocate, s.xml + 4);
	HOLD(&s, 3000, 0, s.allocate, s.push, s.insert, s.start);
	HOLD(&s, 2000, 0, s.allocate, unnamed);
	HOLD(&s, 1000, 0, s.allocate, other);
	HOLD(&s, 500, 0, s.allocate, s.xmalloc);
	find(&s, 0, &causes);
	CHECK_INT(causes.count, 6 - 1);
	check_cause(&causes, 0, "xmlNewNode", 2, 5400, 0);
	check_cause(&causes, 1, "std::vector<int>::push_back(int)", 1, 3000, 0);
	CHECK(!causes.list[2].parts->row->frames[causes.list[2].parts->named_by]->symbol);
	CHECK_INT(causes.list[2].sum.size_bytes, 2000);
	CHECK_INT(causes.list[3].sum.size_bytes, 1000);
	check_cause(&causes, 4, "xmalloc", 1, 500, 0);
}

/* Functions without symbols are identified by their offset in the file. */
static void stripped(void)
{
	_cleanup_(server_deinit) struct server s;
	_cleanup_(causes_deinit) struct causes causes;

	server_init(&s);
	fixture_module(&s.f, 0x900000, 0xa00000, EXE, NULL);
	HOLD(&s, 50, 0, s.allocate, 0x900010, 0x900200);
	HOLD(&s, 60, 0, s.allocate, s.new, 0x900010, 0x900200);
	HOLD(&s, 10, 0, s.allocate, 0x900020, 0x900200);
	find(&s, 0, &causes);
	CHECK_INT(causes.count, 2);
	CHECK_INT(causes.list[0].sum.size_bytes, 110);
}

/* Blocks without a stack and stacks without frames are two causes. */
static void no_frames(void)
{
	_cleanup_(server_deinit) struct server s;
	_cleanup_(causes_deinit) struct causes causes;

	server_init(&s);
	hold(&s, 30, 0, fixture_stack(&s.f, STACK_END_NO_FRAME, 0, NULL));
	fixture_block(&s.f, BLOCK_HEAP, 20, 1, SNAPSHOT_NO_STACK);
	find(&s, 0, &causes);
	REQUIRE(causes.count == 2);
	CHECK_INT(causes.list[0].sum.size_bytes, 30);
	CHECK_INT(causes.list[0].parts->named_by, 0);
	CHECK_INT(causes.list[1].sum.size_bytes, 20);
	CHECK(causes.list[1].parts->row->stack == SNAPSHOT_NO_STACK);
}

/* Frames of one function may be of different code: by the source file, and by the program
 * that runs. */
static void code_of_one_function(void)
{
	static const struct snapshot_process app = {.executable = "/usr/bin/app"};
	static const struct snapshot_process other = {.executable = "/usr/bin/other"};
	static const struct report_frame frames[] = {
		{.symbol = "run", .module = "/usr/lib/app.so", .index = 0},
		{.symbol = "run",
		 .module = "/usr/lib/app.so",
		 .file = "/usr/include/c++/12/vector",
		 .index = 1},
		{.symbol = "run", .module = "/usr/lib/app.so", .index = 2},
		{.symbol = "go", .module = "/usr/lib/other", .index = 3},
		{.symbol = "go", .module = "/usr/lib/other", .index = 4},
		/* The name of a placeholder is also the name of a function. */
		{.symbol = REPORT_GAP_NAME, .is_gap = true, .index = 5},
		{.symbol = REPORT_GAP_NAME, .index = 6},
	};
	static const struct snapshot_process in_lib = {.executable = "/usr/lib/other"};
	static const struct snapshot_process *const of[] = {&app,    &app, &other, &app,
							    &in_lib, &app, &app};
	static const enum code_kind kinds[] = {CODE_LIBRARY, CODE_RUNTIME, CODE_LIBRARY,
					       CODE_LIBRARY, CODE_OWN,     CODE_UNKNOWN,
					       CODE_OWN};
	enum {
		COUNT = sizeof(frames) / sizeof(*frames)
	};
	const struct report_frame *lists[COUNT];
	struct report_row rows[COUNT];
	struct report_section section = {.rows = rows, .row_count = COUNT};
	const struct report report = {.frame_count = COUNT};
	_cleanup_(causes_deinit) struct causes causes;

	memset(rows, 0, sizeof(rows));
	for (uint32_t i = 0; i < COUNT; i++) {
		lists[i] = &frames[i];
		rows[i].frames = &lists[i];
		rows[i].depth = 1;
		rows[i].stack = i;
		rows[i].frames_of = of[i];
		rows[i].sum.count = 1;
	}
	REQUIRE(!causes_find(&report, &section, NULL, &causes));
	for (size_t i = 0; i < COUNT; i++)
		CHECK_INT(causes_origin(&causes, &frames[i])->kind, kinds[i]);
}

static void an_empty_report_has_no_causes(void)
{
	_cleanup_(server_deinit) struct server s;
	_cleanup_(causes_deinit) struct causes causes;

	server_init(&s);
	find(&s, 0, &causes);
	CHECK_INT(causes.count, 0);
	CHECK_INT(causes.suspect_count, 0);
}

int main(void)
{
	RUN(containers);
	RUN(recursion);
	RUN(suspects);
	RUN(lost_suspects);
	RUN(suspects_beyond_the_top);
	RUN(no_own_code);
	RUN(stripped);
	RUN(no_frames);
	RUN(code_of_one_function);
	RUN(an_empty_report_has_no_causes);
	return check_done();
}
