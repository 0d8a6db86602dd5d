// SPDX-License-Identifier: Apache-2.0
/*
 * A library with functions that jump into data, overlap, end without a ret, or have
 * 100,000 basic blocks. memtrace names them, probes only what their first instructions
 * show, and uses no return probe. The process goes on as without memtrace.
 */
#include <stdbool.h>

#include "check.h"
#include "live/text_changes.h"
#include "live/trace.h"
#include "live/trampoline.h"

#define TIMEOUT_S 30
#define CALLS     100 /* of each function in a round (targets/malformed_caller.c) */

static const struct {
	const char *name, *why;
} malformed[] = {
	{"malloc", "it is too long"},
	{"calloc", "it jumps to where the file has no code"},
	{"realloc", "instructions overlap"},
	{"memalign", "it goes on behind its end"},
	{"aligned_alloc", "another function overlaps it"},
	{"reallocarray", "another function overlaps it"},
};

static struct live_process *start(void)
{
	const char *const argv[] = {MALFORMED_CALLER, MALFORMED_LIBRARY, NULL};
	struct live_process *target = live_start(argv);
	json_t *ready = live_read_json(target, TIMEOUT_S);

	REQUIRE(ready);
	json_decref(ready);
	return target;
}

/* The answer of the target to a round. */
static int64_t work(struct live_process *target)
{
	json_t *answer;
	int64_t last;

	live_send(target, "work");
	answer = live_read_json(target, TIMEOUT_S);
	REQUIRE(answer);
	last = live_int(answer, "last");
	json_decref(answer);
	answer = live_read_json(target, TIMEOUT_S);
	REQUIRE(answer);
	json_decref(answer);
	return last;
}

static const char *line_of(char *ret, size_t size, size_t n, const char *words)
{
	snprintf(ret, size, "%s %s: its code is malformed: %s", malformed[n].name, words,
		 malformed[n].why);
	return ret;
}

static void they_are_named(void)
{
	struct live_process *target = start(), *memtrace;
	char line[256], *out = NULL, *next;
	size_t size = 0;
	FILE *text = open_memstream(&out, &size);

	REQUIRE(text);
	memtrace = memtrace_start_plain(live_pid(target),
					"--dry-run --lib " MALFORMED_LIBRARY);
	while ((next = live_read_line(memtrace, TIMEOUT_S))) {
		fprintf(text, "%s\n", next);
		free(next);
	}
	fclose(text);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	for (size_t n = 0; n < sizeof(malformed) / sizeof(*malformed); n++)
		CHECK_CONTAINS(out, line_of(line, sizeof(line), n, "is not probed"));
	CHECK(!strstr(out, " return "));
	free(out);
	live_destroy(memtrace);
	live_destroy(target);
}

/* True if the breakpoints of a function with one of these names are all there are. */
static void check_breakpoints(const struct changes *changes, void *library)
{
	static const char *const probed[] = {"valloc", "pvalloc", "free"};
	ElfW(Sym) * symbols[3];
	uintptr_t base = 0;
	Dl_info info;

	for (size_t n = 0; n < 3; n++) {
		REQUIRE(dladdr1(dlsym(library, probed[n]), &info, (void **)&symbols[n],
				RTLD_DL_SYMENT));
		base = (uintptr_t)info.dli_fbase;
	}
	CHECK(base && changes->count >= 3);
	for (size_t i = 0; i < changes->count; i++) {
		bool is_known = false;

		for (size_t n = 0; n < 3; n++)
			is_known |= changes->offset[i] - symbols[n]->st_value <
				    symbols[n]->st_size;
		if (!is_known)
			CHECK_FAIL("a breakpoint is at offset %#llx",
				   (unsigned long long)changes->offset[i]);
	}
}

static void they_run_as_before(void)
{
	struct live_process *alone = start(), *target = start(), *memtrace;
	void *library = dlopen(MALFORMED_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	struct changes changes;
	char line[256];
	json_t *report;

	REQUIRE(library);
	memtrace = memtrace_start(live_pid(target), "--lib " MALFORMED_LIBRARY);
	for (size_t n = 0; n < sizeof(malformed) / sizeof(*malformed); n++)
		CHECK_CONTAINS(live_stderr(memtrace),
			       line_of(line, sizeof(line), n, "cannot be traced"));
	CHECK_INT(trampoline_links(live_pid(memtrace)), 0);
	CHECK_INT(work(target), work(alone));
	live_sleep(
		1.5); /* the sites of valloc() and pvalloc() are checked for a second */
	changes = find_changes(live_pid(target), strrchr(MALFORMED_LIBRARY, '/') + 1);
	check_breakpoints(&changes, library);
	CHECK_INT(work(target), work(alone));
	report = memtrace_stop(memtrace);
	CHECK(live_is_running(target));
	CHECK_INT(live_int(report, "losses.functions_untraced"),
		  sizeof(malformed) / sizeof(*malformed));
	/* Of seven functions that are called, memtrace sees two, and all frees. */
	CHECK_INT(live_int(report, "heap.totals.allocations"), 2 * 2 * CALLS);
	CHECK_INT(live_int(report, "heap.totals.frees"), 2 * 2 * CALLS / 2);
	CHECK_INT(live_int(report, "heap.totals.frees_unknown"), 2 * 5 * CALLS / 2);
	json_decref(report);
	dlclose(library);
	live_destroy(target);
	live_destroy(alone);
}

int main(void)
{
	live_require_root();
	RUN(they_are_named);
	RUN(they_run_as_before);
	return check_done();
}
