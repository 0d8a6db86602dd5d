// SPDX-License-Identifier: Apache-2.0
/* The source for events, for the kernel's allocations and for those of programs each has
 * nothing of the others. */
#include "check.h"

#include <unistd.h>

#include "abi.h"
#include "compile/source.h"
#include "trace/trace_mode.h"
#include "unit/trace/source_built.h"

/* The source for an event has no code for allocations, and the source for allocations has
 * none for events. */
static void events_are_apart(void)
{
	struct event_spec spec;
	struct source_run run = defaults();
	struct meanings meanings = {0};
	struct source *source = build(&run, &meanings);

	CHECK(!strstr(source->text, "probes/event.c"));
	CHECK_INT(source->values.of[ABI_RUN_APART], 0);
	source_destroy(source);

	REQUIRE(!event_spec_parse("uprobe:a:f", &spec));
	run.mode = &trace_mode_event.source;
	run.event = &spec;
	source = build(&run, &meanings);
	CHECK_CONTAINS(source->text, "#line 1 \"probes/event.c\"");
	/* Hits are counted by stack, so processes cannot share stacks. */
	CHECK_INT(source->values.of[ABI_RUN_APART], 1);
	CHECK(!strstr(source->text, "probes/hooks.c"));
	CHECK(!strstr(source->text, "\"probes/arrays/live.c\""));
	CHECK(!strstr(source->text, "probes/growth.c"));
	CHECK_CONTAINS(source->text, "probes/task/hit_registers.c");
	CHECK(has_flag(source, "-DWALK_EXACT=1"));
	/* With frame pointers the first step differs where a function begins. */
	CHECK(has_flag(source, "-DWALK_FIRST=1"));
	source_destroy(source);
	run.rules = true;
	source = build(&run, &meanings);
	CHECK(!has_flag(source, "-DWALK_FIRST"));
	source_destroy(source);
	run.rules = false;
	spec.offset = 4;
	source = build(&run, &meanings);
	CHECK(!has_flag(source, "-DWALK_FIRST"));
	source_destroy(source);
	spec.kind = EVENT_URETPROBE;
	source = build(&run, &meanings);
	CHECK(has_flag(source, "-DWALK_EXACT=0"));
	source_destroy(source);

	spec.kind = EVENT_SOFTWARE;
	run.mode = &trace_mode_growth.source;
	run.mappings = config.kernel_stacks = true;
	source = build(&run, &meanings);
	CHECK_CONTAINS(source->text, "#line 1 \"probes/growth.c\"");
	CHECK_CONTAINS(source->text, "#line 1 \"probes/mappings.c\"");
	CHECK(!strstr(source->text, "probes/task/hit_registers.c"));
	CHECK(has_flag(source, "-DKERNEL_FRAMES=31"));
	CHECK(has_flag(source, "-DWALK_DEPTH=33"));
	source_destroy(source);
	event_spec_deinit(&spec);
}

static void the_kernels_allocations(void)
{
	struct source_run run = defaults();
	struct kernel_points points = {.is_seen = {true, true, false, true}};
	const struct kernel_point list[] = {
		{.kind = KERNEL_SLAB,
		 .is_allocation = true,
		 .is_raw = true,
		 .name = "kmem_cache_alloc",
		 .address = {8, 8, 0, 0},
		 .size = {16, 8, 4, 32}},
		{.kind = KERNEL_PAGES,
		 .is_allocation = true,
		 .size_is_order = true,
		 .is_raw = true,
		 .name = "mm_page_alloc",
		 .address = {0, 8, 0, 0},
		 .size = {8, 4, 0, 0}},
		{.kind = KERNEL_PAGES, .name = "mm_page_free", .address = {8, 8, 0, 0}},
		{.kind = KERNEL_VMALLOC,
		 .is_allocation = true,
		 .name = "alloc_vmap_area",
		 .address = {0, 8, 0, 0},
		 .size = {8, 8, 0, 0},
		 .failed = {40, 4, 0, 0}},
	};
	struct kernel_trace trace = {.pid = 0};
	struct meanings meanings = {0};
	struct source *source;

	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++)
		REQUIRE(vec_push(&points.list, list[i]));
	REQUIRE(vec_push(&trace.places[KERNEL_PLACE_SLAB],
			 (struct kernel_range){0x1000, 0x1010}));
	REQUIRE(vec_push(&trace.places[KERNEL_PLACE_PERCPU],
			 (struct kernel_range){0x2000, 0x2010}));
	run.mode = &trace_mode_kernel.source;
	run.kernel_points = &points;
	run.kernel = &trace;
	source = build(&run, &meanings);
	CHECK_CONTAINS(source->text, "probes/kernel_counters.c");
	CHECK_INT(source->values.of[ABI_RUN_OWN_PID], getpid());
	CHECK(has_flag(source, "-DKERNEL_BY_NUMBER=0"));
	CHECK(has_flag(source, "-DKERNEL_OF_ONE=0"));
	CHECK_CONTAINS(source->text, "probes/kernel.c");
	CHECK_CONTAINS(source->text, "probes/arrays/live.c");
	CHECK(!strstr(source->text, "probes/hooks.c"));
	CHECK_CONTAINS(source->text,
		       "KERNEL_ALLOCATES(on_kmem_cache_alloc, 0, KERNEL_WORD(ctx, 8, "
		       "u64), (u64)(kernel_behind(KERNEL_WORD(ctx, 16, u64), 32, 4)))");
	CHECK_CONTAINS(source->text, "(u64)MEMTRACE_PAGE_SIZE << (63 & KERNEL_WORD(ctx, "
				     "8, u32)))");
	CHECK_CONTAINS(source->text,
		       "KERNEL_FREES(on_mm_page_free, 1, KERNEL_WORD(ctx, 8, u64))");
	CHECK_CONTAINS(source->text,
		       "KERNEL_ALLOCATES(on_alloc_vmap_area, 3, KERNEL_WORD(ctx, 40, "
		       "u32) ? 0 : KERNEL_WORD(ctx, 0, u64), ");
	/* Pages of an unseen class count as pages. */
	CHECK_CONTAINS(source->text,
		       "#define KERNEL_RANGES KERNEL_RANGE(KERNEL_BY_SLAB, 0x1000ull, "
		       "0x10ull)\n");
	source_destroy(source);

	points.list.data[1].is_raw = false;
	trace.pid = 12;
	source = build(&run, &meanings);
	CHECK(has_flag(source, "-DKERNEL_BY_NUMBER=1"));
	CHECK(has_flag(source, "-DKERNEL_OF_ONE=1"));
	CHECK_INT(source->values.of[ABI_RUN_KERNEL_PID], 12);
	source_destroy(source);
	kernel_trace_deinit(&trace);
	kernel_points_deinit(&points);
}

int main(void)
{
	RUN(the_kernels_allocations);
	RUN(events_are_apart);
	return check_done();
}
