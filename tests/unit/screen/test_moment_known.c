// SPDX-License-Identifier: Apache-2.0
/* A moment that takes frames and causes from an earlier one is the same as one that is
 * made from nothing, whatever has changed between the two. */
#include "check.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "screen/compose.h"
#include "screen/loader.h"
#include "snapshot/file.h"
#include "util/cleanup.h"

#define FUNCTIONS 40
#define STACKS    60
#define DEPTH     6
#define CODE_AT   UINT64_C(0x10000)
#define CODE_SIZE UINT64_C(0x1000) /* of each of the two modules */
#define NONE      UINT32_MAX

/* What a snapshot has. */
struct state {
	const char *what;
	bool is_shared;   /* a moment of it uses the base */
	uint32_t epoch;   /* changes the sizes of blocks */
	uint32_t more;    /* new stacks */
	uint32_t gone;    /* a stack without blocks, or NONE */
	uint32_t late;    /* a function without a name, or NONE */
	uint32_t renamed; /* a function with another name, or NONE */
	uint32_t other;   /* a stack with other frames, or NONE */
	bool no_library;  /* the second module was unloaded */
	bool has_event;   /* another process has been traced, too */
	bool has_string;  /* the names begin with another string */
};

static const struct state states[] = {
	{"the first one", false, 0, 0, NONE, NONE, NONE, NONE, 0, 0, 0},
	{"nothing new", true, 0, 0, NONE, NONE, NONE, NONE, 0, 0, 0},
	{"other sizes", true, 1, 0, NONE, NONE, NONE, NONE, 0, 0, 0},
	{"new stacks", true, 2, 3, NONE, NONE, NONE, NONE, 0, 0, 0},
	{"a stack holds nothing", true, 3, 3, 7, NONE, NONE, NONE, 0, 0, 0},
	{"it holds something again", true, 4, 4, NONE, NONE, NONE, NONE, 0, 0, 0},
	{"other strings", true, 5, 4, NONE, NONE, NONE, NONE, 0, 0, 1},
	{"a stack has other frames", true, 6, 4, NONE, NONE, NONE, 9, 0, 0, 0},
	{"a function was renamed", false, 7, 4, NONE, NONE, 5, NONE, 0, 0, 0},
	{"a name is missing", false, 8, 4, NONE, 6, NONE, NONE, 0, 0, 0},
	{"it becomes known", false, 9, 4, NONE, NONE, NONE, NONE, 0, 0, 0},
	{"a library was unloaded", false, 10, 4, NONE, NONE, NONE, NONE, 1, 0, 0},
	{"nothing new again", true, 10, 4, NONE, NONE, NONE, NONE, 1, 0, 0},
	{"another process", false, 11, 4, NONE, NONE, NONE, NONE, 0, 1, 0},
	{"many new stacks", true, 12, 400, 3, NONE, NONE, NONE, 0, 1, 0},
	{"one more stack", false, 13, 401, 3, NONE, NONE, NONE, 0, 1, 0},
};

#define STATES (sizeof(states) / sizeof(*states))

/* --- snapshots ---------------------------------------------------------------------- */

static uint64_t scramble(uint64_t x)
{
	x = (x + 1) * UINT64_C(0x9e3779b97f4a7c15);
	return x ^ x >> 31;
}

static uint64_t address_of(uint64_t function)
{
	return CODE_AT + function % 2 * CODE_SIZE + 16 * (function + 1);
}

static void add_modules(struct snapshot_process *process, const struct state *state)
{
	for (uint64_t i = 0; i < (state->no_library ? 1 : 2); i++) {
		struct snapshot_module module = {
			.start = CODE_AT + i * CODE_SIZE,
			.end = CODE_AT + (i + 1) * CODE_SIZE,
			.path = strdup(i ? "/usr/lib/libx.so" : "/usr/bin/program"),
			.build_id = strdup(i ? "abcd" : "0123"),
		};

		REQUIRE(vec_push(&process->modules, module));
	}
}

/* In the order of addresses: first all of the program, then of the library. */
static void add_names(struct snapshot *snap, const struct state *state, uint32_t process)
{
	for (uint64_t k = 0; k < FUNCTIONS; k++) {
		uint64_t i = k < FUNCTIONS / 2 ? 2 * k : 2 * (k - FUNCTIONS / 2) + 1;
		struct snapshot_name name = {
			.process = process,
			.address = address_of(i),
			.offset = 4,
			.first_source = (uint32_t)snap->sources.len,
			.source_count = i % 3 ? 1 : 2,
		};
		struct snapshot_source source = {.line = (uint32_t)i + 1,
						 .inlined = true};
		char text[32];

		if (i == state->late || (state->no_library && i % 2))
			continue;
		/* Functions 8n and 8n + 4 are one. */
		snprintf(text, sizeof(text), i == state->renamed ? "other_%d" : "do_%d",
			 (int)(i % 8 == 4 ? i - 4 : i));
		REQUIRE(string_table_add(&snap->strings, text, &name.symbol));
		REQUIRE(string_table_add(&snap->strings,
					 i % 2 ? "/usr/lib/libx.so" : "/usr/bin/program",
					 &name.module));
		REQUIRE(string_table_add(&snap->strings, "x.c", &source.file));
		REQUIRE(string_table_add(&snap->strings, "inlined", &source.function));
		if (name.source_count == 2)
			REQUIRE(vec_push(&snap->sources, source));
		source.function = name.symbol;
		source.inlined = false;
		REQUIRE(vec_push(&snap->sources, source) && vec_push(&snap->names, name));
	}
}

static void add_stack(struct snapshot *snap, const struct state *state, uint32_t i)
{
	struct snapshot_stack stack = {
		.first_frame = (uint32_t)snap->frames.len,
		.depth = (uint16_t)(1 + i % DEPTH),
		.gap = i % 11 == 10 ? 2 : 0,
		.end = i % 7 ? STACK_END_COMPLETE : STACK_END_DEPTH,
		.process = state->has_event && i % 5 == 4,
	};
	uint64_t from = i == state->other ? i + 1000 : i;

	for (uint64_t k = 0; k < stack.depth; k++)
		REQUIRE(vec_push(&snap->frames,
				 address_of(scramble(from / 2 * 8 + k) % FUNCTIONS)));
	stack.gap = stack.gap < stack.depth ? stack.gap : 0;
	REQUIRE(vec_push(&snap->stacks, stack));
}

static void add_blocks(struct snapshot *snap, const struct state *state, uint32_t i)
{
	uint64_t count = i == state->gone ? 0 : 1 + scramble(i) % 4;

	for (uint64_t k = 0; k < count; k++) {
		const struct snapshot_block block = {
			.address = 0x700000 + 64 * snap->blocks[BLOCK_HEAP].len,
			.size_bytes = 16 + scramble(i * 1000 + state->epoch) % 5000,
			.time_ns = 2000000000 + i,
			.stack = i,
			.tid = 5,
			.process = snap->stacks.data[i].process,
		};

		REQUIRE(vec_push(&snap->blocks[BLOCK_HEAP], block));
	}
}

static void add_measures(struct snapshot *snap, const struct state *state, uint32_t i)
{
	bool is_suspect = (i + state->epoch) % 9 == 0;
	const struct snapshot_traffic traffic = {
		.allocations = 10 + i, .allocated_bytes = 90000, .frees = 5};
	const struct snapshot_trend trend = {
		.intervals = 6,
		.grew = is_suspect ? 6 : 1,
		.slope_bytes_per_s = is_suspect ? 1000 + i : 0,
		.determination = is_suspect ? 0.99 : 0,
		.rise_bytes = is_suspect ? 10000 : 0,
	};

	REQUIRE(vec_push(&snap->traffic, traffic));
	REQUIRE(vec_push(&snap->trends[BLOCK_HEAP], trend));
}

static struct snapshot *make_snapshot(const struct state *state)
{
	struct snapshot *snap = snapshot_create();
	uint32_t index;

	REQUIRE(snap);
	for (int i = 0; i < (state->has_event ? 2 : 1); i++) {
		struct snapshot_process *process = snapshot_add_process(snap, 77 + i);

		REQUIRE(process);
		process->command = strdup("program");
		process->executable = strdup("/usr/bin/program");
		add_modules(process, state);
	}
	snap->attached_ns = 1000000000;
	snap->time_ns = UINT64_C(61000000000) + state->epoch * UINT64_C(1000000000);
	snap->has_traffic = snap->has_trends = true;
	if (state->has_string)
		REQUIRE(string_table_add(&snap->strings, "new", &index));
	for (uint32_t i = 0; i < snap->processes.len; i++)
		add_names(snap, state, i);
	for (uint32_t i = 0; i < STACKS + state->more; i++) {
		add_stack(snap, state, i);
		add_blocks(snap, state, i);
		add_measures(snap, state, i);
	}
	return snap;
}

static struct snapshot_file make_file(const struct state *state)
{
	struct snapshot_file file = {
		.option = "--live", .path = "test", .is_quick = true};
	struct snapshot *snap = make_snapshot(state);
	FILE *out = tmpfile();

	REQUIRE(out);
	REQUIRE(!snapshot_write_quickly(snap, out));
	snapshot_destroy(snap);
	REQUIRE(!fflush(out));
	file.size_bytes = (uint64_t)ftell(out);
	rewind(out);
	file.in = out;
	return file;
}

static const struct report_options options = {.color = false};

static struct moment *make(const struct state *state, struct moment *base)
{
	struct snapshot_file file = make_file(state);
	struct moment_options how = {
		.report = &options,
		.with_lines = true,
		/* The other one finds them when a call tree is shown. */
		.with_steps = base,
		.base = base,
	};
	struct moment *moment;

	REQUIRE(!moment_create(&file, &how, &moment));
	return moment;
}

/* --- comparison --------------------------------------------------------------------- */

static void check_text(const char *a, const char *b)
{
	CHECK_STR(a ? a : "none", b ? b : "none");
}

static void check_paths(const struct moment *a, const struct moment *b)
{
	const struct moment_section *x = &a->sections[0], *y = &b->sections[0];

	CHECK_INT(x->paths.len, y->paths.len);
	CHECK_INT(x->causes->count, y->causes->count);
	CHECK_INT(x->causes->suspect_count, y->causes->suspect_count);
	for (size_t i = 0; i < x->paths.len && i < y->paths.len; i++) {
		const struct report_row *r = x->paths.data[i].row;
		const struct report_row *s = y->paths.data[i].row;

		CHECK_INT(x->paths.data[i].key, y->paths.data[i].key);
		CHECK_INT(r->stack, s->stack);
		CHECK_INT(r->depth, s->depth);
		for (size_t k = 0; k < r->depth && k < s->depth; k++) {
			check_text(r->frames[k]->symbol, s->frames[k]->symbol);
			check_text(r->frames[k]->module, s->frames[k]->module);
			check_text(r->frames[k]->build_id, s->frames[k]->build_id);
			CHECK_INT(r->frames[k]->offset, s->frames[k]->offset);
			CHECK_INT(r->frames[k]->line, s->frames[k]->line);
			CHECK(r->frames[k]->index < a->report->frame_count);
		}
	}
	for (size_t i = 0; i < x->causes->count && i < y->causes->count; i++) {
		const struct cause *c = &x->causes->list[i], *d = &y->causes->list[i];

		CHECK_INT(c->part_count, d->part_count);
		for (size_t k = 0; k < c->part_count && k < d->part_count; k++) {
			CHECK_INT(c->parts[k].row->stack, d->parts[k].row->stack);
			CHECK_INT(c->parts[k].named_by, d->parts[k].named_by);
		}
	}
}

static void check_steps(struct moment *a, struct moment *b)
{
	REQUIRE(moment_find_steps(a, 0) && moment_find_steps(b, 0));
	for (size_t i = 0; i < a->sections[0].paths.len; i++) {
		const struct moment_path *x = &a->sections[0].paths.data[i];
		const struct moment_path *y = &b->sections[0].paths.data[i];

		CHECK_INT(x->step_count, y->step_count);
		for (uint32_t k = 0; k < x->step_count && k < y->step_count; k++) {
			uint32_t of_a = a->sections[0].steps.data[x->first_step + k];
			uint32_t of_b = b->sections[0].steps.data[y->first_step + k];

			CHECK_INT(moment_group_key(a, of_a), moment_group_key(b, of_b));
		}
	}
}

/* Press the same keys; the two screens must be the same. */
static void check_screens(struct ui *a, struct ui *b, const char *keys)
{
	_cleanup_(canvas_deinit) struct canvas canvas_a = {.columns = 0};
	_cleanup_(canvas_deinit) struct canvas canvas_b = {.columns = 0};
	_cleanup_(strbuf_deinit) struct strbuf text_a = {0}, text_b = {0};

	for (; *keys; keys++)
		CHECK_INT(ui_key(a, *keys), ui_key(b, *keys));
	compose(a, &canvas_a);
	compose(b, &canvas_b);
	canvas_append_text(&canvas_a, &text_a);
	canvas_append_text(&canvas_b, &text_b);
	CHECK_STR(strbuf_text(&text_a), strbuf_text(&text_b));
	CHECK_INT(a->model.items.len, b->model.items.len);
}

static void init_ui(struct ui *ui)
{
	ui_init(ui);
	ui->utf8 = true;
	ui_resize(ui, 120, 40);
}

/* Keep the base that the loader would keep. */
static void choose_base(struct moment **base, struct moment *moment)
{
	if (moment->base && !moment->is_apart)
		return;
	moment_release(*base);
	*base = moment->base ? NULL : moment_keep(moment);
}

static void changes(void)
{
	static const char *const keys[] = {
		"v1", "v2", "s2", "v3",      "e",  "jje",     "v4",   "c", "v5",
		"v6", "v1", "G",  "fdo_1\r", "v2", "f\025\r", "/x\r", "n", "v1"};
	struct moment *made[STATES], *fresh[STATES], *base = NULL;
	struct ui a, b;

	init_ui(&a);
	init_ui(&b);
	for (size_t i = 0; i < STATES; i++) {
		made[i] = make(&states[i], base);
		fresh[i] = make(&states[i], NULL);
		if (!!made[i]->base != states[i].is_shared)
			CHECK_FAIL("%s: %s base", states[i].what,
				   made[i]->base ? "has a" : "has no");
		choose_base(&base, made[i]);
		check_paths(made[i], fresh[i]);
		check_steps(made[i], fresh[i]);
		REQUIRE(ui_set_moment(&a, made[i]) && ui_set_moment(&b, fresh[i]));
		if (i == 2 || i == 8)
			REQUIRE(ui_mark(&a, made[i]) && ui_mark(&b, fresh[i]));
		for (size_t k = 0; k < sizeof(keys) / sizeof(*keys); k++)
			check_screens(&a, &b, keys[k]);
		/* As the screen does, which keeps the marked one. */
		if (i && i - 1 != 2 && i - 1 != 8) {
			moment_destroy(made[i - 1]);
			moment_destroy(fresh[i - 1]);
		}
	}
	ui_deinit(&a);
	ui_deinit(&b);
	for (size_t i = 2; i < STATES; i++) {
		if (i == 2 || i == 8 || i + 1 == STATES) {
			moment_destroy(made[i]);
			moment_destroy(fresh[i]);
		}
	}
	moment_release(base);
}

/* Wait for the next moment, and press keys meanwhile. */
static struct moment *take_next(struct loader *loader, struct ui *ui)
{
	struct pollfd ready = {.fd = loader_fd(loader), .events = POLLIN};
	_cleanup_(canvas_deinit) struct canvas canvas = {.columns = 0};
	struct loader_result result;

	while (poll(&ready, 1, 0) <= 0) {
		if (!ui->model.moment)
			continue;
		(void)ui_key(ui, 'j');
		compose(ui, &canvas);
	}
	REQUIRE(loader_take(loader, &result) && !result.err && result.moment);
	return result.moment;
}

/* As a running screen does, which shows and ends moments while the next one is made. */
static void by_the_loader(void)
{
	const struct moment_options how = {.report = &options, .with_lines = true};
	const struct options run = {.live = true};
	struct moment *shown = NULL, *marked = NULL;
	struct loader *loader;
	struct ui ui, other;

	init_ui(&ui);
	init_ui(&other);
	REQUIRE(!loader_start(&how, &run, NULL, &loader));
	for (size_t i = 0; i < STATES; i++) {
		struct snapshot_file file = make_file(&states[i]);
		struct moment *next, *fresh = make(&states[i], NULL);

		loader_load(loader, &file, i > 4);
		next = take_next(loader, &ui);
		REQUIRE(ui_set_moment(&ui, next) && ui_set_moment(&other, fresh));
		check_paths(next, fresh);
		if (i == 2)
			REQUIRE(ui_mark(&ui, marked = next));
		if (i == 8) {
			REQUIRE(ui_mark(&ui, NULL));
			moment_destroy(marked);
			marked = NULL;
		}
		if (!marked) {
			model_select(&ui.model, 0);
			model_select(&other.model, 0);
			check_screens(&ui, &other, i % 2 ? "v3" : "v1");
		}
		if (shown != marked)
			moment_destroy(shown);
		moment_destroy(fresh);
		shown = next;
	}
	ui_deinit(&ui);
	ui_deinit(&other);
	moment_destroy(shown);
	loader_stop(loader);
}

int main(void)
{
	RUN(by_the_loader);
	RUN(changes);
	return check_done();
}
