// SPDX-License-Identifier: Apache-2.0
/*
 * Stacks that begin in code without unwind information or lead through it: the start of a
 * coroutine, a context, a thread and a program, callbacks of musl, assembly, stubs, the
 * vDSO, and signal handlers on an alternate stack. Each is printed in full, and none is
 * marked as cut short.
 */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "live/trace.h"

#define TIMES   100 /* as in targets/true_ends.c */

#define TO_MAIN " run main"

static const struct scenario {
	const char *name;
	int64_t size;
	const char *path; /* the target's own functions, innermost first */
	int64_t blocks;   /* blocks on this path; 0: all */
} scenarios[] = {
	{"main", 3001, "main_allocates run_main" TO_MAIN, 0},
	{"thread", 3002, "thread_allocates thread_main", 0},
	{"qsort", 3003, "qsort_allocates qsort_compares run_qsort" TO_MAIN, 0},
	{"bsearch", 3004, "bsearch_allocates bsearch_compares run_bsearch" TO_MAIN, 0},
	{"framed", 3005, "framed_allocates assembly_with_frame run_framed" TO_MAIN, 0},
	{"unframed", 3006,
	 "unframed_allocates assembly_without_frame run_unframed" TO_MAIN, 0},
	{"coroutine", 3007, "coroutine_allocates coroutine_main coroutine_start", 0},
	{"clone", 3009, "clone_allocates clone_main", 0},
	{"vdso", 3011, "vdso_allocates on_timer reader_of_time run_vdso" TO_MAIN, 0},
	/* The signals interrupt two instructions of the stub. */
	{"stub", 3012, "stub_allocates on_trap stub stepper run_stub" TO_MAIN, 2 * TIMES},
};

/* The symbols of the target's own functions on a stack, joined by blanks. Owned. */
static char *own_names(const json_t *row)
{
	char *text = NULL;
	size_t size, i;
	FILE *f = open_memstream(&text, &size);
	const char *last = "";
	const json_t *frame;

	REQUIRE(f);
	json_array_foreach (json_object_get(row, "frames"), i, frame) {
		const char *symbol = json_string_value(json_object_get(frame, "symbol"));
		static const char *const parts[] = {
			"_allocates", "_compares",       "run",    "main",
			"assembly_",  "coroutine_start", "on_t",   "stub",
			"stepper",    "reader_of",       "raiser", "on_alternate"};
		bool is_own = false;

		for (size_t k = 0; symbol && k < sizeof(parts) / sizeof(*parts); k++)
			is_own |=
				strstr(symbol, parts[k]) && !strstr(symbol, "libc_start");
		/* Compilers split functions into parts. */
		if (!is_own || (!strcmp(symbol, last) && !strcmp(symbol, "on_timer")))
			continue;
		fprintf(f, "%s%s", *last ? " " : "", symbol);
		last = symbol;
	}
	fclose(f);
	return text;
}

static void check_scenario(const json_t *report, const struct scenario *s)
{
	int64_t found = 0, wanted = s->blocks ? s->blocks : TIMES;
	const json_t *row;
	size_t i;

	json_array_foreach (live_get(report, "heap.stacks"), i, row) {
		int64_t blocks = live_int(row, "blocks");
		char *names;

		if (live_int(row, "size_bytes") != blocks * s->size)
			continue;
		names = own_names(row);
		CHECK_STR(json_string_value(json_object_get(row, "end")), "complete");
		if (!strcmp(names, s->path))
			found += blocks;
		else if (!s->blocks)
			CHECK_STR(names, s->path);
		free(names);
	}
	CHECK_INT(found, wanted);
}

static void ask(struct live_process *target, const char *scenario)
{
	live_send(target, "%s", scenario);
	json_t *answer = live_read_json(target, 30);

	if (!answer)
		live_fail("no answer to %s", scenario);
	CHECK(json_object_get(answer, "ok"));
	json_decref(answer);
}

/* The first stacks may come before the unwind rules of the signal frame are known, and
 * the copy has only one of the two stacks. Later stacks are complete. */
static void check_alternate(const json_t *report)
{
	int64_t whole = 0, others = 0;
	const json_t *row;
	size_t i;

	json_array_foreach (live_get(report, "heap.stacks"), i, row) {
		int64_t blocks = live_int(row, "blocks");
		const char *end = json_string_value(json_object_get(row, "end"));

		if (live_int(row, "size_bytes") != blocks * 3010)
			continue;
		if (strcmp(end, "complete")) {
			CHECK_STR(end, "unreadable");
			others += blocks;
			continue;
		}

		char *names = own_names(row);

		CHECK_STR(
			names,
			"alternate_allocates on_alternate raiser run_alternate" TO_MAIN);
		free(names);
		whole += blocks;
	}
	CHECK(whole >= TIMES);
	CHECK_INT(whole + others, 2 * TIMES);
}

static void check_program(const char *program, bool has_contexts)
{
	const struct scenario context = {"context", 3008,
					 "context_allocates context_main", 0};
	struct live_process *target;

	printf("%s\n", program);
	if (access(program, X_OK)) {
		CHECK_SKIP_PART("%s could not be built here", program);
		return;
	}
	target = target_start(program);

	struct live_process *memtrace = memtrace_start(live_pid(target), "");

	ask(target, "alternate");
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(*scenarios); i++)
		ask(target, scenarios[i].name);
	if (has_contexts)
		ask(target, "context");
	live_sleep(0.3);
	ask(target, "alternate");

	json_t *report = memtrace_stop(memtrace);

	for (size_t i = 0; i < sizeof(scenarios) / sizeof(*scenarios); i++)
		check_scenario(report, &scenarios[i]);
	if (has_contexts)
		check_scenario(report, &context);
	check_alternate(report);
	CHECK_INT(compare_losses(report, "stacks_unreadable"), 0);
	json_decref(report);
	live_destroy(target);
}

static void glibc(void)
{
	check_program(TRUE_ENDS_BINARY, true);
}

static void glibc_static(void)
{
	check_program(ALLOCATORS_DIR "/true_ends_static", true);
}

static void musl(void)
{
	check_program(ALLOCATORS_DIR "/true_ends_musl", false);
}

static void musl_static(void)
{
	check_program(ALLOCATORS_DIR "/true_ends_musl_static", false);
}

/* io_uring's kernel threads have no user stack. */
static void check_uring(const char *options, size_t min_frames)
{
	struct live_process *target = target_start(TRUE_ENDS_BINARY);
	char words[128];

	snprintf(words, sizeof(words),
		 "--format json --top 0 -i 3600 --event "
		 "tracepoint:io_uring:io_uring_complete %s",
		 options);

	struct live_process *memtrace = memtrace_start_plain(live_pid(target), words);

	REQUIRE(live_wait_stderr(memtrace, "Ctrl-C ends", 60));
	ask(target, "uring");

	json_t *report = memtrace_stop(memtrace);
	const json_t *row;
	size_t i;

	if (!live_int(report, "events.count"))
		CHECK_NOT_FOR_KERNEL("io_uring is not allowed");
	else
		CHECK_INT(live_int(report, "events.count"), TIMES);
	json_array_foreach (live_get(report, "events.stacks"), i, row) {
		CHECK_STR(json_string_value(json_object_get(row, "end")), "complete");
		CHECK(json_array_size(json_object_get(row, "frames")) >= min_frames);
	}
	CHECK_INT(compare_losses(report, NULL), 0);
	json_decref(report);
	live_destroy(target);
}

static void io_uring(void)
{
	if (access("/sys/kernel/tracing/events/io_uring/io_uring_complete", F_OK)) {
		CHECK_NOT_FOR_KERNEL("no events of io_uring");
		return;
	}
	check_uring("", 0);
	check_uring("--kernel-stacks", 3);
}

int main(void)
{
	live_require_root();
	RUN(glibc);
	RUN(glibc_static);
	RUN(musl);
	RUN(musl_static);
	RUN(io_uring);
	return check_done();
}
