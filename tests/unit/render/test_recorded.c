// SPDX-License-Identifier: Apache-2.0
/* A snapshot with recorded symbols and history gives the same report as the original. */
#include "unit/render/fixture.h"

#include "report/recorded.h"

/* A symbolizer with source lines, to be recorded. */
static struct error *resolve(struct symbolizer *self, uint64_t address,
			     struct symbol *ret)
{
	(void)self;
	*ret = (struct symbol){0};
	if (address == 0x4fff)
		return NULL;
	ret->name = address == 0x1fff ? NULL : strdup("_ZN3app4mainEv");
	ret->module = strdup("/bin/app");
	ret->offset = address & 0xff;
	return NULL;
}

static struct error *find_sources(struct symbolizer *self, uint64_t address,
				  struct source_frames *ret)
{
	(void)self;
	*ret = (struct source_frames){.function_offset = 0};
	if (address != 0x2fff)
		return NULL;

	const struct source_frame frames[] = {
		{strdup("inner"), strdup("/src/a.h"), 3, 4, true},
		{strdup("_ZN3app4mainEv"), NULL, 0, 0, false},
	};

	for (size_t i = 0; i < 2; i++)
		REQUIRE(vec_push(&ret->list, frames[i]));
	return NULL;
}

static const struct symbolizer_ops ops = {.resolve = resolve,
					  .find_sources = find_sources};

static struct snapshot *three_stacks(void)
{
	static const uint64_t frames[] = {0x1000, 0x2000, 0x3000, 0x4000,
					  0x2000, 0x5000, 0};
	struct snapshot *snap = snapshot_create();

	REQUIRE(snap && snapshot_add_process(snap, 7) && snapshot_add_process(snap, 8));
	for (size_t i = 0; i < sizeof(frames) / sizeof(*frames); i++)
		REQUIRE(vec_push(&snap->frames, frames[i]));
	/* A stack with blocks, one with traffic only, one with neither, and one of a
	 * process without symbols. */
	for (uint32_t i = 0; i < 4; i++)
		REQUIRE(vec_push(&snap->stacks,
				 (struct snapshot_stack){.first_frame = i,
							 .depth = i ? 2 : 4,
							 .process = i == 3}));
	snap->stacks.data[1].first_frame = 5;
	snap->stacks.data[2].first_frame = 2;
	for (uint32_t i = 0; i < 4; i += 3)
		REQUIRE(vec_push(&snap->blocks[BLOCK_HEAP],
				 (struct snapshot_block){.size_bytes = 10,
							 .stack = i,
							 .process = i == 3}));
	REQUIRE(vec_reserve(&snap->traffic, 4));
	memset(snap->traffic.data, 0, 4 * sizeof(*snap->traffic.data));
	snap->traffic.len = 4;
	snap->traffic.data[1].allocations = 1;
	snap->has_traffic = true;
	return snap;
}

static void compare_frames(const struct frame *a, const struct frame *b)
{
	CHECK(!a->symbol == !b->symbol && (!a->symbol || !strcmp(a->symbol, b->symbol)));
	CHECK(!a->module == !b->module && (!a->module || !strcmp(a->module, b->module)));
	CHECK_INT(a->offset, b->offset);
	CHECK_INT(a->sources.list.len, b->sources.list.len);
	for (size_t i = 0; i < a->sources.list.len && i < b->sources.list.len; i++) {
		const struct source_frame *x = &a->sources.list.data[i];
		const struct source_frame *y = &b->sources.list.data[i];

		CHECK(!x->function == !y->function &&
		      (!x->function || !strcmp(x->function, y->function)));
		CHECK(!x->file == !y->file && (!x->file || !strcmp(x->file, y->file)));
		CHECK_INT(x->line, y->line);
		CHECK_INT(x->column, y->column);
		CHECK_INT(x->inlined, y->inlined);
	}
}

static void names_are_as_they_were(void)
{
	struct symbolizer original = {.ops = &ops}, *recorded = NULL, *none = NULL;
	struct frame_cache *first = frame_cache_create(&original), *second;
	struct frame_cache *const caches[] = {first, NULL};
	struct snapshot *snap = three_stacks();

	REQUIRE(first && !report_record_names(snap, caches, NULL, NULL));
	/* 0 and 0x1000 to 0x5000: each once, although 0x2000 occurs twice. */
	CHECK_INT(snap->names.len, 6);
	for (size_t i = 0; i < snap->names.len; i++)
		CHECK_INT(snap->names.data[i].address, i * 0x1000);
	/* Demangled once, not twice. */
	CHECK_STR(string_table_get(&snap->strings, snap->names.data[3].symbol),
		  "app::main()");
	REQUIRE(!report_recorded_symbolizer(snap, 0, true, &recorded));
	REQUIRE(!report_recorded_symbolizer(snap, 1, true, &none));
	CHECK(recorded && !none);
	second = frame_cache_create(recorded);
	REQUIRE(second);
	frame_cache_keep_mangled(second);
	for (uint64_t address = 0; address < 0x6000; address += 0x1000) {
		const struct frame *a, *b;

		REQUIRE(!frame_cache_get(first, address, &a));
		REQUIRE(!frame_cache_get(second, address, &b));
		compare_frames(a, b);
	}

	/* Addresses that were not recorded are unknown. */
	const struct frame *unknown;

	REQUIRE(!frame_cache_get(second, 0x2001, &unknown));
	CHECK(!unknown->symbol && !unknown->module && !unknown->offset);
	REQUIRE(!frame_cache_get(second, UINT64_MAX, &unknown));
	CHECK(!unknown->symbol);
	frame_cache_destroy(first);
	frame_cache_destroy(second);
	symbolizer_destroy(recorded);
	snapshot_destroy(snap);
}

/* As names of files by other programs can be: with a name from the lines alone, with a
 * module alone, with nothing, at the first addresses, and with several lines. */
static struct snapshot *unusual_names(void)
{
	static const struct {
		uint64_t address;
		const char *symbol, *module;
		uint64_t offset;
		uint32_t first_source, source_count;
	} rows[] = {
		{0, "zero", "/bin/app", 0, 0, 1},
		{1, "one", "/bin/app", 1, 0, 0},
		{0x10, NULL, NULL, 0, 0, 2},
		{0x20, NULL, "/bin/app", 0x120, 2, 1},
		{0x30, NULL, "/bin/app", 0x130, 0, 0},
		{0x40, NULL, NULL, 0x140, 3, 1},
		{0x50, "_ZN3app4mainEv", NULL, 0, 0, 2},
		{UINT64_MAX, "last", "/bin/app", 7, 0, 4},
	};
	struct snapshot *snap = snapshot_create();

	REQUIRE(snap && snapshot_add_process(snap, 7));
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct snapshot_name name = {.address = rows[i].address,
					     .offset = rows[i].offset,
					     .first_source = rows[i].first_source,
					     .source_count = rows[i].source_count};

		REQUIRE(string_table_add(&snap->strings, rows[i].symbol, &name.symbol) &&
			string_table_add(&snap->strings, rows[i].module, &name.module) &&
			vec_push(&snap->names, name));
	}
	for (uint32_t i = 0; i < 4; i++) {
		struct snapshot_source source = {
			.line = i, .column = i + 1, .inlined = !(i % 2)};

		/* The last one has no function and no file. */
		REQUIRE(string_table_add(&snap->strings, i < 3 ? "function" : NULL,
					 &source.function) &&
			string_table_add(&snap->strings, i < 3 ? "/src/a.c" : NULL,
					 &source.file) &&
			vec_push(&snap->sources, source));
	}
	return snap;
}

/* What is copied for each frame, without the frames that are known in advance. */
static struct symbolizer_ops copying_ops;

static void compare_ways(const struct snapshot *snap, bool with_lines, bool is_known)
{
	static const uint64_t addresses[] = {
		0,    1,    2,    0x0f, 0x10,           0x11,
		0x20, 0x30, 0x40, 0x50, UINT64_MAX - 1, UINT64_MAX};
	struct symbolizer *known = NULL, *copying = NULL;
	struct frame_cache *a, *b;
	size_t count = 0;

	REQUIRE(!report_recorded_symbolizer(snap, 0, with_lines, &known) && known);
	REQUIRE(!report_recorded_symbolizer(snap, 0, with_lines, &copying) && copying);
	(void)known->ops->known_frames(known, &count);
	/* The name with the address 0 is not among them. */
	CHECK_INT(count, is_known ? snap->names.len - 1 : 0);
	copying_ops = *copying->ops;
	copying_ops.known_frames = NULL;
	copying->ops = &copying_ops;
	a = frame_cache_create(known);
	b = frame_cache_create(copying);
	REQUIRE(a && b);
	frame_cache_keep_mangled(a);
	frame_cache_keep_mangled(b);
	for (size_t i = 0; i < sizeof(addresses) / sizeof(*addresses); i++) {
		const struct frame *x, *y;

		REQUIRE(!frame_cache_get(a, addresses[i], &x));
		REQUIRE(!frame_cache_get(b, addresses[i], &y));
		CHECK_INT(x->address, addresses[i]);
		compare_frames(x, y);
	}
	frame_cache_destroy(a);
	frame_cache_destroy(b);
	symbolizer_destroy(known);
	symbolizer_destroy(copying);
}

static void known_frames_are_the_same(void)
{
	struct snapshot *snap = unusual_names();

	compare_ways(snap, true, true);
	compare_ways(snap, false, true);
	/* Names that share their lines, as a hostile file can have, take no more memory
	 * than they are worth. */
	for (uint32_t i = 0; i < 100; i++)
		REQUIRE(vec_push(&snap->sources, snap->sources.data[i % 4]));
	vec_foreach (name, &snap->names) {
		name->first_source = 0;
		name->source_count = 100;
	}
	compare_ways(snap, true, false);
	compare_ways(snap, false, true);
	snapshot_destroy(snap);
}

static void add_module(struct snapshot *snap, size_t process, uint64_t start)
{
	struct snapshot_module module = {start, start + 0x6000, 0, strdup("/bin/app"),
					 strdup("aa")};

	REQUIRE(module.path && module.build_id &&
		vec_push(&snap->processes.data[process].modules, module));
}

/* If a process ended too soon, its symbols come from another process with the same
 * file. */
static void names_are_lent(void)
{
	struct symbolizer original = {.ops = &ops}, *recorded = NULL;
	struct frame_cache *first = frame_cache_create(&original), *second;
	struct frame_cache *const caches[] = {first, NULL};
	struct snapshot *snap = three_stacks();
	const struct frame *a, *b;

	add_module(snap, 0, 0x1000);
	add_module(snap, 1, 0x2000);
	REQUIRE(first && !report_record_names(snap, caches, NULL, NULL));
	/* One of its two addresses is in the file. */
	CHECK_INT(snap->names.len, 7);
	CHECK_INT(snap->names.data[6].process, 1);
	CHECK_INT(snap->names.data[6].address, 0x4000);
	REQUIRE(!report_recorded_symbolizer(snap, 1, true, &recorded) && recorded);
	second = frame_cache_create(recorded);
	REQUIRE(second);
	frame_cache_keep_mangled(second);
	REQUIRE(!frame_cache_get(first, 0x3000, &a));
	REQUIRE(!frame_cache_get(second, 0x4000, &b));
	compare_frames(a, b);
	frame_cache_destroy(first);
	frame_cache_destroy(second);
	symbolizer_destroy(recorded);
	snapshot_destroy(snap);
}

static void stacks_without_use_are_left_out(void)
{
	struct symbolizer original = {.ops = &ops};
	struct frame_cache *cache = frame_cache_create(&original);
	struct frame_cache *const caches[] = {cache, NULL};
	struct snapshot *snap = three_stacks();

	snap->traffic.data[1].allocations = 0;
	REQUIRE(cache && !report_record_names(snap, caches, NULL, NULL));
	CHECK_INT(snap->names.len, 4);
	snap->blocks[BLOCK_HEAP].len = 0;
	REQUIRE(!report_record_names(snap, caches, NULL, NULL));
	CHECK_INT(snap->names.len, 0);
	/* Damaged stacks do no harm. */
	snap->traffic.data[1].allocations = 1;
	snap->stacks.data[1].first_frame = 6;
	REQUIRE(!report_record_names(snap, caches, NULL, NULL));
	CHECK_INT(snap->names.len, 0);
	frame_cache_destroy(cache);
	snapshot_destroy(snap);
}

static char *render(const struct report *report)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	REQUIRE(out && !renderer_find("json")->render(report, out) && !fclose(out));
	return text;
}

/* The second report of a run, with growth since the first. */
static void history_is_as_it_was(void)
{
	const struct report_options options = {.older_ns = 1};
	_cleanup_(fixture_deinit) struct fixture f;
	struct report_history *history = NULL;
	struct report *second, *replayed;

	fixture_init(&f);
	fixture_fill(&f);
	fixture_fill_second(&f);
	fixture_fill_mappings(&f);
	fixture_report(&f);
	f.snap->time_ns += FIXTURE_NS;
	f.snap->totals[BLOCK_HEAP].allocations += 1000;
	fixture_block(&f, BLOCK_HEAP, 4000, 4321, 0);
	f.snap->blocks[BLOCK_HEAP].data[4].size_bytes = 100;
	f.snap->blocks[BLOCK_HEAP].data[6].size_bytes = 5;
	f.snap->sampling.every = 3;
	REQUIRE(!report_record_before(f.snap, f.history, REPORT_EXITED));
	CHECK_INT(report_recorded_cause(f.snap), REPORT_EXITED);
	REQUIRE(!report_build(f.snap, f.history, f.frames, &options, REPORT_EXITED,
			      &second));
	REQUIRE(!report_recorded_history(f.snap, &history));
	REQUIRE(!report_build(f.snap, history, f.frames, &options, REPORT_EXITED,
			      &replayed));

	_cleanup_(freep) char *a = render(second), *b = render(replayed);

	CHECK_CONTAINS(a, "\"sequence\":2,\"cause\":\"exited\"");
	CHECK_CONTAINS(a, "\"growth_bytes\":4000,");
	CHECK_CONTAINS(a, "\"growth_bytes\":-1048476,");
	CHECK_CONTAINS(a, "\"growth_bytes\":-2,");
	CHECK_STR(b, a);
	report_destroy(second);
	report_destroy(replayed);
	report_history_destroy(history);
}

static void unknown_causes_are_final(void)
{
	struct snapshot *snap = snapshot_create();

	REQUIRE(snap);
	CHECK_INT(report_recorded_cause(snap), REPORT_STOPPED);
	snap->cause = strdup("of a later version");
	CHECK_INT(report_recorded_cause(snap), REPORT_STOPPED);
	snapshot_destroy(snap);
}

int main(void)
{
	RUN(names_are_as_they_were);
	RUN(known_frames_are_the_same);
	RUN(names_are_lent);
	RUN(stacks_without_use_are_left_out);
	RUN(history_is_as_it_was);
	RUN(unknown_causes_are_final);
	return check_done();
}
