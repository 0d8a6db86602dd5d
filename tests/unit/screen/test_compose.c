// SPDX-License-Identifier: Apache-2.0
/* Screens of a snapshot whose names are hostile. */
#include "moment_made.h"

#include <stdlib.h>
#include <unistd.h>

#include "screen/compose.h"
#include "util/cleanup.h"

#define ESCAPE   "\x1b[2J\x1b]0;x\x07"
#define REORDER  "\xe2\x80\xae"
#define BAD_UTF8 "\xc3\x28\xff\xf5"
#define CONTROLS "a\nb\tc\r\x7f\xc2\x9b"

static const char *const hostile[] = {ESCAPE "f", REORDER "g", BAD_UTF8 "h", CONTROLS};

#define NAMES (sizeof(hostile) / sizeof(*hostile))

static void add_name(struct snapshot *snap, size_t i)
{
	struct snapshot_name name = {.address = 0x1000 + i * 16, .offset = 4};
	struct snapshot_source source = {.line = 7};

	REQUIRE(string_table_add(&snap->strings, hostile[i], &name.symbol));
	REQUIRE(string_table_add(&snap->strings, "/tmp/" ESCAPE REORDER, &name.module));
	REQUIRE(string_table_add(&snap->strings, "/tmp/" CONTROLS ".c", &source.file));
	source.function = name.symbol;
	name.first_source = (uint32_t)snap->sources.len;
	name.source_count = 1;
	REQUIRE(vec_push(&snap->sources, source) && vec_push(&snap->names, name));
}

/* A stack for each name, of this and all other functions. */
static void add_stacks(struct snapshot *snap)
{
	for (uint32_t i = 0; i < NAMES; i++) {
		const struct snapshot_stack stack = {
			.first_frame = (uint32_t)snap->frames.len, .depth = NAMES};
		const struct snapshot_block block = {.address = 0x7000 + 64 * i,
						     .size_bytes = 100 + i,
						     .time_ns = 2000000000,
						     .stack = i,
						     .tid = 5};

		for (uint32_t k = 0; k < NAMES; k++)
			REQUIRE(vec_push(&snap->frames,
					 UINT64_C(0x1000) + (i + k) % NAMES * 16));
		REQUIRE(vec_push(&snap->stacks, stack));
		REQUIRE(vec_push(&snap->blocks[BLOCK_HEAP], block));
		REQUIRE(vec_push(&snap->traffic,
				 (struct snapshot_traffic){.allocations = 1}));
		add_name(snap, i);
	}
}

static struct moment *make(void)
{
	struct snapshot *snap = snapshot_create();
	struct snapshot_process *process;
	struct snapshot_thread thread = {.tid = 5, .allocations = 4};

	REQUIRE(snap);
	process = snapshot_add_process(snap, 77);
	REQUIRE(process);
	process->command = strdup(ESCAPE CONTROLS);
	process->executable = strdup("/tmp/" ESCAPE);
	thread.name = strdup(ESCAPE REORDER);
	REQUIRE(vec_push(&snap->threads, thread));
	snap->attached_ns = 1000000000;
	snap->time_ns = UINT64_C(61000000000);
	snap->has_traffic = true;
	add_stacks(snap);
	return moment_made(snap);
}

/* Valid UTF-8 without control characters and U+202E, and lines as wide as the screen at
 * most. */
static void check_screen(struct ui *ui)
{
	_cleanup_(canvas_deinit) struct canvas canvas = {.columns = 0};
	_cleanup_(strbuf_deinit) struct strbuf text = {0};
	unsigned width = 0, lines = 0;

	compose(ui, &canvas);
	CHECK(!canvas.texts.failed);
	canvas_append_text(&canvas, &text);
	REQUIRE(text.len);
	for (const unsigned char *c = (const unsigned char *)text.data; *c; c++) {
		if (*c == '\n') {
			CHECK(width <= ui->columns);
			width = 0;
			lines++;
			continue;
		}
		width += (*c & 0xc0) != 0x80;
		check_state.checks++;
		if (*c < ' ' || *c == 0x7f || (*c == 0xc2 && c[1] < 0xa0))
			CHECK_FAIL("a control character 0x%02x", *c);
	}
	CHECK_INT(lines, ui->lines);
	CHECK(!strstr(text.data, REORDER));
	CHECK(!memmem(text.data, text.len, BAD_UTF8, 2));
}

static void hostile_names(void)
{
	static const char *const keys[] = {"",     "v2", "v3", "e",     "jc", "v4", "v5",
					   "v6",   "v7", "v8", "v9",    "?",  "x",  "v2m",
					   "fh\r", "l",  "x",  "/\xff", "\r"};
	static const unsigned sizes[][2] = {{60, 16}, {80, 24}, {200, 60}, {1, 1}};

	for (size_t k = 0; k < 4; k++) {
		struct moment *moment = make();
		struct ui ui;

		ui_init(&ui);
		ui.utf8 = k != 1;
		ui.source = "/tmp/" ESCAPE;
		ui_resize(&ui, sizes[k][0], sizes[k][1]);
		check_screen(&ui);
		REQUIRE(ui_set_moment(&ui, moment));
		ui_log(&ui, ESCAPE CONTROLS "\n", strlen(ESCAPE CONTROLS "\n"));
		for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
			for (const char *key = keys[i]; *key; key++)
				if (ui_key(&ui, (unsigned char)*key) == UI_MARK)
					REQUIRE(ui_mark(&ui, moment));
			check_screen(&ui);
		}
		ui_deinit(&ui);
		moment_destroy(moment);
	}
}

/* Any keys and clicks, in any order. */
static void random_keys(void)
{
	static const char keys[] = "jkgGnN/fsvexcJKm wl?h+-\r\t\x1b"
				   "123456789q\x02\x06\x7f";
	struct moment *moment = make();
	uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
	struct ui ui;

	ui_init(&ui);
	ui_resize(&ui, 80, 24);
	REQUIRE(ui_set_moment(&ui, moment));
	for (int i = 0; i < 20000; i++) {
		enum ui_result result;

		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		if (state % 16 == 0)
			ui_resize(&ui, 1 + (unsigned)(state >> 8) % 200,
				  1 + (unsigned)(state >> 16) % 60);
		result = state % 5 ? ui_key(&ui, keys[(state >> 24) % (sizeof(keys) - 1)])
				   : ui_click(&ui, (unsigned)(state >> 32) % 90,
					      (unsigned)(state >> 40) % 30, state >> 63);
		if (result == UI_MARK)
			REQUIRE(ui_mark(&ui, ui.model.marked ? NULL : moment));
		if (i % 16 == 0)
			check_screen(&ui);
		CHECK(!ui.model.items.len || ui.model.selected < ui.model.items.len);
	}
	ui_deinit(&ui);
	moment_destroy(moment);
}

int main(void)
{
	RUN(hostile_names);
	RUN(random_keys);
	return check_done();
}
