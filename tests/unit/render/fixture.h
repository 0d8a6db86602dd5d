/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of renderers: makes a report from symbols, stacks and blocks that the test
 * adds one by one. Each symbol is 0x100 bytes long. They are consecutive, from
 * FIXTURE_BASE on.
 */
#ifndef TESTS_RENDER_FIXTURE_H
#define TESTS_RENDER_FIXTURE_H

#include "check.h"

#include "render/table/renderers.h"
#include "symbol_table.h"
#include "util/cleanup.h"

#define FIXTURE_PROCESSES 4
#define FIXTURE_BASE      UINT64_C(0x400000)
#define FIXTURE_NS        UINT64_C(1000000000)
/* 2026-01-02 03:04:05 UTC */
#define FIXTURE_WALL_NS (UINT64_C(1767323045) * FIXTURE_NS + 123456789)

struct fixture {
	VEC(struct symbol_row) symbols;
	struct symbolizer *symbolizer;
	struct frame_cache *frames[FIXTURE_PROCESSES]; /* one for each process */
	struct report_history *history;
	struct snapshot *snap;
	struct report *report;
	/* Wraps the symbolizer `names`, which it owns, in another one. May be NULL. */
	struct symbolizer *(*wrap)(struct fixture *f, struct symbolizer *names);
};

/* Adds a process. Stacks and blocks that are added later belong to it. */
static inline struct snapshot_process *fixture_process(struct fixture *f, int pid,
						       const char *command)
{
	struct snapshot_process *process = snapshot_add_process(f->snap, pid);

	REQUIRE(process);
	free(process->command);
	process->command = strdup(command);
	process->executable = strdup("/srv/app/bin/leaky");
	return process;
}

static inline void fixture_init(struct fixture *f)
{
	*f = (struct fixture){.snap = snapshot_create()};
	REQUIRE(f->snap);
	fixture_process(f, 4321, "leaky");
	f->snap->wall_ns = FIXTURE_WALL_NS;
	f->snap->attached_ns = 100 * FIXTURE_NS;
	f->snap->time_ns = 110 * FIXTURE_NS;
	f->snap->sampling.every = 1;
	f->snap->max_size_bytes = UINT64_MAX;
}

static inline void fixture_deinit(struct fixture *f)
{
	report_destroy(f->report);
	report_history_destroy(f->history);
	for (size_t i = 0; i < FIXTURE_PROCESSES; i++)
		frame_cache_destroy(f->frames[i]);
	symbolizer_destroy(f->symbolizer);
	snapshot_destroy(f->snap);
	vec_deinit(&f->symbols);
}

/* Adds a symbol. Returns a return address inside it. `name` and `module` (borrowed) may
 * be NULL. */
static inline uint64_t fixture_symbol(struct fixture *f, const char *name,
				      const char *module)
{
	uint64_t start = FIXTURE_BASE + 0x100 * f->symbols.len;

	REQUIRE(vec_push(&f->symbols,
			 (struct symbol_row){start, start + 0x100, name, module}));
	return start + 0x11;
}

static inline void fixture_module(struct fixture *f, uint64_t start, uint64_t end,
				  const char *path, const char *build_id)
{
	REQUIRE(vec_push(&f->snap->processes.data[f->snap->processes.len - 1].modules,
			 (struct snapshot_module){
				 .start = start,
				 .end = end,
				 .file_offset = 0x1000,
				 .path = strdup(path),
				 .build_id = build_id ? strdup(build_id) : NULL,
			 }));
}

/* Adds a stack of `depth` return addresses, leaf first. */
static inline uint32_t fixture_stack(struct fixture *f, enum stack_end end, size_t depth,
				     const uint64_t *addresses)
{
	struct snapshot_stack stack = {
		.first_frame = (uint32_t)f->snap->frames.len,
		.depth = (uint16_t)depth,
		.end = (uint8_t)end,
		.process = (uint32_t)f->snap->processes.len - 1,
	};

	for (size_t i = 0; i < depth; i++)
		REQUIRE(vec_push(&f->snap->frames, addresses[i]));
	REQUIRE(vec_push(&f->snap->stacks, stack));
	return (uint32_t)f->snap->stacks.len - 1;
}

#define FIXTURE_STACK(f, end, ...)                                                       \
	fixture_stack((f), (end), sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t),  \
		      (const uint64_t[]){__VA_ARGS__})

static inline void fixture_block(struct fixture *f, enum block_class class,
				 uint64_t size_bytes, uint32_t tid, uint32_t stack)
{
	struct snapshot_block block = {
		.address = 0x10000 + 0x10 * f->snap->blocks[class].len,
		.size_bytes = size_bytes,
		.time_ns = f->snap->time_ns - FIXTURE_NS,
		.stack = stack,
		.tid = tid,
		.process = stack < f->snap->stacks.len
				   ? f->snap->stacks.data[stack].process
				   : 0,
	};

	REQUIRE(vec_push(&f->snap->blocks[class], block));
}

/* Makes the report of all that was added. */
static inline const struct report *
fixture_report_with(struct fixture *f, const struct report_options *options)
{
	REQUIRE(!f->report);
	REQUIRE(!symbolizer_table_create(f->symbols.data, f->symbols.len,
					 &f->symbolizer));
	if (f->wrap)
		f->symbolizer = f->wrap(f, f->symbolizer);
	for (size_t i = 0; i < f->snap->processes.len; i++) {
		f->frames[i] = frame_cache_create(f->symbolizer);
		REQUIRE(f->frames[i]);
	}
	f->history = report_history_create();
	REQUIRE(f->history);
	REQUIRE(!report_build(f->snap, f->history, f->frames, options, REPORT_STOPPED,
			      &f->report));
	return f->report;
}

/* Makes a report with all rows and blocks. */
static inline const struct report *fixture_report(struct fixture *f)
{
	const struct report_options options = {.older_ns = 1,
					       .show_blocks = true,
					       .group_by_process = true,
					       .past = true};

	return fixture_report_with(f, &options);
}

/* The output of the renderer, owned by the caller. `len` (bytes) may be NULL. */
static inline char *fixture_render(struct fixture *f, const char *format, size_t *len)
{
	const struct report *report = f->report ? f->report : fixture_report(f);
	const struct renderer *renderer = renderer_find(format);
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	REQUIRE(renderer && out);
	REQUIRE(!renderer->render(report, out));
	REQUIRE(!fclose(out));
	if (len)
		*len = size;
	else
		CHECK_INT(strlen(text), size);
	return text;
}

/* The output for another report of the same snapshot. Owned. */
static inline char *fixture_render_again(struct fixture *f, const char *format,
					 const struct report_options *options)
{
	struct report *first;
	char *text;

	if (!f->report)
		fixture_report(f);
	report_history_destroy(f->history);
	f->history = report_history_create();
	REQUIRE(f->history);
	first = f->report;
	REQUIRE(!report_build(f->snap, f->history, f->frames, options, REPORT_STOPPED,
			      &f->report));
	text = fixture_render(f, format, NULL);
	report_destroy(f->report);
	f->report = first;
	return text;
}

/* The standard case: four stacks, one of them without a known end and one without frames,
 * and two symbols with the same name; 3100 + 2 MiB + 64 + 7 bytes. */
static inline void fixture_fill(struct fixture *f)
{
	uint64_t allocate = fixture_symbol(f, "malloc", "/usr/lib/libc.so.6");
	uint64_t loop = fixture_symbol(f, "main_loop", "/srv/app/bin/leaky");
	uint64_t insert = fixture_symbol(f, "Cache::insert(std::string const&)",
					 "/srv/app/bin/leaky");
	uint64_t blob = fixture_symbol(f, NULL, "/opt/vendor/libblob.so");
	uint64_t jit = fixture_symbol(f, NULL, NULL);
	uint32_t stacks[] = {
		FIXTURE_STACK(f, STACK_END_COMPLETE, allocate, insert, loop),
		/* The same symbols at other addresses. */
		FIXTURE_STACK(f, STACK_END_COMPLETE, allocate + 4, insert + 8, loop + 8),
		FIXTURE_STACK(f, STACK_END_DEPTH, allocate, blob, loop),
		FIXTURE_STACK(f, STACK_END_NO_FRAME, allocate, jit),
	};

	fixture_module(f, FIXTURE_BASE, FIXTURE_BASE + 0x100, "/usr/lib/libc.so.6", NULL);
	fixture_module(f, FIXTURE_BASE + 0x100, FIXTURE_BASE + 0x300,
		       "/srv/app/bin/leaky", "00112233445566778899aabbccddeeff00112233");
	fixture_module(f, FIXTURE_BASE + 0x300, FIXTURE_BASE + 0x400,
		       "/opt/vendor/libblob.so", "abcdef");
	fixture_block(f, BLOCK_HEAP, 1000, 4321, stacks[0]);
	fixture_block(f, BLOCK_HEAP, 1050, 4321, stacks[0]);
	fixture_block(f, BLOCK_HEAP, 1050, 4322, stacks[1]);
	fixture_block(f, BLOCK_HEAP, 1024 * 1024, 4321, stacks[2]);
	fixture_block(f, BLOCK_HEAP, 1024 * 1024, 4321, stacks[2]);
	fixture_block(f, BLOCK_HEAP, 64, 4323, stacks[3]);
	fixture_block(f, BLOCK_HEAP, 7, 4321, SNAPSHOT_NO_STACK);
}

/* Adds another process with one stack. */
static inline void fixture_fill_second(struct fixture *f)
{
	uint64_t start = FIXTURE_BASE + 0x100 * f->symbols.len;
	uint64_t other = fixture_symbol(f, "other", "/bin/other");

	fixture_process(f, 99, "se;c\n");
	fixture_module(f, start, start + 0x100, "/bin/other", NULL);
	fixture_block(f, BLOCK_HEAP, 5000, 99,
		      FIXTURE_STACK(f, STACK_END_COMPLETE, other));
}

/* Adds mappings to the heap. */
static inline void fixture_fill_mappings(struct fixture *f)
{
	f->snap->mappings_traced = true;
	fixture_block(f, BLOCK_MAPPING, 4096, 4321, 0);
	fixture_block(f, BLOCK_MAPPING, 8192, 4321, 2);
}

#endif
