// SPDX-License-Identifier: Apache-2.0
/*
 * Each case makes a snapshot, a report, and from it text and JSON, which must equal
 * NAME.txt and NAME.json byte for byte. With a directory as argument the outputs are
 * written there instead, to be read and then copied here.
 */
#include "check.h"

#include <jansson.h>
#include <regex.h>
#include <stdbool.h>
#include <time.h>

#include "render/renderer.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct symbolizer *, symbolizer_destroy);
DEFINE_CLEANUP(struct frame_cache *, frame_cache_destroy);
DEFINE_CLEANUP(struct report_history *, report_history_destroy);

#define SECOND UINT64_C(1000000000)
#define MS     UINT64_C(1000000)

/* 2026-01-02 03:04:05 UTC */
#define WALL_NS (UINT64_C(1767323045) * SECOND + 123456789)

/* Code of the imagined target; frames are return addresses inside it. */
#define MALLOC_AT   UINT64_C(0x7f0000081000)
#define INSERT_AT   UINT64_C(0x401100)
#define LOOP_AT     UINT64_C(0x401000)
#define STRIPPED_AT UINT64_C(0x7f0000200000)
#define NOWHERE_AT  UINT64_C(0xdead0000)
#define HOSTILE_AT  UINT64_C(0x500000)

static char long_name[5001];

static struct symbol_row rows[] = {
	{LOOP_AT, LOOP_AT + 0x100, "main_loop", "/srv/app/bin/leaky"},
	{INSERT_AT, INSERT_AT + 0x100, "Cache::insert(std::string const&)",
	 "/srv/app/bin/leaky"},
	{HOSTILE_AT, HOSTILE_AT + 0x10, "\x1b[31mred\x1b[0m\r\n\tnew\"line\\",
	 "/tmp/evil\ndir/\x1b]0;title\a.so"},
	{HOSTILE_AT + 0x10, HOSTILE_AT + 0x20, "bad \xff\xc3\x28 good \xc3\xa9",
	 "/tmp/\xf0\x28\x8c\x28"},
	{HOSTILE_AT + 0x20, HOSTILE_AT + 0x30, long_name, "/tmp/long/"},
	{HOSTILE_AT + 0x30, HOSTILE_AT + 0x40, NULL, "[vdso]\x7f"},
	{MALLOC_AT, MALLOC_AT + 0x400, "malloc", "/usr/lib/libc.so.6"},
	{STRIPPED_AT, STRIPPED_AT + 0x10000, NULL, "/opt/vendor/libblob.so"},
};

static void add_module(struct snapshot *snap, uint64_t start, uint64_t end,
		       const char *path, const char *build_id)
{
	REQUIRE(vec_push(&snap->processes.data[0].modules,
			 (struct snapshot_module){
				 .start = start,
				 .end = end,
				 .path = strdup(path),
				 .build_id = build_id ? strdup(build_id) : NULL,
			 }));
}

static uint32_t add_stack(struct snapshot *snap, enum stack_end end, size_t depth,
			  const uint64_t *frames)
{
	struct snapshot_stack stack = {
		.first_frame = (uint32_t)snap->frames.len,
		.depth = (uint16_t)depth,
		.end = (uint8_t)end,
	};

	for (size_t i = 0; i < depth; i++)
		REQUIRE(vec_push(&snap->frames, frames[i]));
	REQUIRE(vec_push(&snap->stacks, stack));
	return (uint32_t)snap->stacks.len - 1;
}

static void add_block(struct snapshot *snap, enum block_class class, uint64_t address,
		      uint64_t size_bytes, uint64_t age_ns, uint32_t stack)
{
	REQUIRE(vec_push(&snap->blocks[class], (struct snapshot_block){
						       .address = address,
						       .size_bytes = size_bytes,
						       .time_ns = snap->time_ns - age_ns,
						       .stack = stack,
						       .tid = 4321 + stack % 7,
					       }));
}

/* A target that was attached `elapsed_ns` ago, without any blocks. */
static struct snapshot *empty_snapshot(uint64_t elapsed_ns)
{
	struct snapshot *snap = snapshot_create();

	REQUIRE(snap);

	struct snapshot_process *process = snapshot_add_process(snap, 4321);

	REQUIRE(process);
	process->command = strdup("leaky");
	process->executable = strdup("/srv/app/bin/leaky");
	process->memory = (struct snapshot_memory){
		.vm_size_bytes = 1536 * 1024,
		.vm_rss_bytes = 800 * 1024,
		.vm_data_bytes = 512 * 1024,
		.vm_hwm_bytes = 900 * 1024,
	};
	snap->wall_ns = WALL_NS;
	snap->attached_ns = 1000 * SECOND;
	snap->time_ns = snap->attached_ns + elapsed_ns;
	snap->max_allocations = 1048576;
	snap->max_stacks = 65536;
	snap->max_threads = 16384;
	add_module(snap, 0x400000, 0x402000, "/srv/app/bin/leaky",
		   "00112233445566778899aabbccddeeff00112233");
	add_module(snap, 0x7f0000000000, 0x7f0000100000, "/usr/lib/libc.so.6", NULL);
	add_module(snap, 0x7f0000200000, 0x7f0000210000, "/opt/vendor/libblob.so",
		   "abcdef");
	return snap;
}

/* Three stacks: 0 holds 3 blocks and 3100 bytes, 1 two and 2 MiB, 2 one of 64 bytes
 * that is 200 ms young. */
static struct snapshot *heap_snapshot(uint64_t elapsed_ns)
{
	struct snapshot *snap = empty_snapshot(elapsed_ns);
	const uint64_t insert[] = {MALLOC_AT + 0x12, INSERT_AT + 0x34, LOOP_AT + 0x56};
	const uint64_t blob[] = {MALLOC_AT + 0x12, STRIPPED_AT + 0x1234, LOOP_AT + 0x78};
	const uint64_t jit[] = {MALLOC_AT + 0x12, NOWHERE_AT};

	add_stack(snap, STACK_END_COMPLETE, 3, insert);
	add_stack(snap, STACK_END_DEPTH, 3, blob);
	add_stack(snap, STACK_END_NO_FRAME, 2, jit);
	add_block(snap, BLOCK_HEAP, 0x10010, 1000, 9 * SECOND, 0);
	add_block(snap, BLOCK_HEAP, 0x10810, 1050, 4 * SECOND, 0);
	add_block(snap, BLOCK_HEAP, 0x11010, 1050, 3 * SECOND + 500 * MS, 0);
	add_block(snap, BLOCK_HEAP, 0x7e0000000010, 1024 * 1024, 8 * SECOND, 1);
	add_block(snap, BLOCK_HEAP, 0x7e0000200010, 1024 * 1024, 600 * MS, 1);
	add_block(snap, BLOCK_HEAP, 0x12010, 64, 200 * MS, 2);
	snap->totals[BLOCK_HEAP] = (struct snapshot_totals){
		.allocations = 12345,
		.allocated_bytes = 12345678,
		.frees = 12339,
		.freed_bytes = 10245362,
		.frees_unknown = 53,
	};
	return snap;
}

static char *read_file(const char *path)
{
	_cleanup_(fclosep) FILE *file = fopen(path, "re");
	size_t cap = 1 << 20;
	char *text = malloc(cap);

	if (!file || !text) {
		free(text);
		return NULL;
	}
	text[fread(text, 1, cap - 1, file)] = '\0';
	return text;
}

static char *render(const char *format, const struct report *report)
{
	const struct renderer *renderer = renderer_find(format);
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	REQUIRE(renderer && out);
	REQUIRE(!renderer->render(report, out));
	REQUIRE(!fclose(out));
	/* Nothing that a terminal or a line reader would trip over. */
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		REQUIRE((c >= ' ' && c != 0x7f) || c == '\n' || c == '\t');
	}
	return text;
}

/* What scripts written for BCC's memleak look for: each line that begins with a tab or a
 * bracket is of one of these forms. */
static void check_text(const char *text)
{
	static const char *const forms[] = {
		"^\\[[0-9:]{8}\\] Top [0-9]+ stacks with outstanding [a-z]+:$",
		"^\t[0-9]+ bytes in [0-9]+ (allocations|mappings) from stack",
		"^\t\t0x[0-9a-f]{16}\t.*\\+0x[0-9a-f]+ \\[.+\\]( at .+)?$",
		"^\t\t0x[0-9a-f]{16}\t.* \\[inlined\\] \\[.+\\]( at .+)?$",
		"^\t\t0x[0-9a-f]{16}\t\\[.+\\+0x[0-9a-f]+\\]( at .+)?$",
		"^\t\t0x[0-9a-f]{16}\t\\[unknown\\]$",
		"^\t\taddr = 0x[0-9a-f]+ size = [0-9]+",
		"^\t\t\\[(truncated|no stack|no frames)",
		"^\t(none|\\.\\.\\. [0-9]+ more stacks? with )",
	};
	size_t seen = 0;

	for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
		_cleanup_(freep) char *copy = strndup(line, strcspn(line, "\n"));
		bool known = *line != '\t' && *line != '[';

		REQUIRE(copy);
		for (size_t i = 0; !known && i < sizeof(forms) / sizeof(*forms); i++) {
			regex_t regex;

			REQUIRE(!regcomp(&regex, forms[i], REG_EXTENDED | REG_NOSUB));
			known = !regexec(&regex, copy, 0, NULL, 0);
			seen += known;
			regfree(&regex);
		}
		if (!known)
			CHECK_FAIL("no form of memleak's: %s", copy);
	}
	CHECK(seen >= 2);
}

/* Parsed back: one object on one line, every loss there, nothing but integers. */
static void check_json(const char *text)
{
	json_error_t error;
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	const char *key;
	json_t *value;

	REQUIRE(root);
	CHECK(strchr(text, '\n') == text + strlen(text) - 1);

	json_t *losses = json_object_get(root, "losses");
	bool lossless = true;

	CHECK_INT(json_object_size(losses), LOSS_COUNT);
	for (size_t i = 0; i < LOSS_COUNT; i++) {
		value = json_object_get(losses, loss_name((enum loss)i));
		CHECK(json_is_integer(value));
		lossless = lossless && !json_integer_value(value);
	}
	CHECK_INT(json_is_true(json_object_get(root, "complete")), lossless);

	json_t *heap = json_object_get(root, "heap");

	json_object_foreach(json_object_get(heap, "rates"), key, value)
		CHECK(json_is_integer(value));
	json_object_foreach(json_object_get(heap, "totals"), key, value)
		CHECK(json_is_integer(value));
	CHECK(json_is_array(json_object_get(heap, "stacks")));
	json_decref(root);
}

static const char *write_dir;

static void compare(const char *name, const char *suffix, const char *got)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s.%s",
		 write_dir ? write_dir : TEST_DATA_DIR "/golden", name, suffix);
	if (write_dir) {
		FILE *file = fopen(path, "we");

		REQUIRE(file);
		fputs(got, file);
		REQUIRE(!fclose(file));
		return;
	}

	_cleanup_(freep) char *want = read_file(path);

	CHECK(want && *want);
	CHECK_STR(got, want ? want : "");
}

static void check_report(const char *name, const struct report *report)
{
	_cleanup_(freep) char *text = render("text", report);
	_cleanup_(freep) char *json = render("json", report);

	check_text(text);
	compare(name, "txt", text);
	compare(name, "json", json);
	check_json(json);
}

/* What debug info says of some calls; the table of names says the rest. */
static const struct sourced {
	uint64_t call;
	struct source_frame frames[3];
	size_t count;
} sourced[] = {
	{INSERT_AT + 0x33,
	 {{"_ZN5Cache4growEm", "/srv/app/src/cache.h", 12, 9, true},
	  {"_RNvC3app6innerf", "/srv/app/src/cache.h", 40, 0, true},
	  {"_ZN5Cache6insertERKSs", "/srv/app/src/cache.cpp", 88, 17, false}},
	 3},
	{LOOP_AT + 0x55, {{"main_loop", "/srv/app/src/main.c", 120, 3, false}}, 1},
	/* A file without a line, and no name anywhere else: from debug info. */
	{STRIPPED_AT + 0x1233, {{"blob_read", "blob.S", 0, 0, false}}, 1},
	{HOSTILE_AT + 1,
	 {{"in\x1b[2Jlined\n", "/tmp/\x1b]0;x\a\n\t\t0x1/evil.c", 4294967295u, 7, true},
	  {NULL, NULL, 0, 0, false}},
	 2},
	{HOSTILE_AT + 0x11,
	 {{NULL, "/tmp/no name.c", 1, 0, true}, {"x", "", 3, 0, false}},
	 2},
};

struct sourced_symbolizer {
	struct symbolizer base;
	struct symbolizer *names;
};

static struct error *sourced_resolve(struct symbolizer *base, uint64_t address,
				     struct symbol *ret)
{
	struct symbolizer *names = ((struct sourced_symbolizer *)base)->names;

	return names->ops->resolve(names, address, ret);
}

static struct error *sourced_find(struct symbolizer *base, uint64_t address,
				  struct source_frames *ret)
{
	(void)base;
	*ret = (struct source_frames){.function_offset = 0x33};
	for (size_t i = 0; i < sizeof(sourced) / sizeof(*sourced); i++) {
		for (size_t j = 0; sourced[i].call == address && j < sourced[i].count;
		     j++) {
			struct source_frame frame = sourced[i].frames[j];

			frame.function = frame.function ? strdup(frame.function) : NULL;
			frame.file = frame.file ? strdup(frame.file) : NULL;
			REQUIRE(vec_push(&ret->list, frame));
		}
	}
	return NULL;
}

static void sourced_destroy(struct symbolizer *base)
{
	symbolizer_destroy(((struct sourced_symbolizer *)base)->names);
}

static const struct symbolizer_ops sourced_ops = {
	.name = "sourced",
	.resolve = sourced_resolve,
	.find_sources = sourced_find,
	.destroy = sourced_destroy,
};

static bool with_lines;

/* The report of `snap`, and of `before` first when there is one; destroys both. */
static void check_case(const char *name, struct snapshot *before, struct snapshot *snap,
		       const struct report_options *options, enum report_cause cause)
{
	struct sourced_symbolizer lines = {.base = {.ops = &sourced_ops}};
	_cleanup_(symbolizer_destroyp) struct symbolizer *symbolizer = NULL;
	_cleanup_(frame_cache_destroyp) struct frame_cache *cache = NULL;
	_cleanup_(report_history_destroyp) struct report_history *history = NULL;
	struct report *report;

	REQUIRE(!symbolizer_table_create(rows, sizeof(rows) / sizeof(*rows),
					 &symbolizer));
	if (with_lines) {
		lines.names = symbolizer;
		symbolizer = &lines.base;
	}
	cache = frame_cache_create(symbolizer);
	history = report_history_create();
	REQUIRE(cache && history);

	/* Of the first process only. */
	struct frame_cache *const frames[] = {cache, NULL, NULL};

	if (before) {
		REQUIRE(!report_build(before, history, frames, options, REPORT_INTERVAL,
				      &report));
		report_destroy(report);
	}
	REQUIRE(!report_build(snap, history, frames, options, cause, &report));
	check_report(name, report);
	report_destroy(report);
	snapshot_destroy(before);
	snapshot_destroy(snap);
}

static const struct report_options usual = {
	.sort = REPORT_SORT_SIZE, .top = 10, .older_ns = 500 * MS};

static void empty(void)
{
	struct snapshot *snap = empty_snapshot(0);

	snap->processes.data->memory = (struct snapshot_memory){0};
	snap->processes.data->executable = (free(snap->processes.data->executable), NULL);
	check_case("empty", NULL, snap, &usual, REPORT_STOPPED);
}

static void first(void)
{
	check_case("first", NULL, heap_snapshot(10 * SECOND), &usual, REPORT_INTERVAL);
}

/* Stack 0 grew by 2100 bytes, 1 shrank by 4 MiB, and the cut to the top hides 2. */
static void growth(void)
{
	struct snapshot *before = heap_snapshot(5 * SECOND);
	struct snapshot *snap = heap_snapshot(10 * SECOND);
	struct report_options options = {.top = 2, .older_ns = 0};

	before->blocks[BLOCK_HEAP].data[1].stack = 2;
	before->blocks[BLOCK_HEAP].data[2].stack = 2;
	add_block(before, BLOCK_HEAP, 0x7e0000400010, 4 * 1024 * 1024, SECOND, 1);
	before->totals[BLOCK_HEAP] = (struct snapshot_totals){
		.allocations = 12325,
		.allocated_bytes = 12345678 - 5000,
		.frees = 12338,
		.freed_bytes = 10245362 - 12,
		.frees_unknown = 50,
	};
	check_case("growth", before, snap, &options, REPORT_DEMAND);
}

/* All that there is is too young to be listed. */
static void young(void)
{
	struct snapshot *snap = heap_snapshot(10 * SECOND);

	snap->blocks[BLOCK_HEAP].data[0] = snap->blocks[BLOCK_HEAP].data[5];
	snap->blocks[BLOCK_HEAP].len = 1;
	check_case("young", NULL, snap, &usual, REPORT_INTERVAL);
}

static void hostile(void)
{
	struct snapshot *snap = empty_snapshot(3 * SECOND);
	const uint64_t frames[] = {HOSTILE_AT + 2,
				   HOSTILE_AT + 0x12,
				   HOSTILE_AT + 0x22,
				   HOSTILE_AT + 0x32,
				   0,
				   UINT64_MAX};

	free(snap->processes.data->command);
	free(snap->processes.data->executable);
	snap->processes.data->command = strdup("\x1b[2Jx\ny\"\x80");
	snap->processes.data->executable =
		strdup("/tmp/\x1b[2J\xc3\x28/\xe2\x80\xae\"exe");
	memset(long_name, 'N', sizeof(long_name) - 1);
	add_stack(snap, STACK_END_COMPLETE, 6, frames);
	add_block(snap, BLOCK_HEAP, 0, UINT64_MAX, 2 * SECOND, 0);
	add_block(snap, BLOCK_HEAP, 0x10, 5, 2 * SECOND, 77);
	check_case("hostile", NULL, snap, &usual, REPORT_INTERVAL);
}

static void lossy(void)
{
	struct snapshot *snap = heap_snapshot(10 * SECOND);
	const uint64_t frame = LOOP_AT + 1;
	uint32_t stack = add_stack(snap, STACK_END_UNREADABLE, 1, &frame);

	add_block(snap, BLOCK_HEAP, 0x13010, 32, 5 * SECOND, SNAPSHOT_NO_STACK);
	add_block(snap, BLOCK_HEAP, 0x13050, 16, 5 * SECOND, stack);
	for (size_t i = 0; i < LOSS_COUNT; i++)
		snap->losses[i] = i * i * i + 1;
	snap->losses[LOSS_PROBES_MISSED] = UINT64_MAX;
	snap->totals[BLOCK_HEAP].failures = 1;
	snap->min_size_bytes = 16;
	check_case("lossy", NULL, snap, &usual, REPORT_COUNT);
}

static void sampled(void)
{
	struct snapshot *snap = heap_snapshot(10 * SECOND);

	snap->sample_every = 100;
	snap->max_size_bytes = 1 << 20;
	check_case("sampled", NULL, snap, &usual, REPORT_DURATION);
}

static void sampled_by_bytes(void)
{
	struct snapshot *snap = heap_snapshot(10 * SECOND);

	snap->sample_bytes = 64 * 1024;
	snap->estimated = (struct snapshot_totals){
		.allocations = 400000,
		.allocated_bytes = 99000000,
		.frees = 300000,
		.freed_bytes = 88000000,
	};
	check_case("sampled_by_bytes", NULL, snap, &usual, REPORT_DURATION);
}

static void exited(void)
{
	struct snapshot *snap = heap_snapshot(7 * SECOND);

	snap->processes.data->exited = true;
	check_case("exited", NULL, snap, &usual, REPORT_EXITED);
}

/* Three processes that map a library: one from a namespace, one that has exited, one that
 * holds nothing; two allocators. Frames of the second process have no names. */
static struct snapshot *shared_snapshot(uint64_t elapsed_ns)
{
	struct snapshot *snap = heap_snapshot(elapsed_ns);
	const struct snapshot_allocator allocators[] = {
		{strdup("glibc"), strdup("/usr/lib/libc.so.6")},
		{strdup("jemalloc"), strdup("/usr/lib/libjemalloc.so.2")},
	};
	struct snapshot_process *exited = snapshot_add_process(snap, 5000);

	REQUIRE(exited);
	exited->command = strdup("worker");
	exited->exited = true;

	struct snapshot_process *idle = snapshot_add_process(snap, 77);

	REQUIRE(idle);
	idle->command = strdup("idle");
	for (size_t i = 0; i < 2; i++)
		REQUIRE(vec_push(&snap->allocators, allocators[i]));
	snap->processes.data[0].namespace_pid = 7;
	snap->library = strdup("/usr/lib/libjemalloc.so.2");
	snap->stacks.data[1].process = 1;
	snap->stacks.data[1].allocator = 1;
	snap->blocks[BLOCK_HEAP].data[3].process = 1;
	snap->blocks[BLOCK_HEAP].data[4].process = 1;
	snap->totals[BLOCK_HEAP].gone = 40;
	snap->totals[BLOCK_HEAP].gone_bytes = 2048;
	return snap;
}

static void processes(void)
{
	struct snapshot *before = shared_snapshot(9 * SECOND);
	struct snapshot *snap = shared_snapshot(10 * SECOND);

	/* Growth is that of each process. */
	before->blocks[BLOCK_HEAP].len = 4;
	check_case("processes", before, snap, &usual, REPORT_INTERVAL);
}

static void mappings(void)
{
	struct snapshot *snap = heap_snapshot(10 * SECOND);

	snap->mappings_traced = true;
	snap->processes.data->exited = true;
	add_block(snap, BLOCK_MAPPING, 0x7d0000000000, 1 << 20, 6 * SECOND, 0);
	add_block(snap, BLOCK_MAPPING, 0x7d0000200000, 4096, SECOND, 0);
	add_block(snap, BLOCK_MAPPING, 0x7d0000300000, 8192, 100 * MS, 1);
	snap->totals[BLOCK_MAPPING] = (struct snapshot_totals){
		.allocations = 5,
		.allocated_bytes = 1069056,
		.frees = 2,
		.freed_bytes = 8192,
		.frees_unknown = 1,
		.failures = 2,
	};
	check_case("mappings", NULL, snap, &usual, REPORT_COUNT);
}

static void allocations(void)
{
	struct report_options options = usual;

	options.show_blocks = true;
	options.sort = REPORT_SORT_COUNT;
	options.top = 1;
	check_case("allocations", NULL, heap_snapshot(10 * SECOND), &options,
		   REPORT_INTERVAL);
}

static void combined(void)
{
	struct report_options options = usual;

	options.combined_only = true;
	options.show_blocks = true;
	check_case("combined", NULL, heap_snapshot(10 * SECOND), &options,
		   REPORT_INTERVAL);
}

/* Source lines and inlined functions, well-behaved and hostile. */
static struct snapshot *lines_snapshot(void)
{
	struct snapshot *snap = heap_snapshot(10 * SECOND);
	const uint64_t frames[] = {HOSTILE_AT + 2, HOSTILE_AT + 0x12, LOOP_AT + 0x56};

	add_stack(snap, STACK_END_COMPLETE, 3, frames);
	add_block(snap, BLOCK_HEAP, 0x14010, 77, 5 * SECOND, 3);
	return snap;
}

static void lines(void)
{
	with_lines = true;
	check_case("lines", NULL, lines_snapshot(), &usual, REPORT_INTERVAL);
	with_lines = false;
}

static void short_paths(void)
{
	struct report_options options = usual;

	with_lines = true;
	options.short_paths = true;
	check_case("short_paths", NULL, lines_snapshot(), &options, REPORT_INTERVAL);
	with_lines = false;
}

/* Each format is found by its name, and nothing else is. */
static void names(void)
{
	size_t count = 0;

	for (const struct renderer *const *it = renderers; *it; it++, count++)
		CHECK(renderer_find((*it)->name) == *it);
	CHECK(count >= 2);
	CHECK(!renderer_find("xml"));
	CHECK(!renderer_find(""));
}

int main(int argc, char *argv[])
{
	if (argc > 1)
		write_dir = argv[1];
	setenv("TZ", "UTC", 1);
	tzset();
	RUN(names);
	RUN(empty);
	RUN(first);
	RUN(growth);
	RUN(young);
	RUN(hostile);
	RUN(lossy);
	RUN(sampled);
	RUN(sampled_by_bytes);
	RUN(exited);
	RUN(processes);
	RUN(mappings);
	RUN(allocations);
	RUN(combined);
	RUN(lines);
	RUN(short_paths);
	return check_done();
}
