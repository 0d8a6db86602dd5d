// SPDX-License-Identifier: Apache-2.0
/* The source of the probes has what a run needs, and nothing else. */
#include "check.h"

#include <unistd.h>

#include "abi.h"
#include "compile/embedded.h"
#include "compile/source.h"
#include "snapshot/sampling.h"
#include "trace/trace_mode.h"
#include "unit/trace/source_built.h"

static void what_is_not_asked_for_is_not_there(void)
{
	struct source_run run = defaults();
	struct meanings meanings = {0};
	struct source *source = build(&run, &meanings);

	CHECK(!strstr(source->text, "probes/scope/all.c"));
	CHECK(!strstr(source->text, "probes/scope/forks.c"));
	CHECK_INT(source->values.of[ABI_RUN_START], 99);
	CHECK(has_flag(source, "-DTICK_JIFFIES=0"));
	CHECK_INT(source->values.of[ABI_RUN_SAMPLE_THRESHOLD], 0);
	CHECK_INT(source->values.of[ABI_RUN_MIN_SIZE], 0);
	CHECK(source->values.of[ABI_RUN_MAX_SIZE] == UINT64_MAX);
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
	CHECK_INT(source->values.of[ABI_RUN_SAMPLE_THRESHOLD], 429496730);
	CHECK_INT(source->values.of[ABI_RUN_MIN_SIZE], 16);
	CHECK_INT(source->values.of[ABI_RUN_MAX_SIZE], 4096);
	CHECK(strstr(source->text, "\"probes/loops/may_goto.c\""));
	CHECK(has_flag(source, "-DWITH_TIME=0"));
	CHECK_CONTAINS(source->text, "#line 1 \"probes/mappings.c\"");
	source_destroy(source);
}

/* Each program of a call is compiled if the run need it, and only then. */
static void only_wanted_programs_are_there(void)
{
	static const char *const names[SOURCE_PROGRAM_COUNT] = {
		[SOURCE_ON_SESSION] = "probes/programs/on_session.c",
		[SOURCE_ON_RETURN] = "probes/programs/on_return.c",
		[SOURCE_ON_CALL] = "probes/programs/on_call.c",
		[SOURCE_ON_FREE] = "probes/programs/on_free.c",
		[SOURCE_ON_RESULT] = "probes/result.c",
	};
	struct source_run run = defaults();
	struct meanings meanings = {0};

	for (unsigned i = 0; i < SOURCE_PROGRAM_COUNT; i++) {
		run.programs = 1u << i;

		struct source *source = build(&run, &meanings);

		for (unsigned k = 0; k < SOURCE_PROGRAM_COUNT; k++)
			CHECK(!!strstr(source->text, names[k]) == (k == i));
		CHECK(!has_flag(source, "-DMAPS_ARE_THERE"));
		source_destroy(source);
	}

	run.programs = 1u << SOURCE_ON_FREE;
	run.sessions = true;
	run.one_process = true;
	run.maps_are_there = true;

	struct source *source = build(&run, &meanings);

	CHECK_CONTAINS(source->text, "probes/programs/on_free_here.c");
	CHECK(!strstr(source->text, "probes/programs/on_free.c"));
	CHECK(has_flag(source, "-DMAPS_ARE_THERE"));
	source_destroy(source);

	/* Without cookies, entries need separate programs. */
	run = defaults();
	run.cookies = false;
	run.programs =
		1u << SOURCE_ON_RETURN | 1u << SOURCE_ON_CALL | 1u << SOURCE_ON_FREE;
	source = build(&run, &meanings);
	CHECK_CONTAINS(source->text, "probes/programs/on_return.c");
	CHECK(!strstr(source->text, "probes/programs/on_call"));
	CHECK(!strstr(source->text, "probes/programs/on_free"));
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

/* The source does not depend on the start time of a run, nor on which blocks it selects,
 * so that runs share the code. */
static void runs_share_their_code(void)
{
	struct source_run run = defaults();
	struct meanings meanings = {0};
	struct source *one, *other;

	run.ticks.is_jiffies = true;
	run.ticks.start_jiffies = 1000;
	one = build(&run, &meanings);
	run.ticks.start_jiffies = 2000;
	run.stack_seed = 7;
	config.min_size_bytes = 100;
	config.max_size_bytes = 200;
	config.sampling.every = 50;
	other = build(&run, &meanings);
	config.min_size_bytes = 0;
	config.max_size_bytes = UINT64_MAX;
	config.sampling.every = 1;
	CHECK_INT(one->values.of[ABI_RUN_START], 1000);
	CHECK_INT(other->values.of[ABI_RUN_START], 2000);
	CHECK_INT(one->values.of[ABI_RUN_STACK_SEED], 0);
	CHECK_INT(other->values.of[ABI_RUN_STACK_SEED], 7);
	CHECK_STR(one->text, other->text);
	REQUIRE(one->flags.count == other->flags.count);
	for (size_t i = 0; i < one->flags.count; i++)
		CHECK_STR(one->flags.list[i], other->flags.list[i]);
	source_destroy(one);
	source_destroy(other);
	vec_deinit(&meanings.list);
}

static const struct kernel_offsets all_offsets = {
	.has_trampoline = true,
	.has_code_pages = true,
	.has_stack_ends = true,
	.has_instances = true,
	.has_task = true,
	.has_parent = true,
};

static bool has_fragment(const struct source_run *run, const char *name)
{
	struct meanings meanings = {0};
	struct source *source = build(run, &meanings);
	char line[128];
	bool has;

	snprintf(line, sizeof(line), "\n#line 1 \"probes/offsets/%s.c\"\n", name);
	has = strstr(source->text, line) != NULL;
	source_destroy(source);
	vec_deinit(&meanings.list);
	return has;
}

/* One of the two fragments is compiled, whatever offsets are known. */
static void check_offset(size_t flag, const char *name, const char *without)
{
	struct source_run run = defaults();
	bool *has = (bool *)((char *)&run.offsets + flag);

	run.rules = true;
	run.offsets = all_offsets;
	CHECK(has_fragment(&run, name) && !has_fragment(&run, without));
	*has = false;
	CHECK(!has_fragment(&run, name) && has_fragment(&run, without));
	run.offsets = (struct kernel_offsets){0};
	CHECK(!has_fragment(&run, name) && has_fragment(&run, without));
}

static void unknown_offsets_have_substitutes(void)
{
#define CHECK_OFFSET(flag, name)                                                         \
	check_offset(offsetof(struct kernel_offsets, flag), name, "no_" name)
	CHECK_OFFSET(has_trampoline, "trampoline");
	CHECK_OFFSET(has_trampoline, "put_back");
	CHECK_OFFSET(has_instances, "put_back");
	CHECK_OFFSET(has_instances, "return_instances");
	CHECK_OFFSET(has_code_pages, "code_pages");
	CHECK_OFFSET(has_stack_ends, "stack_ends");
	CHECK_OFFSET(has_parent, "parent");
	CHECK_OFFSET(has_parent, "shared_memory");
#undef CHECK_OFFSET
}

/* In another pid namespace the number of a parent is of no use. */
static void parents_are_of_the_initial_namespace(void)
{
	struct source_run run = defaults();

	run.offsets = all_offsets;
	run.pid_namespace.inode = 1;
	CHECK(has_fragment(&run, "no_parent") && !has_fragment(&run, "parent"));
	/* Structures of the kernel are compared, not numbers. */
	CHECK(has_fragment(&run, "shared_memory"));
}

/* The run with the most flags. */
static void all_flags_have_room(void)
{
	struct source_run run = defaults();
	struct meanings meanings = {0};
	struct source *source;

	run.scope = SCOPE_FORKS;
	run.execs = EXECS_ONLY;
	run.pid_namespace.inode = 1;
	run.programs = (1u << SOURCE_PROGRAM_COUNT) - 1;
	run.traffic = run.peak = run.mappings = run.rules = run.may_goto = true;
	run.ticks.is_jiffies = run.maps_are_there = true;
	run.offsets = all_offsets;
	config.unwind = UNWIND_CHOICE_RULES;
	config.sampling.every = 10;
	config.min_size_bytes = 16;
	source = build(&run, &meanings);
	CHECK(has_flag(source, "-DLAYOUTS="));
	source_destroy(source);
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

/* All that the newest kernels have, and what the oldest lack, with these processes. */
static void mark_kernels(struct source_run *run, unsigned *used)
{
	run->cookies = run->sessions = run->may_goto = run->checks = true;
	run->no_atomics = run->no_task_btf = false;
	run->offsets = all_offsets;
	run->mappings = run->rules = run->traffic = run->peak = true;
	config.sampling.mean_bytes = 4096;
	mark_fragments(run, used);
	run->traffic = false;
	mark_fragments(run, used);
	run->cookies = run->sessions = run->may_goto = run->checks = false;
	run->no_atomics = run->no_task_btf = true;
	run->offsets = (struct kernel_offsets){0};
	run->mappings = run->peak = false;
	config.sampling.mean_bytes = 0;
	mark_fragments(run, used);
	run->rules = false;
	run->traffic = true;
	mark_fragments(run, used);
}

static void each_fragment_belongs_to_some_run(void)
{
	const struct event_spec events[] = {{.kind = EVENT_PROFILE},
					    {.kind = EVENT_UPROBE}};
	const struct kernel_points points = {0};
	const struct kernel_trace kernel = {0};
	struct source_run run = defaults();
	unsigned used[128] = {0};
	size_t count = 0;

	run.kernel_points = &points;
	run.kernel = &kernel;
	run.programs = (1u << SOURCE_PROGRAM_COUNT) - 1;
	run.execs = EXECS_OF_AWAITED;
	for (size_t i = 0; i < TRACE_MODE_COUNT; i++) {
		run.mode = &trace_modes[i]->source;
		for (int scope = SCOPE_PROCESSES; scope <= SCOPE_ALL; scope++) {
			run.scope = (enum trace_scope)scope;
			run.one_process = scope == SCOPE_PROCESSES;
			run.event = &events[scope == SCOPE_ALL];
			run.pid_namespace.inode = scope == SCOPE_FORKS;
			mark_kernels(&run, used);
		}
	}
	for (; embedded_probes[count].name; count++)
		if (!used[count])
			CHECK_FAIL("no run needs %s", embedded_probes[count].name);
	CHECK(count > 30 && count < sizeof(used) / sizeof(*used));
}

static void scopes_are_compiled_in(void)
{
	struct source_run run = defaults();
	struct meanings meanings = {0};

	run.scope = SCOPE_ALL;

	struct source *source = build(&run, &meanings);

	CHECK_CONTAINS(source->text, "probes/scope/all.c");
	CHECK_INT(source->values.of[ABI_RUN_OWN_PID], getpid());
	source_destroy(source);

	run.scope = SCOPE_FORKS;
	run.offsets.has_task = true;
	run.offsets.has_task = true;
	run.offsets.task_pid = 2468;
	run.offsets.task_tgid = 2472;
	source = build(&run, &meanings);
	CHECK_CONTAINS(source->text, "probes/scope/forks.c");
	CHECK(has_flag(source, "-DOFFSET_TASK_PID=2468"));
	CHECK(has_flag(source, "-DOFFSET_TASK_TGID=2472"));
	CHECK(!strstr(source->text, "probes/scope/all.c"));
	CHECK(!strstr(source->text, "\"probes/scope/execs.c\""));
	source_destroy(source);

	run.execs = EXECS_OF_AWAITED;
	run.offsets.task_signal = 2000;
	run.offsets.signal_live = 4;
	source = build(&run, &meanings);
	CHECK_CONTAINS(source->text, "\"probes/scope/execs.c\"");
	CHECK(has_flag(source, "-DOFFSET_TASK_SIGNAL=2000"));
	CHECK(has_flag(source, "-DOFFSET_SIGNAL_LIVE=4"));
	CHECK(has_flag(source, "-DFOLLOW_EXECS_ONLY=0"));
	source_destroy(source);

	run.execs = EXECS_ONLY;
	source = build(&run, &meanings);
	CHECK_CONTAINS(source->text, "\"probes/scope/execs.c\"");
	CHECK(has_flag(source, "-DFOLLOW_EXECS_ONLY=1"));
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

int main(void)
{
	RUN(what_is_not_asked_for_is_not_there);
	RUN(only_wanted_programs_are_there);
	RUN(clang_optimizes_when_asked_for);
	RUN(without_cookies_each_site_has_its_program);
	RUN(later_probes_are_served);
	RUN(runs_share_their_code);
	RUN(unknown_offsets_have_substitutes);
	RUN(parents_are_of_the_initial_namespace);
	RUN(all_flags_have_room);
	RUN(each_fragment_belongs_to_some_run);
	RUN(scopes_are_compiled_in);
	RUN(sites_carry_their_arguments);
	RUN(without_atomics_all_is_in_hashes);
	RUN(registers_on_the_stack);
	return check_done();
}
