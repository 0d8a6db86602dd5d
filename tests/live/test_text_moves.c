// SPDX-License-Identifier: Apache-2.0
/*
 * Code that moves while it is traced: mremap puts other code at addresses that have
 * unwind rules. memtrace must count each stack that may be wrong.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "live/trace.h"

#define TIMES   50 /* as in targets/text_mover.c */
#define OPTIONS "--no-lines --unwind auto"

/* A place for a piece of code, and the calls through it. Its blocks have their own
 * size. */
struct place {
	int64_t size, returns_to, blocks;
	/* Anonymous memory since before the trace: frames without symbols. */
	bool is_anonymous;
	int64_t others; /* blocks of the same size from another caller */
};

struct run {
	struct live_process *target, *memtrace;
	struct place places[32];
	size_t count;
};

static struct run begin_with(const char *options)
{
	struct run run = {.target = target_start(TEXT_MOVER_BINARY)};

	run.memtrace = memtrace_start(live_pid(run.target), options);
	return run;
}

static struct run begin(void)
{
	return begin_with(OPTIONS);
}

/* Waits until all misses are resolved and their rules are installed. */
static void settle(struct run *run)
{
	json_decref(memtrace_report(run->memtrace));
}

static struct place *call(struct run *run, int piece)
{
	json_t *answer = oracle_ask(run->target, "call %d", piece);
	int64_t size = live_int(answer, "size"),
		returns_to = live_int(answer, "returns_to");
	size_t i = 0;

	json_decref(answer);
	while (i < run->count && run->places[i].size != size)
		i++;
	REQUIRE(i < sizeof(run->places) / sizeof(*run->places));
	if (i == run->count)
		run->places[run->count++] =
			(struct place){.size = size, .returns_to = returns_to};
	CHECK_INT(run->places[i].returns_to, returns_to);
	run->places[i].blocks += TIMES;
	return &run->places[i];
}

/* The first call causes the misses, the second one uses their rules. */
static struct place *call_twice(struct run *run, int piece)
{
	call(run, piece);
	settle(run);
	return call(run, piece);
}

/* Does the row have the real path: the callback, the code at the place, its callers? */
static bool is_path(const json_t *row, const struct place *place)
{
	static const char *const names[] = {"callback_allocates", NULL, "call_piece",
					    "obey", "main"};
	const json_t *frames = json_object_get(row, "frames");
	bool same = json_array_size(frames) > 5;

	for (size_t i = 0; same && i < sizeof(names) / sizeof(*names); i++) {
		const json_t *frame = json_array_get(frames, i);
		const char *symbol = json_string_value(json_object_get(frame, "symbol"));
		const char *address =
			json_string_value(json_object_get(frame, "address"));
		const char *module = json_string_value(json_object_get(frame, "module"));

		/* A frame's address is the return address minus 1. */
		same = (module && strstr(module, "text_mover")) ||
		       (!names[i] && place->is_anonymous);
		if (names[i])
			same = same && symbol && !strcmp(symbol, names[i]);
		else
			same = same &&
			       strtoll(address, NULL, 16) == place->returns_to - 1;
	}
	return same;
}

/* The numbers of blocks of a place whose stacks are right, cut short, or wrong. */
struct outcome {
	int64_t right, cut, wrong;
};

static struct outcome outcome_of(const json_t *report, const struct place *place)
{
	struct outcome outcome = {0};
	const json_t *row;
	size_t i;

	json_array_foreach (live_get(report, "heap.stacks"), i, row) {
		int64_t n = live_int(row, "blocks");
		const char *end = json_string_value(json_object_get(row, "end"));

		if (live_int(row, "size_bytes") != n * place->size)
			continue;
		if (!strcmp(end, "complete") && is_path(row, place))
			outcome.right += n;
		else if (!strcmp(end, "unlearned"))
			outcome.cut += n;
		else
			outcome.wrong += n;
	}
	printf("place %" PRId64 ": %" PRId64 " right, %" PRId64 " cut, %" PRId64
	       " wrong\n",
	       place->size, outcome.right, outcome.cut, outcome.wrong);
	return outcome;
}

/* Ends a run. All stacks must be right, and none may be lost. */
static void end_all_right(struct run *run)
{
	json_t *report = memtrace_stop(run->memtrace);

	for (size_t i = 0; i < run->count; i++) {
		struct outcome outcome = outcome_of(report, &run->places[i]);

		CHECK_INT(outcome.right, run->places[i].blocks);
		CHECK_INT(outcome.cut + outcome.wrong, 0);
	}
	CHECK_INT(compare_losses(report, NULL), 0);
	json_decref(report);
	live_destroy(run->target);
}

/* Ends a run. Stacks may be cut short if they are counted, but none may be wrong. */
static void end_none_wrong(struct run *run)
{
	json_t *report = memtrace_stop(run->memtrace);
	int64_t cut = 0;

	for (size_t i = 0; i < run->count; i++) {
		struct outcome outcome = outcome_of(report, &run->places[i]);

		CHECK_INT(outcome.right + outcome.cut, run->places[i].blocks);
		CHECK_INT(outcome.wrong, run->places[i].others);
		CHECK(outcome.right >= TIMES);
		cut += outcome.cut;
	}
	CHECK_INT(live_int(report, "losses.walks_lost"), cut);
	CHECK_INT(compare_losses(report, "walks_lost"), 0);
	json_decref(report);
	live_destroy(run->target);
}

/* Moves by the C library's mremap(): each stack is right. */
static void moved_by_the_library(void)
{
	struct run run = begin();

	for (int piece = 0; piece < 12; piece++)
		call_twice(&run, piece);
	oracle_do(run.target, "free 0 0");
	call_twice(&run, 0);
	oracle_do(run.target, "onto 2 3");
	call_twice(&run, 2);
	oracle_do(run.target, "swap 9 10");
	call_twice(&run, 9);
	call_twice(&run, 10);
	oracle_do(run.target, "keep 6 7");
	call_twice(&run, 6);
	oracle_do(run.target, "swap 9 10");
	call_twice(&run, 9);
	call_twice(&run, 10);

	end_all_right(&run);
}

/* memtrace did not watch for moves of this code yet: it had no rules for it. It now reads
 * the code again. Stacks that may be older are cut short and counted. Piece 0 has the
 * smallest frame: with its rule, unwinding in another piece finds a plausible caller. */
static void moved_before_its_rules_were_found(void)
{
	struct run run = begin();

	oracle_do(run.target, "free 1 0");
	oracle_do(run.target, "free 0 0");
	call_twice(&run, 5);
	oracle_do(run.target, "swap 0 1");
	call_twice(&run, 1);
	call_twice(&run, 0);
	end_none_wrong(&run);
}

/* A child starts with its parent's mappings, unless something has moved since memtrace
 * read them. */
static void moved_before_a_fork(void)
{
	struct run run = begin_with(OPTIONS " --follow-forks");

	call_twice(&run, 0);
	call_twice(&run, 1);
	oracle_do(run.target, "swap 0 1");
	oracle_do(run.target, "fork 0");
	call_twice(&run, 1);
	call_twice(&run, 0);
	end_none_wrong(&run);
}

/* memtrace did not watch for moves when this one began. Rules that it finds during the
 * move are invalid after it. Another thread makes the calls during the move. */
static void rules_found_while_it_moves(void)
{
	struct run run = begin();

	oracle_do(run.target, "held 1 0");
	call_twice(&run, 1)->others = TIMES;
	end_none_wrong(&run);
}

static bool same_addresses(const json_t *a, const json_t *b)
{
	bool same = json_array_size(a) == json_array_size(b);

	for (size_t i = 0; same && i < json_array_size(a); i++)
		same = json_equal(json_object_get(json_array_get(a, i), "address"),
				  json_object_get(json_array_get(b, i), "address"));
	return same;
}

/* The number of allocations of the most frequent complete path. *all: of all paths. */
static int64_t best_path(const json_t *report, int64_t *all)
{
	const json_t *row, *other, *rows = live_get(report, "heap.stacks");
	int64_t best = 0;
	size_t i, k;

	*all = 0;
	json_array_foreach (rows, i, row) {
		const json_t *frames = json_object_get(row, "frames");
		int64_t n = 0;

		*all += live_int(row, "traffic.allocations");
		if (strcmp(json_string_value(json_object_get(row, "end")), "complete") !=
		    0)
			continue;
		json_array_foreach (rows, k, other)
			if (same_addresses(frames, json_object_get(other, "frames")))
				n += live_int(other, "traffic.allocations");
		best = n > best ? n : best;
	}
	printf("%" PRId64 " of %" PRId64 " by one path\n", best, *all);
	return best;
}

#define CHILDREN 200

/* Children that end before memtrace reads their mappings are taken to have their
 * parent's. If code had moved in the parent, the stacks of the first children are stale,
 * and counted. */
static void children_of_movers(void)
{
	struct run run = begin_with(OPTIONS " --follow-forks --traffic");
	json_t *report;
	int64_t all, best;

	oracle_do(run.target, "swap 0 1");
	oracle_do(run.target, "children 1 %d", CHILDREN);
	report = memtrace_stop(run.memtrace);
	best = best_path(report, &all);
	CHECK_INT(all, CHILDREN * TIMES);
	CHECK(best >= (CHILDREN - 20) * TIMES);
	CHECK(best == all || live_int(report, "losses.walks_lost") > 0);
	CHECK_INT(compare_losses(report, "walks_lost"), 0);
	json_decref(report);
	live_destroy(run.target);
}

/* A large block that moves is not code, and must not make stacks stale. False if stacks
 * were lost. */
static bool move_blocks_and_fork(void)
{
	struct run run = begin_with(OPTIONS " --follow-forks --traffic");
	json_t *report;
	int64_t all, best;
	bool is_whole;

	oracle_do(run.target, "realloc 0");
	settle(&run);
	oracle_do(run.target, "realloc 3");
	oracle_do(run.target, "grandchildren 0 %d", CHILDREN);
	report = memtrace_stop(run.memtrace);
	best = best_path(report, &all);
	CHECK_INT(all, CHILDREN * TIMES + 5);
	is_whole = live_int(report, "losses.walks_lost") == 0;
	CHECK(!is_whole || best == CHILDREN * TIMES);
	CHECK_INT(compare_losses(report, "walks_lost"), 0);
	json_decref(report);
	live_destroy(run.target);
	return is_whole;
}

/* On a busy machine the kernel may drop the event of a child. If the moved blocks were
 * the cause, every try would fail. */
#define TRIES 3

static void children_of_movers_of_blocks(void)
{
	int tries = 1;

	while (!move_blocks_and_fork() && tries <= TRIES)
		tries++;
	CHECK(tries <= TRIES);
}

/* Moves that no probe sees. The kernel counts the pages of code, so memtrace notices a
 * changed number at the next miss. Stacks that may be older than the move are cut short
 * and counted. */
static void moved_by_system_calls(void)
{
	struct run run = begin();

	for (int piece = 0; piece < 4; piece++)
		call_twice(&run, piece);
	oracle_do(run.target, "raw_free 0 0");
	call(&run, 0);
	/* After it found nothing new, memtrace does not look again for a while. */
	live_sleep(0.1);
	call_twice(&run, 0);
	oracle_do(run.target, "raw_onto 2 3");
	call_twice(&run, 2);
	end_none_wrong(&run);
}

/* The number of pages of code stays the same: the old rules are used until memtrace reads
 * the mappings, at the latest for the next report. It counts the stacks of that time. */
static void swapped_by_system_calls(void)
{
	struct run run = begin();
	json_t *report;

	call_twice(&run, 0);
	call_twice(&run, 1);
	oracle_do(run.target, "raw_swap 0 1");
	call(&run, 0);
	call(&run, 1);
	report = memtrace_report(run.memtrace);

	int64_t lost = live_int(report, "losses.walks_lost"), cut = 0;

	for (size_t i = 0; i < run.count; i++)
		cut += outcome_of(report, &run.places[i]).cut;
	/* The count includes stacks that may be wrong. */
	CHECK(lost > cut);
	json_decref(report);
	for (int piece = 0; piece < 2; piece++)
		call_twice(&run, piece);
	report = memtrace_stop(run.memtrace);
	for (size_t i = 0; i < run.count; i++) {
		struct outcome outcome = outcome_of(report, &run.places[i]);

		CHECK(outcome.right >= run.places[i].blocks - TIMES);
	}
	CHECK(live_int(report, "losses.walks_lost") < lost + TIMES);
	json_decref(report);
	live_destroy(run.target);
}

/* A copy of the code in anonymous memory, at the same address: before the trace and
 * during it. */
static void copied(void)
{
	struct run run = {.target = target_start(TEXT_MOVER_BINARY)};

	oracle_do(run.target, "copy 3 3");
	run.memtrace = memtrace_start(live_pid(run.target), OPTIONS);
	call_twice(&run, 3)->is_anonymous = true;
	for (int piece = 5; piece < 8; piece++)
		call_twice(&run, piece);
	oracle_do(run.target, "copy 5 5");
	oracle_do(run.target, "copy 6 6");
	for (int piece = 5; piece < 8; piece++)
		call_twice(&run, piece);

	end_all_right(&run);
}

#define UNWOUND "stacks were unwound from copies"

/* Blocks that mremap grows are not code: stacks are still unwound by rules. */
static void large_blocks(void)
{
	struct run run = {.target = target_start(TEXT_MOVER_BINARY)};
	const char *said;
	json_t *report;

	run.memtrace = memtrace_start(live_pid(run.target), OPTIONS " -v");
	oracle_do(run.target, "realloc 10");
	settle(&run);
	oracle_do(run.target, "realloc 2000");
	live_signal(run.memtrace, SIGINT);
	report = live_read_json(run.memtrace, 30);
	REQUIRE(report);
	CHECK_INT(live_wait(run.memtrace, 30), 0);
	CHECK(live_int(report, "heap.totals.allocations") >= 2010);
	CHECK_INT(compare_losses(report, NULL), 0);
	said = strstr(live_stderr(run.memtrace), UNWOUND);
	REQUIRE(said);
	while (said > live_stderr(run.memtrace) && said[-1] != '\n')
		said--;

	int64_t walks = strtoll(said + strlen("memtrace: "), NULL, 10);

	printf("%" PRId64 " walks of 2010 were unwind misses\n", walks);
	CHECK(walks < 200);
	json_decref(report);
	live_destroy(run.memtrace);
	live_destroy(run.target);
}

int main(void)
{
	live_require_root();
	RUN(moved_by_the_library);
	RUN(moved_before_its_rules_were_found);
	RUN(moved_before_a_fork);
	RUN(rules_found_while_it_moves);
	RUN(children_of_movers);
	RUN(children_of_movers_of_blocks);
	RUN(moved_by_system_calls);
	RUN(swapped_by_system_calls);
	RUN(copied);
	RUN(large_blocks);
	return check_done();
}
