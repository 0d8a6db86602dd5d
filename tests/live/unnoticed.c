// SPDX-License-Identifier: Apache-2.0
#include "live/unnoticed.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "live/family.h"
#include "live/preload.h"
#include "live/trace.h"

#define TIMEOUT_S 120 /* the targets give up after 60 */

const char *const unnoticed_allocators[] = {"libc.so.6", "libjemalloc.so.2",
					    "libtcmalloc_minimal.so.4",
					    "libmimalloc.so.2", NULL};

/* How a target is run. */
enum way {
	ALONE,
	ATTACHED,   /* --pid, while the target waits for its first line */
	LAUNCHED,   /* memtrace -- PROGRAM */
	BY_LIBRARY, /* --all --lib FILE --sample-every 100, started before the target */
	COUNTED,    /* like ATTACHED, with --min-size COUNTED_SIZE (targets/answer.h) */
};

static const char *const way_names[] = {"alone", "attached", "launched", "by library",
					"counted"};

/* What a target did. */
struct outcome {
	char *said;     /* its stdout without the line with the counts */
	json_t *truth;  /* its own counts; NULL: it ended before it printed them */
	char *errors;   /* what it wrote to stderr */
	int status;     /* as from live_wait() */
	json_t *report; /* memtrace's report, NULL for ALONE */
};

static void outcome_free(struct outcome *outcome)
{
	free(outcome->said);
	free(outcome->errors);
	json_decref(outcome->truth);
	json_decref(outcome->report);
}

static void append(char **text, const char *line)
{
	char *longer;

	if (asprintf(&longer, "%s%s\n", *text ? *text : "", line) < 0)
		live_fail("out of memory");
	free(*text);
	*text = longer;
}

static void await_ready(struct live_process *process)
{
	json_t *ready = live_read_json(process, TIMEOUT_S);

	if (!ready)
		live_fail("the target did not start: %s", live_stderr(process));
	json_decref(ready);
}

/* Let the target work, and read its answer: one line, then its counts. */
static void ask(struct live_process *process, struct outcome *outcome)
{
	char *line;

	live_send(process, "go");
	line = live_read_line(process, TIMEOUT_S);
	append(&outcome->said, line ? line : "(it said nothing)");
	free(line);
	outcome->truth = live_read_json(process, TIMEOUT_S);
}

/* Close its stdin, which ends the target, and wait for the end. */
static void finish(struct live_process *process, struct outcome *outcome)
{
	char *line;

	outcome->status = live_wait(process, TIMEOUT_S);
	outcome->errors = strdup(live_stderr(process));
	while ((line = live_read_line(process, 0.1))) {
		append(&outcome->said, line);
		free(line);
	}
	live_destroy(process);
}

/* Stop memtrace. It may have ended already, with the target. */
static json_t *end_trace(struct live_process *memtrace)
{
	live_signal(memtrace, SIGINT);

	json_t *report = live_read_json(memtrace, TIMEOUT_S);

	CHECK(report != NULL);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	live_destroy(memtrace);
	return report;
}

static struct outcome run_alone(const char *library, const char *const argv[])
{
	struct outcome outcome = {0};
	struct live_process *process = preload_start(library, argv);

	await_ready(process);
	ask(process, &outcome);
	finish(process, &outcome);
	return outcome;
}

static struct outcome run_attached(const char *library, const char *const argv[],
				   const char *options)
{
	struct outcome outcome = {0};
	struct live_process *process = preload_start(library, argv), *memtrace;

	await_ready(process);
	memtrace = memtrace_start(live_pid(process), options);
	ask(process, &outcome);
	outcome.report = end_trace(memtrace);
	finish(process, &outcome);
	return outcome;
}

/* The library is preloaded into memtrace, too: the target inherits its environment. */
static struct outcome run_launched(const char *library, const char *const argv[])
{
	static unsigned runs;
	char name[32];

	snprintf(name, sizeof(name), "report-%u.json", runs++);

	char *path = live_path(name);
	const char *const words[] = {memtrace_path, "--format", "json",  "-o",    path,
				     "--",          argv[0],    argv[1], argv[2], NULL};
	struct outcome outcome = {0};
	struct live_process *memtrace = preload_start(library, words);

	await_ready(memtrace);
	ask(memtrace, &outcome);
	finish(memtrace, &outcome);
	outcome.report = json_load_file(path, 0, NULL);
	check_state.checks++;
	if (!outcome.report)
		CHECK_FAIL("no report: memtrace exited with status %d and printed: %s",
			   outcome.status, outcome.errors);
	/* memtrace writes to the same stderr. */
	free(outcome.errors);
	outcome.errors = NULL;
	free(path);
	return outcome;
}

/* Trace a private copy of the library, so that no other process is traced. */
static struct outcome run_by_library(const char *library, const char *const argv[])
{
	char *copy = preload_copy(library);
	struct outcome outcome = {0};
	struct live_process *memtrace =
		memtrace_with("--all --lib %s --sample-every 100", copy);
	struct live_process *process;

	memtrace_await(memtrace);
	process = preload_start(copy, argv);
	await_ready(process);
	ask(process, &outcome);
	outcome.report = end_trace(memtrace);
	finish(process, &outcome);
	free(copy);
	return outcome;
}

static struct outcome run(const char *library, const char *const argv[], enum way way)
{
	switch (way) {
	case ALONE:
		return run_alone(library, argv);
	case ATTACHED:
		return run_attached(library, argv, "--unwind auto");
	case LAUNCHED:
		return run_launched(library, argv);
	case BY_LIBRARY:
		return run_by_library(library, argv);
	case COUNTED:
		break;
	}
	return run_attached(library, argv, "--unwind auto --min-size 20000");
}

static void check_same(const struct outcome *traced, const struct outcome *alone)
{
	CHECK_INT(traced->status, alone->status);
	CHECK_STR(traced->said, alone->said);
	if (traced->errors)
		CHECK_STR(traced->errors, alone->errors);
}

/* Some of the small blocks that each target allocates must be in the report. */
static void check_traced(const struct outcome *outcome)
{
	CHECK(outcome->report &&
	      live_int(outcome->report, "heap.totals.allocations") > 0);
}

static void check_counts(const struct outcome *outcome)
{
	json_t *totals = live_get(outcome->report, "heap.totals");
	int64_t bytes = live_int(outcome->truth, "bytes");
	int64_t failures = live_int(outcome->truth, "failures");
	int64_t left =
		live_int(outcome->truth, "left") - live_int(outcome->truth, "unseen");

	CHECK_INT(live_int(totals, "allocations"),
		  live_int(outcome->truth, "allocations"));
	CHECK_INT(live_int(totals, "frees"), live_int(outcome->truth, "frees"));
	CHECK_INT(live_int(outcome->report, "heap.live_blocks"), 0);
	/* All blocks have been freed. */
	CHECK_INT(live_int(totals, "allocated_bytes"), bytes);
	CHECK_INT(live_int(totals, "freed_bytes"), bytes);
	/* A call that ends with an exception has failed or was abandoned. */
	CHECK_INT(live_int(totals, "failures") +
			  live_int(outcome->report, "losses.calls_abandoned"),
		  failures + left);
	CHECK_INT(compare_losses(outcome->report, "calls_abandoned"), 0);
}

/* Say to which run the failed checks above belong. */
static void name_failures(const struct unnoticed *target, enum way way,
			  unsigned failures_before)
{
	if (check_state.failures != failures_before)
		fprintf(stderr, "  so %s %s with %s, %s\n",
			strrchr(target->program, '/') + 1, target->work,
			target->allocator, way_names[way]);
}

void unnoticed_check(const struct unnoticed *target)
{
	const char *const argv[] = {target->program, target->work, NULL};
	char *library = preload_find(target->allocator);

	if (!library)
		return;

	struct outcome alone = run(library, argv, ALONE);

	REQUIRE((alone.status != 0) == target->fails);
	for (enum way way = ATTACHED; way <= COUNTED; way++) {
		unsigned before = check_state.failures;

		if (target->fails && way == COUNTED)
			continue;

		struct outcome traced = run(library, argv, way);

		check_same(&traced, &alone);
		if (way != COUNTED)
			check_traced(&traced);
		else if (traced.truth)
			check_counts(&traced);
		name_failures(target, way, before);
		outcome_free(&traced);
	}
	outcome_free(&alone);
	free(library);
}

/* Begin the check in a new process, which exits with 1 if it fails. */
static pid_t begin_check(const struct unnoticed *target)
{
	pid_t child;

	fflush(NULL);
	child = fork();
	REQUIRE(child >= 0);
	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	check_state = (struct check_state){0};
	unnoticed_check(target);
	exit(check_state.failures > 0);
}

/* 0: none. */
static void end_check(pid_t child)
{
	int status;

	if (!child)
		return;
	REQUIRE(waitpid(child, &status, 0) == child);
	CHECK_INT(status, 0);
}

void unnoticed_check_each(const char *program, const char *work, const char *failing)
{
	pid_t before = 0, child;

	for (const char *const *name = unnoticed_allocators; *name; name++) {
		child = begin_check(&(struct unnoticed){
			program, work, *name, failing && strstr(*name, failing)});
		end_check(before);
		before = child;
	}
	end_check(before);
}
