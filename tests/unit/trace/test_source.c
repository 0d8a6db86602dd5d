// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include <unistd.h>

#include "abi.h"
#include "abi_walk.h"
#include "compile/embedded.h"
#include "compile/source.h"
#include "snapshot/sampling.h"
#include "trace/trace_mode.h"
#include "traffic_record.h"

/* The configuration of defaults(). */
static struct trace_config config;

static struct source_run defaults(void)
{
	config = (struct trace_config){
		.sampling.every = 1,
		.max_size_bytes = UINT64_MAX,
	};
	return (struct source_run){
		.config = &config,
		.mode = &trace_mode_heap.source,
		.ticks.start_ns = 99,
		.stack_depth = 64,
		.max_stacks = 1 << 16,
		.max_allocations = 1 << 20,
		.with_time = true,
		.cookies = true,
	};
}

static struct source *build(const struct source_run *run, const struct meanings *meanings)
{
	struct source *source = NULL;
	struct error *err = source_build(run, meanings, &source);

	REQUIRE(!err);
	return source;
}

static bool has_flag(const struct source *source, const char *prefix)
{
	for (size_t i = 0; i < source->flags.count; i++) {
		if (!strncmp(source->flags.list[i], prefix, strlen(prefix)))
			return true;
	}
	return false;
}

static void what_is_not_asked_for_is_not_there(void)
{
	struct source_run run = defaults();
	struct meanings meanings = {0};
	struct source *source = build(&run, &meanings);

	CHECK(!has_flag(source, "-DALL_PROCESSES"));
	CHECK(!has_flag(source, "-DFOLLOW_FORKS"));
	CHECK_INT(source->values.of[ABI_RUN_START], 99);
	CHECK(!has_flag(source, "-DTICK_JIFFIES"));
	CHECK(!has_flag(source, "-DSAMPLE_THRESHOLD"));
	CHECK(!has_flag(source, "-DMIN_SIZE"));
	CHECK(!has_flag(source, "-DMAX_SIZE"));
	CHECK(!has_flag(source, "-DMAPPINGS"));
	CHECK(!strstr(source->text, "probes/mappings.c"));
	CHECK(!has_flag(source, "-DTHREAD_SLOTS"));
	CHECK(!strstr(source->text, "\"probes/loops/may_goto.c\""));
	CHECK_INT(source->sizes.thread_slots, 0);
	source_destroy(source);

	config.sampling.every = 10;
	config.min_size_bytes = 16;
	config.max_size_bytes = 4096;
	run.mappings = true;
	run.with_time = false;
	run.may_goto = true;
	source = build(&run, &meanings);
	/* A tenth of 2^32, rounded. */
	CHECK(has_flag(source, "-DSAMPLE_THRESHOLD=429496730u"));
	CHECK(has_flag(source, "-DMIN_SIZE=16ull"));
	CHECK(has_flag(source, "-DMAX_SIZE=4096ull"));
	CHECK(has_flag(source, "-DMAPPINGS"));
	CHECK(strstr(source->text, "\"probes/loops/may_goto.c\""));
	CHECK(!has_flag(source, "-DWITH_TIME"));
	CHECK_CONTAINS(source->text, "#line 1 \"probes/mappings.c\"");
	source_destroy(source);
}

/* Each program of a call is compiled if the run need it, and only then. */
static void only_wanted_programs_are_there(void)
{
	static const char *const flags[SOURCE_PROGRAM_COUNT] = {
		[SOURCE_ON_SESSION] = "-DWITH_ON_SESSION",
		[SOURCE_ON_RETURN] = "-DWITH_ON_RETURN",
		[SOURCE_ON_CALL] = "-DWITH_ON_CALL",
		[SOURCE_ON_FREE] = "-DWITH_ON_FREE",
		[SOURCE_ON_RESULT] = "-DWITH_ON_RESULT",
	};
	struct source_run run = defaults();
	struct meanings meanings = {0};

	for (unsigned i = 0; i < SOURCE_PROGRAM_COUNT; i++) {
		run.programs = 1u << i;

		struct source *source = build(&run, &meanings);

		for (unsigned k = 0; k < SOURCE_PROGRAM_COUNT; k++)
			CHECK(has_flag(source, flags[k]) == (k == i));
		CHECK(!has_flag(source, "-DMAPS_ARE_THERE"));
		source_destroy(source);
	}

	run.programs = 1u << SOURCE_ON_FREE;
	run.sessions = true;
	run.one_process = true;
	run.maps_are_there = true;

	struct source *source = build(&run, &meanings);

	CHECK(has_flag(source, "-DWITH_ON_FREE_HERE"));
	CHECK(has_flag(source, "-DMAPS_ARE_THERE"));
	source_destroy(source);

	/* Without cookies, entries need separate programs. */
	run = defaults();
	run.cookies = false;
	run.programs =
		1u << SOURCE_ON_RETURN | 1u << SOURCE_ON_CALL | 1u << SOURCE_ON_FREE;
	source = build(&run, &meanings);
	CHECK(has_flag(source, "-DWITH_ON_RETURN"));
	CHECK(!has_flag(source, "-DWITH_ON_CALL"));
	CHECK(!has_flag(source, "-DWITH_ON_FREE"));
	source_destroy(source);
}

static void clang_optimizes_when_asked_for(void)
{
	struct source_run run = defaults();
	struct meanings meanings = {0};
	struct source *source = build(&run, &meanings);

	CHECK(has_flag(source, "-disable-llvm-passes"));
	source_destroy(source);
	run.thorough = true;
	source = build(&run, &meanings);
	CHECK(!has_flag(source, "-disable-llvm-passes"));
	source_destroy(source);
}

static void without_cookies_each_site_has_its_program(void)
{
	static const struct alloc_function functions[] = {
		{.name = "malloc",
		 .effect = EFFECT_ALLOC,
		 .count_arg = ARG_NONE,
		 .old_arg = ARG_NONE,
		 .out_arg = ARG_NONE},
		{.name = "realloc",
		 .effect = EFFECT_REALLOC,
		 .size_arg = 1,
		 .count_arg = ARG_NONE,
		 .old_arg = 0,
		 .out_arg = ARG_NONE},
	};
	struct source_run run = defaults();
	struct meanings meanings = {0};
	char want[64];

	/* One of the meanings twice. */
	for (size_t i = 0; i < 3; i++) {
		const struct plan_site site = {.function = &functions[i % 2]};

		REQUIRE(vec_push(&meanings.list, source_site(&site, 0, 0, false)));
	}

	struct source *source = build(&run, &meanings);

	CHECK(strstr(source->text, "\"probes/cookies/"));
	CHECK(!strstr(source->text, "ENTRY(on_call_0,"));
	source_destroy(source);

	run.cookies = false;
	source = build(&run, &meanings);
	CHECK(!strstr(source->text, "\"probes/cookies/"));
	CHECK_CONTAINS(source->text, "ENTRY(on_call_0,");
	CHECK_CONTAINS(source->text, "ENTRY(on_call_1,");
	CHECK(!strstr(source->text, "ENTRY(on_call_2,"));
	CHECK_INT(source->sites.len, 2);
	snprintf(want, sizeof(want), "call_entered, %#llxull)",
		 (unsigned long long)source->sites.data[1]);
	CHECK_CONTAINS(source->text, want);
	/* Each program is compiled for one meaning, and serves no other. */
	CHECK(source_serves(source, meanings.list.data[1]));
	CHECK(!source_serves(source, meanings.list.data[1] | ABI_SITE_UNRECORDED));
	source_destroy(source);
	vec_deinit(&meanings.list);
}

/* With cookies the same programs serve later probes, if they read the registers that
 * these probes need. */
static void later_probes_are_served(void)
{
	static const struct alloc_function f = {.name = "malloc",
						.effect = EFFECT_ALLOC,
						.count_arg = ARG_NONE,
						.old_arg = ARG_NONE,
						.out_arg = ARG_NONE};
	struct source_run run = defaults();
	struct meanings meanings = {0};
	struct plan_site site = {.function = &f, .arg_reg = {12}};

	REQUIRE(vec_push(&meanings.list, source_site(&site, 0, 0, false)));

	struct source *source = build(&run, &meanings);

	CHECK(source_serves(source, source_site(&site, 3, 9, false)));
	/* rdi, the first argument at a function's entry; then rbx. */
	site.arg_reg[0] = 7;
	CHECK(source_serves(source, source_site(&site, 0, 0, false)));
	site.arg_reg[0] = 3;
	CHECK(!source_serves(source, source_site(&site, 0, 0, false)));
	source_destroy(source);
	vec_deinit(&meanings.list);
}

/* The source does not depend on the start time of a run, so that runs share the code. */
static void runs_share_their_code(void)
{
	struct source_run run = defaults();
	struct meanings meanings = {0};
	struct source *one, *other;

	run.ticks.is_jiffies = true;
	run.ticks.start_jiffies = 1000;
	one = build(&run, &meanings);
	run.ticks.start_jiffies = 2000;
	other = build(&run, &meanings);
	CHECK_INT(one->values.of[ABI_RUN_START], 1000);
	CHECK_INT(other->values.of[ABI_RUN_START], 2000);
	CHECK_STR(one->text, other->text);
	REQUIRE(one->flags.count == other->flags.count);
	for (size_t i = 0; i < one->flags.count; i++)
		CHECK_STR(one->flags.list[i], other->flags.list[i]);
	source_destroy(one);
	source_destroy(other);
	vec_deinit(&meanings.list);
}

/* Count a fragment of probes/ if it is part of the program of some kind of run. */
static void mark_fragments(const struct source_run *run, unsigned *used)
{
	struct meanings meanings = {0};
	struct source *source = build(run, &meanings);
	char line[128];

	for (size_t i = 0; embedded_probes[i].name; i++) {
		snprintf(line, sizeof(line), "\n#line 1 \"probes/%s\"\n",
			 embedded_probes[i].name);
		used[i] += strstr(source->text, line) != NULL;
	}
	source_destroy(source);
	vec_deinit(&meanings.list);
}

static void each_fragment_belongs_to_some_run(void)
{
	const struct event_spec event = {.kind = EVENT_PROFILE};
	const struct kernel_points points = {0};
	const struct kernel_trace kernel = {0};
	struct source_run run = defaults();
	unsigned used[96] = {0};
	size_t count = 0;

	run.event = &event;
	run.kernel_points = &points;
	run.kernel = &kernel;
	run.rules = run.mappings = true;
	for (size_t i = 0; i < TRACE_MODE_COUNT; i++) {
		run.mode = &trace_modes[i]->source;
		/* All that the newest kernels have, and what the oldest lack. */
		run.cookies = run.sessions = run.may_goto = run.checks = true;
		run.no_atomics = run.no_task_btf = run.traffic = false;
		config.sampling.mean_bytes = 4096;
		mark_fragments(&run, used);
		run.cookies = run.sessions = run.may_goto = run.checks = false;
		run.no_atomics = run.no_task_btf = run.traffic = true;
		mark_fragments(&run, used);
	}
	for (; embedded_probes[count].name; count++)
		if (!used[count])
			CHECK_FAIL("no run needs %s", embedded_probes[count].name);
	CHECK(count > 30 && count < 96);
}

static void scopes_are_compiled_in(void)
{
	struct source_run run = defaults();
	struct meanings meanings = {0};

	run.scope = SCOPE_ALL;

	struct source *source = build(&run, &meanings);

	CHECK(has_flag(source, "-DALL_PROCESSES"));
	CHECK_INT(source->values.of[ABI_RUN_OWN_PID], getpid());
	source_destroy(source);

	run.scope = SCOPE_FORKS;
	run.offsets.has_task = true;
	run.offsets.has_task = true;
	run.offsets.task_pid = 2468;
	run.offsets.task_tgid = 2472;
	source = build(&run, &meanings);
	CHECK(has_flag(source, "-DFOLLOW_FORKS"));
	CHECK(has_flag(source, "-DOFFSET_TASK_PID=2468"));
	CHECK(has_flag(source, "-DOFFSET_TASK_TGID=2472"));
	CHECK(!has_flag(source, "-DALL_PROCESSES"));
	CHECK(!has_flag(source, "-DFOLLOW_EXECS"));
	source_destroy(source);

	run.execs = EXECS_OF_AWAITED;
	run.offsets.task_signal = 2000;
	run.offsets.signal_live = 4;
	source = build(&run, &meanings);
	CHECK(has_flag(source, "-DFOLLOW_EXECS"));
	CHECK(has_flag(source, "-DOFFSET_TASK_SIGNAL=2000"));
	CHECK(has_flag(source, "-DOFFSET_SIGNAL_LIVE=4"));
	CHECK(!has_flag(source, "-DFOLLOW_EXECS_ONLY"));
	source_destroy(source);

	run.execs = EXECS_ONLY;
	source = build(&run, &meanings);
	CHECK(has_flag(source, "-DFOLLOW_EXECS"));
	CHECK(has_flag(source, "-DFOLLOW_EXECS_ONLY"));
	source_destroy(source);
}

static void sites_carry_their_arguments(void)
{
	const struct alloc_function f = {.name = "reallocarray",
					 .effect = EFFECT_REALLOC,
					 .size_arg = 2,
					 .count_arg = 1,
					 .old_arg = 0,
					 .out_arg = ARG_NONE};
	struct plan_site at = {.function = &f,
			       .sp_delta = 24,
			       .arg_reg = {7, 12, 15, PLACE_NO_REGISTER}};
	uint64_t site = source_site(&at, 200, 4000, false);

	CHECK_INT(ABI_SITE_EFFECT(site), ABI_EFFECT_REALLOC);
	CHECK_INT(ABI_SITE_SIZE_ARG(site), 15);
	CHECK_INT(ABI_SITE_COUNT_ARG(site), 12);
	CHECK_INT(ABI_SITE_OLD_ARG(site), 7);
	CHECK_INT(ABI_SITE_OUT_ARG(site), ABI_ARG_NONE);
	CHECK(!(site & ABI_SITE_UNRECORDED));
	CHECK_INT(ABI_SITE_SP_DELTA(site), 24);
	CHECK_INT(ABI_SITE_ALLOCATOR(site), 200);
	CHECK_INT(ABI_SITE_NUMBER(site), 4000);
	at.unrecorded = true;
	CHECK_INT(source_site(&at, 200, 4000, false), site | ABI_SITE_UNRECORDED);
	at.sp_delta = -8;
	CHECK_INT(ABI_SITE_SP_DELTA(source_site(&at, 200, 4000, false)), -8);
}

/* The probes and the estimates must use the same size classes. */
static void sample_classes_agree(void)
{
	REQUIRE(ABI_SAMPLE_CLASSES == SAMPLING_CLASSES);
	for (uint64_t size = 0; size < 1 << 20; size++)
		REQUIRE(abi_sample_class(size) == sampling_class(size));
	for (unsigned shift = 0; shift < 64; shift++)
		for (int more = -1; more <= 1; more++) {
			uint64_t size = (UINT64_C(1) << shift) + (uint64_t)more;

			REQUIRE(abi_sample_class(size) == sampling_class(size));
		}
}

static void tables_hold_what_is_promised(void)
{
	static const uint64_t sizes[] = {1024, 1 << 20, 1 << 30};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct source_run run = defaults();
		struct source_sizes z;

		run.max_allocations = sizes[i];
		source_sizes_compute(&run, &z);

		uint64_t slots =
			(uint64_t)ABI_LIVE_BEFORE(z.live_buckets, z.live_generations) *
			ABI_LIVE_WAYS;

		CHECK(slots >= sizes[i] * 10 / 7);
		/* At most 48 bytes of kernel memory for each block if half of the slots
		 * are used. */
		CHECK(slots * 24 <= sizes[i] * 48);
		/* However many there may be, the first generation is small. */
		CHECK(z.live_generations <= ABI_LIVE_GENERATIONS &&
		      z.live_buckets <= 32768);
		CHECK_INT(z.stack_depth, 64);
		/* Room for the requested number of stacks of the usual depth. */
		CHECK((uint64_t)z.stack_pcs_blocks * ABI_PCS_BLOCK >=
		      run.max_stacks * 16);
		CHECK((uint64_t)z.stack_buckets * ABI_STACK_WAYS >= 4 * run.max_stacks);
		CHECK(z.stack_buckets_first < z.stack_buckets);
	}
}

/* Few stacks are few, however deep. Of many stacks most are not deep. Without atomics
 * each stack has its own room. */
static void return_addresses_have_room(void)
{
	static const struct {
		uint64_t stacks;
		unsigned depth;
		bool no_atomics;
		uint64_t words;
	} cases[] = {
		{64, 127, false, 64 * 127},
		{4096, 127, false, 4096 * 127},
		{65536, 127, false, 65536 * 16},
		{65536, 127, true, 65536 * 127},
		{65536, 8, false, 65536 * 8},
		{1 << 24, 127, false, UINT64_C(16) << 24},
		{1 << 24, 127, true, UINT64_C(127) << 24},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct source_run run = defaults();
		struct source_sizes z;

		run.max_stacks = cases[i].stacks;
		run.stack_depth = cases[i].depth;
		run.no_atomics = cases[i].no_atomics;
		source_sizes_compute(&run, &z);
		CHECK_INT(z.stack_pcs_blocks, cases[i].words / ABI_PCS_BLOCK + 1);
		/* The number of a word must fit 32 bits. */
		CHECK((uint64_t)z.stack_pcs_blocks * ABI_PCS_BLOCK <= UINT32_MAX);
	}
}

static void threads_have_room(void)
{
	struct source_run run = defaults();
	struct meanings meanings = {0};
	struct source *source;
	uint32_t slots;

	run.traffic = true;
	config.max_threads = 1000;
	config.temporary_threshold = 3;
	source = build(&run, &meanings);
	CHECK(has_flag(source, "-DTHREAD_SLOTS"));
	CHECK(has_flag(source, "-DTEMPORARY_EVENTS=4"));
	slots = source->sizes.thread_slots;
	CHECK(slots >= 4000);
	CHECK_INT(slots & (slots - 1), 0);
	CHECK_INT(source->sizes.thread_record_bytes, 96 + 4 * 8);
	source_destroy(source);
}

/* The promised number of threads must find room in their ways. */
static void thread_ways_suffice(void)
{
	enum {
		SLOTS = 65536,
		THREADS = SLOTS / 4
	};
	static bool taken[SLOTS];
	unsigned refused = 0;

	for (uint32_t tid = 1000; tid < 1000 + THREADS; tid++) {
		uint64_t key = ABI_THREAD_KEY(tid % 7, tid);
		uint32_t i = 0;

		while (i < ABI_THREAD_WAYS && taken[ABI_THREAD_AT(key, i, SLOTS)])
			i++;
		if (i == ABI_THREAD_WAYS)
			refused++;
		else
			taken[ABI_THREAD_AT(key, i, SLOTS)] = true;
	}
	CHECK_INT(refused, 0);
}

/* Both hashes must spread keys like malloc's addresses: runs of multiples of 16. */
static void live_hash_spreads(void)
{
	enum {
		BUCKETS = 1024,
		KEYS = BUCKETS * 8
	};
	static uint16_t load[BUCKETS];

	for (int second = 0; second < 2; second++) {
		unsigned fullest = 0;

		memset(load, 0, sizeof(load));
		for (uint64_t i = 0; i < KEYS; i++) {
			uint32_t at = abi_live_hash((0x55d0c0de2a0 + i * 16) >> 3,
						    BUCKETS, second);

			REQUIRE(at < BUCKETS);
			if (++load[at] > fullest)
				fullest = load[at];
		}
		/* 8 on average. A Poisson tail of 30 has a chance of 1e-9 in a bucket. */
		CHECK(fullest < 30);
	}
}

/* The source for an event has no code for allocations, and the source for allocations has
 * none for events. */
static void events_are_apart(void)
{
	struct event_spec spec;
	struct source_run run = defaults();
	struct meanings meanings = {0};
	struct source *source = build(&run, &meanings);

	CHECK(!strstr(source->text, "probes/event.c"));
	CHECK(!has_flag(source, "-DEVENTS"));
	source_destroy(source);

	REQUIRE(!event_spec_parse("uprobe:a:f", &spec));
	run.mode = &trace_mode_event.source;
	run.event = &spec;
	source = build(&run, &meanings);
	CHECK_CONTAINS(source->text, "#line 1 \"probes/event.c\"");
	CHECK(!strstr(source->text, "probes/hooks.c"));
	CHECK(!strstr(source->text, "\"probes/arrays/live.c\""));
	CHECK(!strstr(source->text, "probes/growth.c"));
	CHECK(has_flag(source, "-DEVENT_HAS_USER_REGISTERS"));
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
	CHECK(!has_flag(source, "-DWALK_EXACT"));
	source_destroy(source);

	spec.kind = EVENT_SOFTWARE;
	run.mode = &trace_mode_growth.source;
	run.mappings = config.kernel_stacks = true;
	source = build(&run, &meanings);
	CHECK_CONTAINS(source->text, "#line 1 \"probes/growth.c\"");
	CHECK_CONTAINS(source->text, "#line 1 \"probes/mappings.c\"");
	CHECK(!has_flag(source, "-DEVENT_HAS_USER_REGISTERS"));
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
	CHECK(has_flag(source, "-DKERNEL"));
	CHECK_INT(source->values.of[ABI_RUN_OWN_PID], getpid());
	CHECK(has_flag(source, "-DKERNEL_BY_NUMBER=0"));
	CHECK(!has_flag(source, "-DKERNEL_OF_ONE"));
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
	CHECK(has_flag(source, "-DKERNEL_OF_ONE"));
	CHECK_INT(source->values.of[ABI_RUN_KERNEL_PID], 12);
	source_destroy(source);
	kernel_trace_deinit(&trace);
	kernel_points_deinit(&points);
}

static void without_atomics_all_is_in_hashes(void)
{
	struct source_run run = defaults();
	struct meanings meanings = {0};
	struct source *source;

	source = build(&run, &meanings);
	CHECK(!strstr(source->text, "\"probes/hashes/"));
	CHECK(!strstr(source->text, "\"probes/task/helper.c\""));
	CHECK(strstr(source->text, "\"probes/arrays/live.c\""));
	CHECK(strstr(source->text, "\"probes/arrays/stack_number.c\""));
	CHECK(!strstr(source->text, "\"probes/hashes/live.c\""));
	CHECK(!strstr(source->text, "\"probes/hashes/stack_number.c\""));
	source_destroy(source);

	run.no_atomics = run.no_task_btf = true;
	source = build(&run, &meanings);
	CHECK(strstr(source->text, "\"probes/hashes/"));
	CHECK(strstr(source->text, "\"probes/task/helper.c\""));
	CHECK(has_flag(source, "-DLIVE_SPILL=1048576"));
	CHECK(!strstr(source->text, "\"probes/arrays/live.c\""));
	CHECK(!strstr(source->text, "\"probes/arrays/stack_number.c\""));
	CHECK(strstr(source->text, "\"probes/hashes/live.c\""));
	CHECK(strstr(source->text, "\"probes/hashes/stack_number.c\""));
	/* Without the table, all blocks go to the hash. */
	CHECK_INT(source->sizes.live_buckets, 0);
	CHECK_INT(source->sizes.live_spill, 1 << 20);
	source_destroy(source);
}

/* Before Linux 5.15 the user registers are at the end of the kernel stack. */
static void registers_on_the_stack(void)
{
	struct source_run run = defaults();
	struct meanings meanings = {0};
	struct source *source;

	run.offsets.has_stack = true;
	run.offsets.task_stack = 24;
	run.offsets.stack_bytes = 16384;
	source = build(&run, &meanings);
	CHECK(!has_flag(source, "-DOFFSET_TASK_STACK"));
	source_destroy(source);

	run.cookies = false;
	source = build(&run, &meanings);
	CHECK(has_flag(source, "-DOFFSET_TASK_STACK=24"));
	CHECK(has_flag(source, "-DKERNEL_STACK_BYTES=16384"));
	source_destroy(source);
}

/* Each room has its own numbers. Numbers that are kept together are consecutive. */
static void numbers_of_walks(void)
{
	enum {
		ROOMS = 6,
		EACH = 3 * ABI_MISS_NUMBERS
	};
	static unsigned char seen[ROOMS * EACH];
	uint64_t last = 0;

	for (uint64_t room = 0; room < ROOMS; room++) {
		for (uint64_t n = 0; n < EACH; n++) {
			uint64_t number = ABI_MISS_NUMBER(n, room, ROOMS);

			REQUIRE(number < ROOMS * EACH);
			CHECK_INT(seen[number]++, 0);
			CHECK(n % ABI_MISS_NUMBERS == 0 || number == last + 1);
			last = number;
		}
	}
}

int main(void)
{
	RUN(what_is_not_asked_for_is_not_there);
	RUN(the_kernels_allocations);
	RUN(only_wanted_programs_are_there);
	RUN(clang_optimizes_when_asked_for);
	RUN(without_cookies_each_site_has_its_program);
	RUN(later_probes_are_served);
	RUN(runs_share_their_code);
	RUN(each_fragment_belongs_to_some_run);
	RUN(scopes_are_compiled_in);
	RUN(sites_carry_their_arguments);
	RUN(sample_classes_agree);
	RUN(tables_hold_what_is_promised);
	RUN(return_addresses_have_room);
	RUN(threads_have_room);
	RUN(thread_ways_suffice);
	RUN(live_hash_spreads);
	RUN(events_are_apart);
	RUN(without_atomics_all_is_in_hashes);
	RUN(registers_on_the_stack);
	RUN(numbers_of_walks);
	return check_done();
}
