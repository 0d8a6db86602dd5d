// SPDX-License-Identifier: Apache-2.0
/* The table of a small snapshot:
 *
 *   main -> parse -> store   100 bytes, 1 block
 *   main -> parse -> read    300 bytes, 2 blocks
 *   main -> serve -> store   200 bytes, 4 blocks
 */
#include "moment_made.h"

#include <stdlib.h>
#include <unistd.h>

#include "screen/ui.h"
#include "util/cleanup.h"

#define AT 0x1000

enum function {
	MAIN,
	PARSE,
	SERVE,
	STORE,
	READ,
	FUNCTIONS
};

static const char *const names[FUNCTIONS] = {"main", "parse", "serve", "store", "read"};
static const char *const other_names[FUNCTIONS] = {"main", "push", "pop", "store",
						   "malloc"};
/* Another library is where the first one was. */
static bool is_replaced;

static void add_stack(struct snapshot *snap, enum function caller, enum function leaf)
{
	const struct snapshot_stack stack = {.first_frame = (uint32_t)snap->frames.len,
					     .depth = 3};

	REQUIRE(vec_push(&snap->frames, AT + leaf * 16u));
	REQUIRE(vec_push(&snap->frames, AT + caller * 16u));
	REQUIRE(vec_push(&snap->frames, AT + MAIN * 16u));
	REQUIRE(vec_push(&snap->stacks, stack));
}

static void add_block(struct snapshot *snap, uint32_t stack, uint64_t size_bytes)
{
	const struct snapshot_block block = {
		.address = 0x7000 + 64 * snap->blocks[BLOCK_HEAP].len,
		.size_bytes = size_bytes,
		.time_ns = 2000000000,
		.stack = stack,
		.tid = 1,
	};

	REQUIRE(vec_push(&snap->blocks[BLOCK_HEAP], block));
}

static void add_names(struct snapshot *snap)
{
	for (uint64_t i = 0; i < FUNCTIONS; i++) {
		struct snapshot_name name = {.address = AT + i * 16, .offset = 4};

		REQUIRE(string_table_add(&snap->strings,
					 is_replaced ? other_names[i] : names[i],
					 &name.symbol));
		REQUIRE(string_table_add(&snap->strings,
					 is_replaced ? "/usr/lib/libother.so"
						     : "/usr/bin/program",
					 &name.module));
		REQUIRE(vec_push(&snap->names, name));
	}
}

static bool is_searched;

static void add_search(struct snapshot *snap)
{
	const struct snapshot_unreachable found[3] = {
		{.lost = {.bytes = 40, .count = 1}, .held = {.bytes = 60, .count = 1}},
		{.lost = {.bytes = 0}},
		{.lost = {.bytes = 20, .count = 1}},
	};

	snap->search.count = 1;
	for (size_t i = 0; i < 3; i++)
		REQUIRE(vec_push(&snap->unreachable, found[i]));
}

/* With `sizes` bytes in one block of each stack; 0: none. */
static struct moment *make(const uint64_t sizes[3], const unsigned counts[3])
{
	struct snapshot *snap = snapshot_create();
	struct snapshot_process *process;

	REQUIRE(snap);
	process = snapshot_add_process(snap, 77);
	REQUIRE(process);
	process->command = strdup("program");
	snap->attached_ns = 1000000000;
	snap->time_ns = UINT64_C(61000000000);
	add_stack(snap, PARSE, STORE);
	add_stack(snap, PARSE, READ);
	add_stack(snap, SERVE, STORE);
	add_names(snap);
	for (uint32_t i = 0; i < 3; i++)
		for (unsigned k = 0; k < counts[i]; k++)
			add_block(snap, i, sizes[i] / counts[i]);
	if (is_searched)
		add_search(snap);
	return moment_made(snap);
}

static const uint64_t usual_sizes[] = {100, 300, 200};
static const unsigned usual_counts[] = {1, 2, 4};

static struct ui ui;
static struct moment *moment;

static void begin(void)
{
	moment = make(usual_sizes, usual_counts);
	ui_init(&ui);
	ui_resize(&ui, 120, 40);
	REQUIRE(ui_set_moment(&ui, moment));
}

static void end(void)
{
	ui_deinit(&ui);
	moment_destroy(moment);
}

static void press(const char *keys)
{
	for (; *keys; keys++)
		CHECK_INT(ui_key(&ui, *keys), UI_NOTHING);
}

/* The names and bytes of the lines: "store 300, read 300". */
static void check_lines(const char *want)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0};

	vec_foreach (item, &ui.model.items) {
		if (text.len)
			strbuf_append(&text, ", ");
		for (uint32_t i = 0; i < item->depth; i++)
			strbuf_append_char(&text, '>');
		model_append_name(&ui.model, item, 40, true, &text);
		strbuf_appendf(&text, " %d", (int)item->numbers.bytes);
	}
	CHECK_STR(strbuf_text(&text), want);
}

static void views(void)
{
	begin();
	press("v2");
	check_lines("read 300, store 200, store 100");
	press("v4");
	check_lines("store 300, read 300");
	press("v3");
	check_lines("store 300, read 300");
	press("c");
	check_lines("main 600");
	/* Not measured in this run. */
	press("v6");
	CHECK_STR(strbuf_text(&ui.message),
		  "this run does not measure that: it needs --traffic");
	end();
}

/* What a search for unreachable blocks has found. */
static void unreachable(void)
{
	begin();
	press("v0");
	CHECK_STR(strbuf_text(&ui.message),
		  "this run does not search: it needs --unreachable");
	end();
	is_searched = true;
	begin();
	press("v0");
	/* By what is lost: 40 and 60 that it holds, then 20. */
	check_lines("store 100, store 200");
	CHECK_INT(ui.model.items.data[0].numbers.lost_bytes, 40);
	CHECK_INT(ui.model.items.data[0].numbers.held_bytes, 60);
	CHECK_INT(ui.model.items.data[1].numbers.lost_bytes, 20);
	end();
	is_searched = false;
}

static void orders(void)
{
	begin();
	press("v2s3");
	check_lines("store 200, read 300, store 100");
	press("s2");
	check_lines("read 300, store 200, store 100");
	press("v4s6");
	check_lines("store 300, read 300");
	end();
}

static void expanding(void)
{
	begin();
	press("v3e");
	check_lines("store 300, >serve 200, >parse 100, read 300");
	press("je");
	/* The only caller of a caller is expanded with it. */
	check_lines("store 300, >serve 200, >>main 200, >parse 100, read 300");
	/* From main: collapses what is above it. */
	press("jx");
	check_lines("store 300, >serve 200, >parse 100, read 300");
	CHECK_INT(ui.model.selected, 1);
	press("xx");
	check_lines("store 300, read 300");
	press("ce");
	check_lines("main 600, >parse 400, >serve 200");
	end();
}

static void filtering(void)
{
	begin();
	press("v2fSERVE\r");
	check_lines("store 200");
	CHECK_INT(ui.model.shown_count, 1);
	CHECK_INT(ui.model.path_count, 3);
	CHECK_INT(ui.model.shown_bytes, 200);
	press("f\025\r");
	check_lines("read 300, store 200, store 100");
	press("fnowhere\r");
	check_lines("");
	CHECK(!model_selected(&ui.model));
	press("jkGg e x n");
	end();
}

static void searching(void)
{
	begin();
	press("v2/STO\r");
	CHECK_INT(ui.model.selected, 1);
	press("n");
	CHECK_INT(ui.model.selected, 2);
	press("n");
	CHECK_INT(ui.model.selected, 1);
	press("N");
	CHECK_INT(ui.model.selected, 2);
	press("/no such\r");
	CHECK_STR(strbuf_text(&ui.message), "not found in this view");
	CHECK_INT(ui.model.selected, 2);
	end();
}

static void selection_stays_on_its_line(void)
{
	static const uint64_t sizes[] = {1000, 300, 200};
	struct moment *next;

	begin();
	press("v2j");
	CHECK_INT(ui.model.selected, 1);
	next = make(sizes, usual_counts);
	REQUIRE(ui_set_moment(&ui, next));
	check_lines("store 1000, read 300, store 200");
	CHECK_INT(ui.model.selected, 2);
	moment_destroy(moment);
	moment = next;
	end();
}

static void marks(void)
{
	static const uint64_t sizes[] = {0, 400, 200};
	static const unsigned counts[] = {0, 2, 4};
	struct moment *next, *marked;

	begin();
	press("v2");
	CHECK_INT(ui_key(&ui, 'm'), UI_MARK);
	marked = moment;
	REQUIRE(ui_mark(&ui, marked));
	next = make(sizes, counts);
	REQUIRE(ui_set_moment(&ui, next));
	/* In the order of the differences: +100, 0, -100. */
	check_lines("read 400, store 200, store 0");
	CHECK_INT(ui.model.items.data[0].numbers.delta_bytes, 100);
	CHECK_INT(ui.model.items.data[1].numbers.delta_bytes, 0);
	CHECK_INT(ui.model.items.data[2].numbers.delta_bytes, -100);
	CHECK(ui.model.items.data[2].is_gone);
	CHECK_INT(ui.model.gone_count, 1);
	CHECK_INT(ui.model.gone_bytes, -100);
	REQUIRE(ui_mark(&ui, NULL));
	check_lines("read 400, store 200");
	moment_destroy(marked);
	moment = next;
	end();
}

static void input(void)
{
	begin();
	press("/");
	CHECK_INT(ui.mode, UI_INPUT_SEARCH);
	/* Keys are text here; two bytes of UTF-8 are one character. */
	press("q");
	CHECK_INT(ui_key(&ui, 0xe9), UI_NOTHING);
	CHECK_STR(strbuf_text(&ui.input), "q\xc3\xa9");
	CHECK_INT(ui_key(&ui, 127), UI_NOTHING);
	CHECK_STR(strbuf_text(&ui.input), "q");
	CHECK_INT(ui_key(&ui, SCREEN_KEY_ESCAPE), UI_NOTHING);
	CHECK_INT(ui.mode, UI_TABLE);
	CHECK_INT(ui_key(&ui, 'q'), UI_QUIT);
	end();
}

static void messages(void)
{
	static const char hostile[] = "memtrace: a\x1b[2Jb\nmemtrace: second\n";

	begin();
	ui_log(&ui, hostile, sizeof(hostile) - 1);
	CHECK_STR(strbuf_text(&ui.log), "a\\x1b[2Jb\nsecond\n");
	CHECK_STR(strbuf_text(&ui.message), "second");
	for (int i = 0; i < 20000; i++)
		ui_log(&ui, "memtrace: again\n", 16);
	CHECK(ui.log.len <= UI_LOG_BYTES);
	CHECK(ui.log.len > UI_LOG_BYTES / 4);
	CHECK(!strncmp(ui.log.data, "again\n", 6));
	end();
}

static void live_keys(void)
{
	begin();
	press(" ");
	CHECK_STR(strbuf_text(&ui.message), "a snapshot does not change");
	ui.is_live = true;
	CHECK_INT(ui_key(&ui, ' '), UI_FREEZE);
	CHECK(ui.is_frozen);
	CHECK_INT(ui_key(&ui, '+'), UI_NEW_INTERVAL);
	CHECK_INT(ui.interval_ns, 500000000);
	CHECK_INT(ui_key(&ui, '-'), UI_NEW_INTERVAL);
	CHECK_INT(ui_key(&ui, '-'), UI_NEW_INTERVAL);
	CHECK_INT(ui.interval_ns, 2000000000);
	for (int i = 0; i < 100; i++)
		CHECK_INT(ui_key(&ui, '+'), UI_NEW_INTERVAL);
	CHECK(ui.interval_ns >= UI_INTERVAL_MIN_NS);
	CHECK_INT(ui_key(&ui, 'w'), UI_NOTHING);
	CHECK_INT(ui_key(&ui, 'h'), UI_WRITE_HTML);
	end();
}

static void check_row(const struct moment *of, size_t index, const char *symbol,
		      const char *module)
{
	const struct report_row *row = of->sections[0].paths.data[index].row;

	REQUIRE(row->depth == 3);
	CHECK_STR(row->frames[0]->symbol, symbol);
	CHECK_STR(row->frames[0]->module, module);
}

/* At the same addresses, in the same process, while the earlier update is still shown or
 * marked. */
static void names_follow_a_replaced_library(void)
{
	struct moment *before, *after;

	before = make(usual_sizes, usual_counts);
	is_replaced = true;
	after = make(usual_sizes, usual_counts);
	is_replaced = false;
	check_row(before, 0, "read", "/usr/bin/program");
	check_row(after, 0, "malloc", "/usr/lib/libother.so");
	CHECK_INT(moment_leaf(before->sections[0].paths.data[0].row), 0);
	CHECK_INT(moment_leaf(after->sections[0].paths.data[0].row), 1);
	moment_destroy(before);
	check_row(after, 0, "malloc", "/usr/lib/libother.so");
	before = make(usual_sizes, usual_counts);
	check_row(before, 0, "read", "/usr/bin/program");
	moment_destroy(after);
	check_row(before, 0, "read", "/usr/bin/program");
	moment_destroy(before);
}

int main(void)
{
	RUN(names_follow_a_replaced_library);
	RUN(views);
	RUN(unreachable);
	RUN(orders);
	RUN(expanding);
	RUN(filtering);
	RUN(searching);
	RUN(selection_stays_on_its_line);
	RUN(marks);
	RUN(input);
	RUN(messages);
	RUN(live_keys);
	return check_done();
}
