/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For golden.brief: made-up programs, whose live blocks, trends and source lines a brief
 * report shows.
 */
#ifndef TESTS_GOLDEN_BRIEF_PROGRAMS_H
#define TESTS_GOLDEN_BRIEF_PROGRAMS_H

#include <stdbool.h>

#include "unit/render/fixture.h"

#define EXE           "/srv/app/bin/leaky"
#define LIBC          "/usr/lib/x86_64-linux-gnu/libc.so.6"
#define CXX           "/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30"

#define FUNCTIONS_MAX 64
#define REPORTS       6 /* number of reports, 5 s apart */

struct function {
	const char *name, *module, *file; /* file NULL: no debug information */
	unsigned line;
};

/* The functions of the current program, in order of their addresses. */
static const struct function *functions;

static inline struct error *find_sources(struct symbolizer *base, uint64_t address,
					 struct source_frames *ret)
{
	const struct function *f = &functions[(address - FIXTURE_BASE) / 0x100];

	(void)base;
	*ret = (struct source_frames){.function_offset = address % 0x100};
	if (f->file)
		REQUIRE(vec_push(
			&ret->list,
			(struct source_frame){
				.function = strdup(f->name),
				.file = strdup(f->file),
				/* Each byte of a function is a line of its own. */
				.line = f->line + (unsigned)(address % 0x100) - 0x10,
			}));
	return NULL;
}

struct lines {
	struct symbolizer base;
	struct symbolizer *names;
};

static inline struct error *resolve(struct symbolizer *base, uint64_t address,
				    struct symbol *ret)
{
	struct symbolizer *names = ((struct lines *)base)->names;

	return names->ops->resolve(names, address, ret);
}

static inline void destroy(struct symbolizer *base)
{
	symbolizer_destroy(((struct lines *)base)->names);
	free(base);
}

static inline struct symbolizer *wrap(struct fixture *f, struct symbolizer *names)
{
	static const struct symbolizer_ops ops = {
		.resolve = resolve,
		.find_sources = find_sources,
		.destroy = destroy,
	};
	struct lines *lines = calloc(1, sizeof(*lines));

	(void)f;
	REQUIRE(lines);
	*lines = (struct lines){.base = {.ops = &ops}, .names = names};
	return &lines->base;
}

/* Begin a program. `list` ends with a function that has neither name nor module. */
static inline void begin(struct fixture *f, const struct function *list,
			 const char *command)
{
	fixture_init(f);
	f->wrap = wrap;
	functions = list;
	free(f->snap->processes.data->command);
	f->snap->processes.data->command = strdup(command);
	f->snap->attached_ns = f->snap->time_ns - 30 * FIXTURE_NS;
	f->snap->processes.data->memory = (struct snapshot_memory){
		.vm_size_bytes = UINT64_C(1536) << 20,
		.vm_rss_bytes = UINT64_C(18) << 20,
		.vm_data_bytes = UINT64_C(64) << 20,
		.vm_hwm_bytes = UINT64_C(19) << 20,
	};
	for (; list->name || list->module; list++)
		fixture_symbol(f, list->name, list->module);
	f->snap->has_trends = true;
}

/* A return address in function number `function`. LINE: in the same function, `n` source
 * lines below. */
#define AT(function)      (FIXTURE_BASE + 0x100 * (uint64_t)(function) + 0x11)
#define LINE(function, n) (AT(function) + (n))

/* Add `count` live blocks with one call path, `bytes` in all. A slope above 0 makes the
 * path a leak suspect. */
#define HOLD(f, bytes, count, slope, ...)                                                \
	hold((f), (bytes), (count), (slope),                                             \
	     FIXTURE_STACK((f), STACK_END_COMPLETE, __VA_ARGS__))

static inline void hold(struct fixture *f, uint64_t size_bytes, uint64_t count,
			double slope, uint32_t stack)
{
	struct snapshot_block *blocks;
	struct snapshot_trend trend = {.intervals = REPORTS - 1,
				       .grew = slope > 0 ? REPORTS - 1 : 1,
				       .slope_bytes_per_s = slope,
				       .determination = slope > 0 ? 0.99 : 0.1,
				       .rise_bytes = slope > 0 ? size_bytes : 0};

	for (uint64_t i = 0; i < count; i++)
		fixture_block(f, BLOCK_HEAP, size_bytes / count, 4321, stack);
	blocks = f->snap->blocks[BLOCK_HEAP].data;
	for (size_t i = f->snap->blocks[BLOCK_HEAP].len - count, k = 1; k <= count;
	     i++, k++)
		blocks[i].time_ns = f->snap->time_ns - k * (25 * FIXTURE_NS / count);
	REQUIRE(vec_push(&f->snap->trends[BLOCK_HEAP], trend));
}

/* Add the live bytes at each report so far, which grew by `grew_by` (1 = all) to the
 * present total. */
static inline void add_moments(struct fixture *f, double grew_by)
{
	uint64_t live = 0;

	vec_foreach (block, &f->snap->blocks[BLOCK_HEAP])
		live += block->size_bytes;
	for (unsigned i = 0; i < REPORTS; i++) {
		double back = grew_by * (REPORTS - 1 - i) / REPORTS;
		struct snapshot_moment moment = {
			.time_ns = f->snap->time_ns - (REPORTS - 1 - i) * 5 * FIXTURE_NS,
			.live_bytes = {live - (uint64_t)(back * (double)live)},
			.vm_rss_bytes = UINT64_C(18) << 20,
		};

		REQUIRE(vec_push(&f->snap->moments, moment));
	}
}

/* A C server with three leaks and other live blocks. */
static inline void c_server(struct fixture *f)
{
	enum {
		MALLOC,
		CALLOC,
		STRDUP,
		ZMALLOC,
		MAIN,
		LOOP,
		READ,
		PROCESS,
		SESSION,
		LOG,
		INIT,
		TABLE,
		START,
		CONFIG
	};
	static const struct function list[] = {
		[MALLOC] = {"malloc", LIBC, NULL, 0},
		[CALLOC] = {"calloc", LIBC, NULL, 0},
		[STRDUP] = {"strdup", LIBC, NULL, 0},
		[ZMALLOC] = {"zmalloc", EXE, "/srv/app/src/zmalloc.c", 40},
		[MAIN] = {"main", EXE, "/srv/app/src/server.c", 400},
		[LOOP] = {"event_loop", EXE, "/srv/app/src/event.c", 310},
		[READ] = {"read_request", EXE, "/srv/app/src/request.c", 88},
		[PROCESS] = {"process_command", EXE, "/srv/app/src/store.c", 211},
		[SESSION] = {"open_session", EXE, "/srv/app/src/session.c", 57},
		[LOG] = {"log_line", EXE, "/srv/app/src/log.c", 12},
		[INIT] = {"init_tables", EXE, "/srv/app/src/init.c", 33},
		[TABLE] = {"load_table", EXE, "/srv/app/src/init.c", 90},
		[START] = {"__libc_start_call_main", LIBC, NULL, 0},
		[CONFIG] = {"read_config", EXE, "/srv/app/src/config.c", 20},
		{NULL, NULL, NULL, 0},
	};

	begin(f, list, "store");
	HOLD(f, 6 << 20, 1200, 150000, AT(MALLOC), AT(ZMALLOC), AT(PROCESS), AT(READ),
	     AT(LOOP), AT(MAIN), AT(START));
	HOLD(f, 2 << 20, 700, 50000, AT(STRDUP), LINE(PROCESS, 9), AT(READ), AT(LOOP),
	     AT(MAIN), AT(START));
	HOLD(f, 300000, 300, 9000, AT(CALLOC), AT(SESSION), AT(READ), AT(LOOP), AT(MAIN),
	     AT(START));
	HOLD(f, 4000, 100, 130, AT(STRDUP), AT(LOG), AT(SESSION), AT(READ), AT(LOOP),
	     AT(MAIN), AT(START));
	HOLD(f, 1 << 20, 30, 0, AT(CALLOC), AT(TABLE), AT(INIT), AT(MAIN), AT(START));
	HOLD(f, 65536, 2, 0, AT(MALLOC), AT(LOOP), AT(MAIN), AT(START));
	for (unsigned i = 0; i < 40; i++)
		HOLD(f, 100 + i, 1, 0, AT(STRDUP), AT(CONFIG), LINE(MAIN, i % 20),
		     AT(START));
	add_moments(f, 0.8);
}

/* A C++ server: one leak with many stacks, through containers and lambdas. */
static inline void cxx_server(struct fixture *f)
{
	enum {
		MALLOC,
		NEW,
		REALLOC,
		MAP,
		STRING,
		MAIN,
		RUN,
		INVOKE,
		LAMBDA,
		ORDER,
		RESUME,
		CACHE,
		START,
		THREAD
	};
	static const struct function list[] = {
		[MALLOC] = {"malloc", LIBC, NULL, 0},
		[NEW] = {"operator new(unsigned long)", CXX, NULL, 0},
		[REALLOC] =
			{"void std::vector<shop::Item, std::allocator<shop::Item> >::"
			 "_M_realloc_insert<shop::Item const&>(__gnu_cxx::__normal_"
			 "iterator<shop::Item*, std::vector<shop::Item, std::allocator"
			 "<shop::Item> > >, shop::Item const&)",
			 EXE, "/usr/include/c++/12/bits/vector.tcc", 440},
		[MAP] = {"std::map<int, shop::Item, std::less<int>, std::allocator<std::"
			 "pair<int const, shop::Item> > >::operator[](int const&)",
			 EXE, "/usr/include/c++/12/bits/stl_map.h", 500},
		[STRING] =
			{"std::__cxx11::basic_string<char, std::char_traits<char>, std::"
			 "allocator<char> >::_M_create(unsigned long&, unsigned long)",
			 CXX, NULL, 0},
		[MAIN] = {"main", EXE, "/srv/app/src/main.cc", 31},
		[RUN] = {"shop::Server::run()", EXE, "/srv/app/src/server.cc", 204},
		[INVOKE] = {"std::_Function_handler<void (shop::Request const&), shop::"
			    "Server::run()::{lambda(shop::Request const&)#1}>::_M_invoke("
			    "std::_Any_data const&, shop::Request const&)",
			    EXE, "/usr/include/c++/12/bits/std_function.h", 290},
		[LAMBDA] = {"shop::Server::run()::{lambda(shop::Request const&)#1}::"
			    "operator()(shop::Request const&) const",
			    EXE, "/srv/app/src/server.cc", 118},
		[ORDER] =
			{"void shop::Store<shop::Item, std::__cxx11::basic_string<char, "
			 "std::char_traits<char>, std::allocator<char> > >::make_order<"
			 "shop::Request>(shop::Request const&) [clone .constprop.0]",
			 EXE, "/srv/app/src/store.hh", 87},
		[RESUME] = {"shop::handle(shop::Request) [clone .actor]", EXE,
			    "/srv/app/src/handle.cc", 60},
		[CACHE] = {"shop::(anonymous namespace)::Cache::operator<<(int)", EXE,
			   "/srv/app/src/cache.cc", 15},
		[START] = {"__libc_start_call_main", LIBC, NULL, 0},
		[THREAD] = {"std::thread::_State_impl<shop::Pool>::_M_run()", EXE, NULL,
			    0},
		{NULL, NULL, NULL, 0},
	};
	const uint64_t inner[] = {AT(REALLOC), AT(MAP), AT(STRING), LINE(STRING, 4),
				  LINE(MAP, 7)};

	begin(f, list, "shop");
	for (unsigned i = 0; i < 10; i++)
		HOLD(f, 900000 + 1000 * i, 150, 15000, AT(MALLOC), AT(NEW), inner[i % 5],
		     LINE(ORDER, i % 3), AT(LAMBDA), AT(INVOKE), LINE(INVOKE, 1), AT(RUN),
		     AT(MAIN), AT(START));
	HOLD(f, 1200000, 40, 0, AT(MALLOC), AT(NEW), AT(STRING), AT(RESUME), AT(THREAD));
	HOLD(f, 700000, 1, 0, AT(MALLOC), AT(NEW), AT(CACHE), AT(RUN), AT(MAIN),
	     AT(START));
	add_moments(f, 0.9);
}

/* An interpreter: the application's own code is in an extension module. */
static inline void python(struct fixture *f)
{
	enum {
		MALLOC,
		PYMALLOC,
		LIST,
		EVAL,
		MAIN,
		START,
		MODULE,
		XML
	};
	static const struct function list[] = {
		[MALLOC] = {"malloc", LIBC, NULL, 0},
		[PYMALLOC] = {"_PyMem_RawMalloc", EXE, NULL, 0},
		[LIST] = {"PyList_New", "/usr/lib/libpython3.11.so.1.0", NULL, 0},
		[EVAL] = {"_PyEval_EvalFrameDefault", "/usr/lib/libpython3.11.so.1.0",
			  NULL, 0},
		[MAIN] = {"Py_BytesMain", "/usr/lib/libpython3.11.so.1.0", NULL, 0},
		[START] = {"__libc_start_call_main", LIBC, NULL, 0},
		[MODULE] = {"decode_frame", "/srv/app/lib/fast.cpython-311.so", NULL, 0},
		[XML] = {"xmlNewNode", "/usr/lib/libxml2.so.2", NULL, 0},
		{NULL, NULL, NULL, 0},
	};

	begin(f, list, "python3");
	HOLD(f, 500000, 500, 0, AT(MALLOC), AT(PYMALLOC), AT(LIST), AT(EVAL), AT(EVAL),
	     AT(MAIN), AT(START));
	HOLD(f, 90000, 1, 0, AT(MALLOC), AT(MODULE), AT(EVAL), AT(EVAL), AT(EVAL),
	     AT(MAIN), AT(START));
	HOLD(f, 40000, 80, 0, AT(MALLOC), AT(XML), AT(EVAL), AT(MAIN), AT(START));
	add_moments(f, 0.02);
}

/* Rust and stripped code; the third report, with losses and sampling. */
static inline void rust(struct fixture *f)
{
	enum {
		ALLOC,
		GROW,
		PUSH,
		STORE,
		CLOSURE,
		CALL,
		MAIN,
		RT,
		STRIPPED
	};
	static const char file[] = "/home/u/shop/src/store.rs";
	static const struct function list[] = {
		[ALLOC] = {"__rust_alloc", EXE, NULL, 0},
		[GROW] = {"alloc::raw_vec::RawVec<T,A>::grow_one", EXE,
			  "/rustc/9fc6/library/alloc/src/raw_vec.rs", 340},
		[PUSH] = {"alloc::vec::Vec<T,A>::push", EXE,
			  "/rustc/9fc6/library/alloc/src/vec/mod.rs", 1998},
		[STORE] = {"<shop::store::Store as shop::Put>::put::h0123456789abcdef",
			   EXE, file, 55},
		[CLOSURE] = {"shop::serve::{{closure}}", EXE, file, 140},
		[CALL] = {"core::ops::function::FnOnce::call_once{{vtable.shim}}", EXE,
			  "/rustc/9fc6/library/core/src/ops/function.rs", 250},
		[MAIN] = {"shop::main", EXE, file, 9},
		[RT] = {"std::rt::lang_start::{{closure}}", EXE,
			"/rustc/9fc6/library/std/src/rt.rs", 166},
		[STRIPPED] = {NULL, "/opt/vendor/libblob.so", NULL, 0},
		{NULL, NULL, NULL, 0},
	};

	begin(f, list, "shop-rs");
	HOLD(f, 3 << 20, 30, 0, AT(ALLOC), AT(GROW), AT(PUSH), AT(STORE), AT(CLOSURE),
	     AT(CALL), AT(MAIN), AT(RT));
	hold(f, 50000, 7, 0,
	     FIXTURE_STACK(f, STACK_END_NO_FRAME, AT(ALLOC), AT(STRIPPED),
			   LINE(STRIPPED, 9)));
	fixture_block(f, BLOCK_HEAP, 4096, 1, SNAPSHOT_NO_STACK);
	vec_foreach (trend, &f->snap->trends[BLOCK_HEAP])
		trend->intervals = 2;
	f->snap->losses[LOSS_STACKS_FULL] = 1;
	f->snap->losses[LOSS_WALKS_OVER_BUDGET] = 12345;
	f->snap->max_stacks = 65536;
	f->snap->sampling.every = 10;
}

/* Several processes, with mappings beside the heap. */
static inline void processes(struct fixture *f)
{
	static const struct function list[] = {{NULL, NULL, NULL, 0}};

	begin(f, list, "leaky");
	f->wrap = NULL;
	fixture_fill(f);
	fixture_fill_second(f);
	fixture_fill_mappings(f);
	vec_foreach (stack, &f->snap->stacks)
		for (size_t k = 0; k < 2; k++)
			REQUIRE(vec_push(&f->snap->trends[k],
					 (struct snapshot_trend){.intervals = 9}));
}

/* Very long names, and names with control characters. */
static inline void hostile(struct fixture *f)
{
	enum {
		LONG = 100000
	};
	static char long_name[LONG + 1], wide_name[3 * 400 + 1], spaces[LONG + 1];
	static const struct function list[] = {
		{"malloc", LIBC, NULL, 0},
		{long_name, EXE, long_name, 1},
		{"\x1b[31mred\x1b[0m\r\n\t\xe2\x80\xaetfel\x80", "/tmp/\x1b]0;x\a.so",
		 NULL, 0},
		{wide_name, "/tmp/\xf0\x9f\x98\x80/", NULL, 0},
		{spaces, EXE, NULL, 0},
		{"\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d", "", "\xd7\x90/\xd7\x91\x1b",
		 4294967295u},
		{NULL, NULL, NULL, 0},
	};

	memset(long_name, 'x', LONG);
	memset(spaces, ' ', LONG);
	for (size_t i = 0; i < sizeof(wide_name) - 1; i++)
		wide_name[i] = "\xe6\xbc\xa2"[i % 3];
	begin(f, list, "\x1b[2Jx\ny\"\x80");
	for (unsigned i = 1; i < 6; i++)
		HOLD(f, 5000 * i, 3, 100 * i, AT(0), AT(i), AT(1 + i % 5), AT(2), AT(3),
		     AT(4));
	add_moments(f, 0.5);
}

/* Nothing is live. */
static inline void empty(struct fixture *f)
{
	static const struct function list[] = {{NULL, NULL, NULL, 0}};

	begin(f, list, "idle");
}

static inline void young(struct fixture *f)
{
	static const struct function list[] = {{"malloc", LIBC, NULL, 0},
					       {NULL, NULL, NULL, 0}};

	begin(f, list, "young");
	HOLD(f, 100, 1, 0, AT(0));
	f->snap->blocks[BLOCK_HEAP].data->time_ns = f->snap->time_ns;
}

static const struct program {
	const char *name;
	void (*fill)(struct fixture *f);
	enum report_cause cause;
	const char *first;   /* function named in the first cause; NULL: no cause */
	const char *size;    /* the text that follows its number */
	const char *verdict; /* begin of the last line, at 80 columns */
	bool is_stored;      /* is the screen stored in brief/? */
} programs[] = {
	{"c", c_server, REPORT_INTERVAL, "process_command", " MiB/min",
	 "leaking 12.0 MiB/min, 96 % from process_command (store.c:211); +1 GiB in 1.4 h",
	 true},
	{"cxx", cxx_server, REPORT_INTERVAL, "shop::Store::make_order", " MiB/min",
	 "leaking 8.6 MiB/min, 100 % from ", true},
	{"python", python, REPORT_INTERVAL, "PyList_New", " KiB",
	 "nothing grows: 615.2 KiB live", true},
	{"rust", rust, REPORT_INTERVAL, "shop::store::Store::put", " MiB",
	 "too early: leak suspects after 2 more reports (10 s); not all was recorded",
	 true},
	{"processes", processes, REPORT_EXITED, "libblob.so+0x", " MiB",
	 "exited: 2.0 MiB live, 100 % from ", true},
	{"hostile", hostile, REPORT_STOPPED, "", "", "leaking ", false},
	{"empty", empty, REPORT_INTERVAL, NULL, NULL,
	 "nothing live that was allocated since the attach", false},
	{"young", young, REPORT_COUNT, NULL, NULL, "nothing grows: 100 B live", false},
};

#endif
