// SPDX-License-Identifier: Apache-2.0
/* Stacks of two snapshots are matched by their symbols. */
#include "check.h"

#include <stdbool.h>

#include "diff/diff.h"
#include "symbol_table.h"
#include "util/cleanup.h"

struct side {
	struct snapshot *snap;
	struct symbolizer *symbolizer;
	struct frame_cache *cache;
	struct report_history *history;
	struct report *report;
};

/* The same program, loaded at different addresses. */
static struct symbol_row rows[2][5];

static void side_init(struct side *side, unsigned which, uint64_t base)
{
	static const char *const names[][2] = {{"malloc", "/lib/libc.so.6"},
					       {"main", "/bin/app"},
					       {NULL, "/bin/stripped"},
					       {NULL, NULL},
					       {"main", "/bin/other"}};

	for (unsigned i = 0; i < 5; i++)
		rows[which][i] =
			(struct symbol_row){base + i * 0x100, base + i * 0x100 + 0x100,
					    names[i][0], names[i][1]};
	/* The library of another release has another path. */
	if (which)
		rows[which][0].module = "/opt/lib/libc.so.6";
	*side = (struct side){.snap = snapshot_create()};
	REQUIRE(side->snap && snapshot_add_process(side->snap, 10 + (int)which));
	side->snap->processes.data->command = strdup("app");
	REQUIRE(!symbolizer_table_create(rows[which], 5, &side->symbolizer));
	side->cache = frame_cache_create(side->symbolizer);
	side->history = report_history_create();
	REQUIRE(side->cache && side->history);
}

static void side_deinit(struct side *side)
{
	report_destroy(side->report);
	report_history_destroy(side->history);
	frame_cache_destroy(side->cache);
	symbolizer_destroy(side->symbolizer);
	snapshot_destroy(side->snap);
}

/* Adds a stack of two frames with one block of this class. */
static void hold_of(struct side *side, enum block_class class, uint64_t leaf,
		    uint64_t root, enum stack_end end, uint64_t size_bytes,
		    uint32_t process)
{
	struct snapshot *snap = side->snap;

	REQUIRE(vec_push(&snap->stacks, (struct snapshot_stack){
						.first_frame = (uint32_t)snap->frames.len,
						.depth = 2,
						.end = (uint8_t)end,
						.process = process}));
	REQUIRE(vec_push(&snap->frames, leaf) && vec_push(&snap->frames, root));
	REQUIRE(vec_push(&snap->blocks[class],
			 (struct snapshot_block){.size_bytes = size_bytes,
						 .stack = (uint32_t)snap->stacks.len - 1,
						 .process = process}));
}

/* Adds a stack of two frames with one block of the heap. */
static void hold(struct side *side, uint64_t leaf, uint64_t root, enum stack_end end,
		 uint64_t size_bytes, uint32_t process)
{
	hold_of(side, BLOCK_HEAP, leaf, root, end, size_bytes, process);
}

static struct report_diff *compare(struct side *old, struct side *new,
				   enum report_sort sort, uint64_t top)
{
	const struct report_options all = {.sort = sort};
	const struct report_options options = {.sort = sort, .top = top};
	struct side *sides[] = {old, new};
	struct report_diff *diff;

	for (size_t i = 0; i < 2; i++) {
		struct frame_cache *const caches[] = {sides[i]->cache, sides[i]->cache};

		report_destroy(sides[i]->report);
		REQUIRE(!report_build(sides[i]->snap, sides[i]->history, caches, &all,
				      REPORT_STOPPED, &sides[i]->report));
	}
	REQUIRE(!report_diff_create(old->report, new->report, &options, &diff));
	return diff;
}

#define A UINT64_C(0x10000)
#define B UINT64_C(0x7f0000000)

static void matched_by_names(void)
{
	_cleanup_(side_deinit) struct side old, new;

	side_init(&old, 0, A);
	side_init(&new, 1, B);
	/* Two calls in one function have the same path by name. */
	hold(&old, A + 0x10, A + 0x110, STACK_END_COMPLETE, 100, 0);
	hold(&old, A + 0x10, A + 0x120, STACK_END_COMPLETE, 50, 0);
	hold(&new, B + 0x20, B + 0x130, STACK_END_COMPLETE, 175, 0);
	/* Frames without a symbol are matched by offset. */
	hold(&old, A + 0x210, A + 0x110, STACK_END_COMPLETE, 10, 0);
	hold(&new, B + 0x210, B + 0x110, STACK_END_COMPLETE, 10, 0);
	hold(&old, A + 0x220, A + 0x110, STACK_END_COMPLETE, 7, 0);
	/* Without a module all frames match. */
	hold(&old, A + 0x310, A + 0x110, STACK_END_COMPLETE, 20, 0);
	hold(&new, B + 0x350, B + 0x110, STACK_END_COMPLETE, 20, 0);
	/* Another module, and another end. */
	hold(&new, B + 0x10, B + 0x410, STACK_END_COMPLETE, 3, 0);
	hold(&new, B + 0x10, B + 0x110, STACK_END_DEPTH, 2, 0);

	struct report_diff *diff = compare(&old, &new, REPORT_SORT_SIZE, 0);
	const struct report_diff_section *heap = &diff->sections[BLOCK_HEAP];

	CHECK_INT(diff->section_count, 1);
	CHECK_INT(heap->old.size_bytes, 187);
	CHECK_INT(heap->new.size_bytes, 210);
	CHECK_INT(heap->unchanged, 2);
	REQUIRE(heap->changed == 4 && heap->row_count == 4);
	CHECK_INT(heap->rows[0].bytes, 25);
	CHECK_INT(heap->rows[0].count, -1);
	CHECK_INT(heap->rows[0].old_bytes, 150);
	CHECK_INT(heap->rows[0].new_bytes, 175);
	CHECK_INT(heap->rows[1].bytes, -7);
	CHECK_INT(heap->rows[1].new_count, 0);
	CHECK_INT(heap->rows[2].bytes, 3);
	CHECK_INT(heap->rows[3].bytes, 2);
	CHECK_INT(heap->rows[3].row.end, STACK_END_DEPTH);
	CHECK(!heap->rows[0].command);

	/* The frames come from the new snapshot if it has the row. */
	const struct report_row *row = &heap->rows[0].row;

	REQUIRE(row->depth == 2);
	CHECK_STR(row->frames[0]->symbol, "malloc");
	CHECK_STR(row->frames[0]->module, "/opt/lib/libc.so.6");
	CHECK_STR(row->frames[1]->symbol, "main");
	CHECK_STR(heap->rows[1].row.frames[0]->module, "/bin/stripped");
	CHECK_INT(heap->rows[1].row.frames[0]->offset, 0x1f);

	/* The graph has all rows, with the larger of both sizes. */
	CHECK_INT(diff->graph.sections[BLOCK_HEAP].row_count, 6);
	CHECK_INT(row->sum.estimated_bytes, 175);
	CHECK_INT(row->sum.estimated_count, 2);
	CHECK_INT(row->estimated_growth_bytes, 25);
	report_diff_destroy(diff);
}

static void ranked_and_cut(void)
{
	_cleanup_(side_deinit) struct side old, new;

	side_init(&old, 0, A);
	side_init(&new, 1, B);
	/* One row lost 50 bytes, one got 50, one got two blocks of no bytes. */
	hold(&old, A + 0x10, A + 0x110, STACK_END_COMPLETE, 50, 0);
	hold(&new, B + 0x10, B + 0x410, STACK_END_COMPLETE, 50, 0);
	hold(&new, B + 0x210, B + 0x110, STACK_END_COMPLETE, 0, 0);
	hold(&new, B + 0x210, B + 0x120, STACK_END_COMPLETE, 0, 0);

	struct report_diff *diff = compare(&old, &new, REPORT_SORT_SIZE, 2);
	const struct report_diff_section *heap = &diff->sections[BLOCK_HEAP];

	CHECK_INT(heap->changed, 3);
	REQUIRE(heap->row_count == 2);
	CHECK_INT(heap->rows[0].bytes, 50);
	CHECK_INT(heap->rows[1].bytes, -50);
	report_diff_destroy(diff);

	diff = compare(&old, &new, REPORT_SORT_COUNT, 0);
	heap = &diff->sections[BLOCK_HEAP];
	REQUIRE(heap->row_count == 3);
	CHECK_INT(heap->rows[0].count, 2);
	CHECK_INT(heap->rows[1].count, 1);
	CHECK_INT(heap->rows[2].count, -1);
	report_diff_destroy(diff);
}

/* Several processes are matched by their commands. */
static void matched_by_command(void)
{
	_cleanup_(side_deinit) struct side old, new;
	static const char *const commands[] = {"worker", "gone"};
	struct side *sides[] = {&old, &new};

	side_init(&old, 0, A);
	side_init(&new, 1, B);
	for (size_t i = 0; i < 2; i++) {
		REQUIRE(snapshot_add_process(sides[i]->snap, 99));
		sides[i]->snap->processes.data[1].command = strdup(commands[!i]);
	}
	hold(&old, A + 0x10, A + 0x110, STACK_END_COMPLETE, 5, 0);
	hold(&new, B + 0x10, B + 0x110, STACK_END_COMPLETE, 6, 0);
	hold(&old, A + 0x10, A + 0x110, STACK_END_COMPLETE, 70, 1);
	hold(&new, B + 0x10, B + 0x110, STACK_END_COMPLETE, 800, 1);
	hold(&old, A + 0x210, A + 0x110, STACK_END_COMPLETE, 9, 0);

	struct report_diff *diff = compare(&old, &new, REPORT_SORT_SIZE, 0);
	const struct report_diff_section *heap = &diff->sections[BLOCK_HEAP];

	REQUIRE(heap->row_count == 4);
	CHECK_STR(heap->rows[0].command, "worker");
	CHECK_INT(heap->rows[0].bytes, 800);
	CHECK(heap->rows[0].row.process == &new.snap->processes.data[1]);
	CHECK_STR(heap->rows[1].command, "gone");
	CHECK_INT(heap->rows[1].bytes, -70);
	CHECK(!heap->rows[1].row.process);
	/* Lost bytes of an existing command belong to that command. */
	CHECK_INT(heap->rows[2].bytes, -9);
	CHECK(heap->rows[2].row.process == new.snap->processes.data);
	CHECK_STR(heap->rows[3].command, "app");
	CHECK_INT(heap->rows[3].bytes, 1);
	report_diff_destroy(diff);
}

/* Give symbol number `i` another file, on the old side and on the new one. */
static void set_modules(unsigned i, const char *old, const char *new)
{
	rows[0][i].module = old;
	rows[1][i].module = new;
}

static void set_build_id(struct side *side, uint64_t base, const char *path,
			 const char *build_id)
{
	REQUIRE(vec_push(&side->snap->processes.data->modules,
			 (struct snapshot_module){.start = base,
						  .end = base + 0x100,
						  .path = strdup(path),
						  .build_id = strdup(build_id)}));
}

static void check_pair(const struct report_diff *diff, const char *old, const char *new,
		       enum module_match by)
{
	const struct matched_module *pair = diff->modules.list.data;

	REQUIRE(diff->modules.list.len == 1);
	CHECK_STR(pair->old, old);
	CHECK_STR(pair->new, new);
	CHECK_INT(pair->by, by);
}

/* malloc called by main, on both sides. */
static struct report_diff *compare_one_stack(struct side *old, struct side *new)
{
	hold(old, A + 0x10, A + 0x110, STACK_END_COMPLETE, 100, 0);
	hold(new, B + 0x10, B + 0x110, STACK_END_COMPLETE, 100, 0);
	return compare(old, new, REPORT_SORT_SIZE, 0);
}

/* A file in another directory, and of another version, and a renamed one. */
static void matched_files(void)
{
	static const struct {
		const char *old, *new;
		bool has_build_id;
		int by; /* -1: they do not match */
	} cases[] = {
		{"/lib/libfoo.so.1.2", "/lib/libfoo.so.1.3", false, MATCH_VERSION},
		{"/lib/libfoo.so.1.2", "/opt/libfoo-2.so", false, MATCH_VERSION},
		{"/lib/libfoo.so.1", "/opt/libfoo.so.1", false, MATCH_PATH},
		{"/lib/libfoo.so.1", "/lib/libbar.so.1", false, -1},
		{"/lib/libfoo.so.1", "/lib/libbar.so.1", true, MATCH_BUILD_ID},
		{"/lib/[odd]", "/opt/[odd]", false, MATCH_PATH},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		_cleanup_(side_deinit) struct side old, new;
		struct report_diff *diff;

		side_init(&old, 0, A);
		side_init(&new, 1, B);
		set_modules(0, cases[i].old, cases[i].new);
		if (cases[i].has_build_id) {
			set_build_id(&old, A, cases[i].old, "abcd");
			set_build_id(&new, B, cases[i].new, "abcd");
		}
		diff = compare_one_stack(&old, &new);
		if (cases[i].by < 0) {
			CHECK_INT(diff->modules.list.len, 0);
			CHECK_INT(diff->sections[BLOCK_HEAP].changed, 2);
		} else {
			check_pair(diff, cases[i].old, cases[i].new,
				   (enum module_match)cases[i].by);
			CHECK_INT(diff->sections[BLOCK_HEAP].unchanged, 1);
		}
		report_diff_destroy(diff);
	}
}

/* A renamed program with the same functions. */
static void matched_by_functions(void)
{
	for (int is_same = 0; is_same <= 1; is_same++) {
		_cleanup_(side_deinit) struct side old, new;
		struct report_diff *diff;

		side_init(&old, 0, A);
		side_init(&new, 1, B);
		set_modules(0, "/lib/libc.so.6", "/lib/libc.so.6");
		set_modules(1, "/bin/app", "/srv/server");
		set_modules(4, "/bin/app", "/srv/server");
		rows[0][4].name = "run";
		rows[1][4].name = is_same ? "run" : "walk";
		hold(&old, A + 0x10, A + 0x410, STACK_END_COMPLETE, 70, 0);
		hold(&new, B + 0x10, B + 0x410, STACK_END_COMPLETE, 90, 0);
		diff = compare_one_stack(&old, &new);
		if (is_same) {
			check_pair(diff, "/bin/app", "/srv/server", MATCH_FUNCTIONS);
			CHECK_INT(diff->sections[BLOCK_HEAP].unchanged, 1);
			CHECK_INT(diff->sections[BLOCK_HEAP].rows[0].bytes, 20);
		} else {
			/* One function in common, such as main(), says nothing. */
			CHECK_INT(diff->modules.list.len, 0);
			CHECK_INT(diff->sections[BLOCK_HEAP].changed, 4);
		}
		report_diff_destroy(diff);
	}
}

/* Two versions at once: which one it was is not known. */
static void ambiguous(void)
{
	_cleanup_(side_deinit) struct side old, new;
	struct report_diff *diff;

	side_init(&old, 0, A);
	side_init(&new, 1, B);
	set_modules(0, "/lib/libfoo.so.1", "/lib/libfoo.so.2");
	set_modules(4, "/bin/other", "/lib/libfoo.so.3");
	hold(&new, B + 0x410, B + 0x110, STACK_END_COMPLETE, 1, 0);
	diff = compare_one_stack(&old, &new);
	CHECK_INT(diff->modules.list.len, 0);
	report_diff_destroy(diff);
}

static void a_stem_ends_before_the_version(void)
{
	CHECK_INT(diff_modules_stem_len("libfoo.so.1.2"), 6);
	CHECK_INT(diff_modules_stem_len("libfoo.so"), 6);
	CHECK_INT(diff_modules_stem_len("libfoo-2.0.so.3"), 6);
	CHECK_INT(diff_modules_stem_len("python3.11"), 6);
	CHECK_INT(diff_modules_stem_len("server"), 6);
	CHECK_INT(diff_modules_stem_len("libfoo.sober"), 12);
	CHECK_INT(diff_modules_stem_len("7"), 1);
	CHECK_INT(diff_modules_stem_len(""), 0);
}

/* Bytes per minute where bytes alone say little. */
static void rates(void)
{
	_cleanup_(side_deinit) struct side old, new;
	const uint64_t s = UINT64_C(1000000000);
	struct report_diff *diff;

	side_init(&old, 0, A);
	side_init(&new, 1, B);
	set_modules(0, "/lib/libc.so.6", "/lib/libc.so.6");
	old.snap->attached_ns = 5 * s;
	old.snap->time_ns = 65 * s;
	new.snap->attached_ns = 7 * s;
	new.snap->time_ns = 67 * s;
	diff = compare_one_stack(&old, &new);
	CHECK(!diff->is_one_run);
	CHECK_INT(report_diff_rates(diff), DIFF_RATE_NONE);
	report_diff_destroy(diff);
	/* Three times as long. */
	new.snap->time_ns = 187 * s;
	diff = compare(&old, &new, REPORT_SORT_SIZE, 0);
	CHECK_INT(report_diff_rates(diff), DIFF_RATE_EACH);
	CHECK_INT(report_diff_old_rate(diff, 600), 600);
	CHECK_INT(report_diff_new_rate(diff, 600), 200);
	report_diff_destroy(diff);
	/* The same run, two minutes later. */
	old.snap->processes.data->pid = 11;
	new.snap->attached_ns = 5 * s;
	new.snap->time_ns = 185 * s;
	diff = compare(&old, &new, REPORT_SORT_SIZE, 0);
	CHECK(diff->is_one_run);
	CHECK_INT(report_diff_rates(diff), DIFF_RATE_BETWEEN);
	CHECK_INT(report_diff_rate(diff, -600), -300);
	report_diff_destroy(diff);
}

/* Sums that do not fit are clamped to the maximum. */
static void hostile_numbers(void)
{
	_cleanup_(side_deinit) struct side old, new;

	side_init(&old, 0, A);
	side_init(&new, 1, B);
	hold(&old, A + 0x10, A + 0x110, STACK_END_COMPLETE, UINT64_MAX, 0);
	hold(&old, A + 0x10, A + 0x120, STACK_END_COMPLETE, UINT64_MAX, 0);
	hold(&new, B + 0x10, B + 0x110, STACK_END_COMPLETE, 1, 0);

	struct report_diff *diff = compare(&old, &new, REPORT_SORT_SIZE, 0);
	const struct report_diff_row *row = diff->sections[BLOCK_HEAP].rows;

	REQUIRE(diff->sections[BLOCK_HEAP].row_count == 1);
	CHECK(row->old_bytes == UINT64_MAX);
	CHECK_INT(row->bytes, -INT64_MAX);
	report_diff_destroy(diff);
}

static void set_lost(struct side *side, uint64_t bytes)
{
	side->snap->search.count = 1;
	REQUIRE(vec_push(&side->snap->unreachable,
			 (struct snapshot_unreachable){.lost = {bytes, 1},
						       .held = {bytes / 2, 1}}));
}

/* If both sides were searched, a stack with newly lost blocks has changed, also if its
 * size has not. */
static void lost_blocks(void)
{
	for (int searched = 0; searched < 2; searched++) {
		_cleanup_(side_deinit) struct side old, new;

		side_init(&old, 0, A);
		side_init(&new, 1, B);
		hold(&old, A + 0x10, A + 0x110, STACK_END_COMPLETE, 100, 0);
		hold(&new, B + 0x10, B + 0x110, STACK_END_COMPLETE, 100, 0);
		hold(&old, A + 0x10, A + 0x410, STACK_END_COMPLETE, 100, 0);
		hold(&new, B + 0x10, B + 0x410, STACK_END_COMPLETE, 100, 0);
		if (searched) {
			set_lost(&old, 0);
			set_lost(&old, 40);
		}
		set_lost(&new, 20);
		set_lost(&new, 40);

		struct report_diff *diff = compare(&old, &new, REPORT_SORT_SIZE, 0);
		const struct report_diff_section *heap = &diff->sections[BLOCK_HEAP];

		CHECK_INT(report_diff_knows_lost(diff->old), searched);
		CHECK(report_diff_knows_lost(diff->new));
		REQUIRE(heap->row_count == (size_t)searched);
		CHECK_INT(heap->unchanged, 2 - searched);
		if (searched) {
			CHECK_INT(heap->rows[0].bytes, 0);
			CHECK_INT(heap->rows[0].old_lost_bytes, 0);
			CHECK_INT(heap->rows[0].new_lost_bytes, 30);
		}
		report_diff_destroy(diff);
	}
}

/* Adds the same stack with a block of each class that the side traces. */
static void hold_classes(struct side *side, uint64_t base, uint64_t size_bytes)
{
	for (int i = 0; i < BLOCK_CLASS_COUNT; i++)
		if (snapshot_has_class(side->snap, (enum block_class)i))
			hold_of(side, (enum block_class)i, base + 0x10, base + 0x110,
				STACK_END_COMPLETE, size_bytes + (uint64_t)i, 0);
}

static void check_section(const struct report_diff *diff, size_t i,
			  enum block_class class, uint64_t old, uint64_t new)
{
	const struct report_diff_section *section = &diff->sections[i];
	const struct report_section *graph = &diff->graph.sections[i];

	CHECK_INT(section->class, class);
	CHECK_INT(section->old.size_bytes, old);
	CHECK_INT(section->new.size_bytes, new);
	REQUIRE(section->row_count == 1);
	CHECK_INT(section->rows[0].old_bytes, old);
	CHECK_INT(section->rows[0].new_bytes, new);
	CHECK_INT(graph->class, class);
	CHECK_INT(graph->listed.size_bytes, new);
	CHECK_INT(graph->row_count, 1);
}

/* As with --with-kernel: the kernel is the second section, and keeps its name. */
static void the_kernel_stays_the_kernel(void)
{
	_cleanup_(side_deinit) struct side old, new;

	side_init(&old, 0, A);
	side_init(&new, 1, B);
	set_modules(0, "/lib/libc.so.6", "/lib/libc.so.6");
	old.snap->kernel_traced = new.snap->kernel_traced = true;
	hold_classes(&old, A, 100);
	hold_classes(&new, B, 200);

	struct report_diff *diff = compare(&old, &new, REPORT_SORT_SIZE, 0);

	REQUIRE(diff->section_count == 2 && diff->graph.section_count == 2);
	check_section(diff, 0, BLOCK_HEAP, 100, 200);
	check_section(diff, 1, BLOCK_KERNEL, 100 + BLOCK_KERNEL, 200 + BLOCK_KERNEL);
	report_diff_destroy(diff);

	/* The kernel alone, as with --kernel. */
	old.snap->heap_untraced = new.snap->heap_untraced = true;
	diff = compare(&old, &new, REPORT_SORT_SIZE, 0);
	REQUIRE(diff->section_count == 1 && diff->graph.section_count == 1);
	check_section(diff, 0, BLOCK_KERNEL, 100 + BLOCK_KERNEL, 200 + BLOCK_KERNEL);
	report_diff_destroy(diff);
}

/* Each side has a class that the other has not. */
static void classes_are_not_merged(void)
{
	_cleanup_(side_deinit) struct side old, new;

	side_init(&old, 0, A);
	side_init(&new, 1, B);
	set_modules(0, "/lib/libc.so.6", "/lib/libc.so.6");
	old.snap->mappings_traced = true;
	new.snap->kernel_traced = true;
	hold_classes(&old, A, 100);
	hold_classes(&new, B, 200);

	struct report_diff *diff = compare(&old, &new, REPORT_SORT_SIZE, 0);

	REQUIRE(diff->section_count == 3 && diff->graph.section_count == 3);
	check_section(diff, 0, BLOCK_HEAP, 100, 200);
	check_section(diff, 1, BLOCK_MAPPING, 100 + BLOCK_MAPPING, 0);
	check_section(diff, 2, BLOCK_KERNEL, 0, 200 + BLOCK_KERNEL);
	report_diff_destroy(diff);
}

int main(void)
{
	RUN(matched_by_names);
	RUN(ranked_and_cut);
	RUN(matched_by_command);
	RUN(matched_files);
	RUN(matched_by_functions);
	RUN(ambiguous);
	RUN(a_stem_ends_before_the_version);
	RUN(lost_blocks);
	RUN(rates);
	RUN(hostile_numbers);
	RUN(the_kernel_stays_the_kernel);
	RUN(classes_are_not_merged);
	return check_done();
}
