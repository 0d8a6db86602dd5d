// SPDX-License-Identifier: Apache-2.0
/*
 * The program that keeps pointers in all places (targets/holder.c) under memtrace,
 * LeakSanitizer and Valgrind: what each calls lost, and how much of that is true.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "live/holder_sites.h"
#include "live/trace.h"
#include "util/cleanup.h"

/* Of the blocks that are leaks, how many were found; and how many others were called
 * lost. */
struct score {
	int64_t found, missed, wrong;
};

static struct score score(const int64_t lost[])
{
	struct score score = {0};

	for (size_t i = 0; i < HOLDER_SITES; i++)
		if (holder_sites[i].is_leak) {
			score.found += lost[i];
			score.missed += holder_sites[i].blocks - lost[i];
		} else {
			score.wrong += lost[i];
		}
	return score;
}

static void print(const char *checker, const struct score *score)
{
	printf("%s: %" PRId64 " leaked blocks found, %" PRId64 " missed, %" PRId64
	       " others called lost\n",
	       checker, score->found, score->missed, score->wrong);
}

/* The first function of the holder's sites that is named from here on, before `end`. */
static size_t site_in(const char *text, const char *end)
{
	const char *at = strstr(text, "site_");
	size_t length;

	if (!at || at >= end)
		return HOLDER_SITES;
	length = strspn(at, "abcdefghijklmnopqrstuvwxyz_");
	for (size_t i = 0; i < HOLDER_SITES; i++)
		if (strlen(holder_sites[i].name) == length &&
		    !strncmp(holder_sites[i].name, at, length))
			return i;
	return HOLDER_SITES;
}

/* Read the paragraphs of a checker's output: those with one of the texts `says` are of
 * lost blocks, and have their number before the word `unit`. */
static void read_paragraphs(const char *text, const char *blank,
			    const char *const says[2], const char *unit, int64_t lost[])
{
	for (const char *at = text, *end; *at; at = end) {
		const char *said, *number;
		size_t site;

		end = strstr(at, blank);
		end = end ? end + strlen(blank) : at + strlen(at);
		said = strstr(at, says[0]);
		if (!said || said >= end)
			said = strstr(at, says[1]);
		number = strstr(at, unit);
		if (!said || said >= end || !number || number >= end)
			continue;
		site = site_in(at, end);
		while (number > at && number[-1] >= '0' && number[-1] <= '9')
			number--;
		if (site < HOLDER_SITES)
			lost[site] += strtoll(number, NULL, 10);
	}
}

/* Run the program under a checker: its output. */
static char *run_checked(const char *const argv[])
{
	struct live_process *target = live_start(argv);
	char *text;

	REQUIRE(live_read_line(target, 60));
	oracle_do(target, "make");
	oracle_do(target, "check");
	REQUIRE(asprintf(&text, "%s\n\n", live_stderr(target)) > 0);
	live_destroy(target);
	return text;
}

static void check_peer(const char *name, const int64_t lost[], bool is_lsan)
{
	for (size_t i = 0; i < HOLDER_SITES; i++) {
		const struct holder_site *site = &holder_sites[i];
		int64_t want = is_lsan ? site->by_lsan : site->by_valgrind;

		check_state.checks++;
		if (lost[i] != want)
			CHECK_FAIL("%s: %s: %" PRId64 " lost, expected %" PRId64, name,
				   site->name, lost[i], want);
	}
}

static void under_lsan(struct score *ret)
{
	const char *const argv[] = {"/usr/bin/env", "LSAN_OPTIONS=detect_leaks=1",
				    HOLDER_LSAN_BINARY, NULL};
	const char *const says[] = {"Direct leak of", "Indirect leak of"};
	_cleanup_(freep) char *text = run_checked(argv);
	int64_t lost[HOLDER_SITES] = {0};

	read_paragraphs(text, "\n\n", says, " object(s) allocated", lost);
	check_peer("LeakSanitizer", lost, true);
	*ret = score(lost);
}

static void under_valgrind(struct score *ret)
{
	const char *const argv[] = {"/usr/bin/valgrind", "--leak-check=full",
				    "--show-leak-kinds=definite,indirect", HOLDER_BINARY,
				    NULL};
	const char *const says[] = {"definitely lost in loss record",
				    "indirectly lost in loss record"};
	_cleanup_(freep) char *text = run_checked(argv);
	int64_t lost[HOLDER_SITES] = {0};

	read_paragraphs(text, "== \n", says, " blocks are ", lost);
	check_peer("Valgrind", lost, false);
	*ret = score(lost);
}

/* The lost blocks of a site, directly or not: of the list, the rest counts for the
 * head. */
static void under_memtrace(struct score *ret)
{
	struct live_process *target = target_start(HOLDER_BINARY), *memtrace;
	int64_t lost[HOLDER_SITES] = {0}, held = 0;
	json_t *report, *row;
	size_t i;

	memtrace = memtrace_start(live_pid(target), "--unreachable");
	oracle_do(target, "make");
	report = memtrace_stop(memtrace);
	json_array_foreach (live_get(report, "heap.stacks"), i, row) {
		const char *name = row_site(row);
		size_t site = name ? site_in(name, name + strlen(name)) : HOLDER_SITES;
		const json_t *found = json_object_get(row, "unreachable");

		if (site == HOLDER_SITES)
			continue;
		lost[site] += live_int(found, "lost_blocks");
		held += live_int(found, "held_blocks");
	}
	for (i = 0; i < HOLDER_SITES; i++) {
		CHECK_INT(lost[i], holder_sites[i].lost);
		held -= holder_sites[i].held;
		/* What is held is in this site, or in the one that the list has besides.
		 */
		if (holder_sites[i].is_leak && lost[i] + holder_sites[i].held)
			lost[i] = holder_sites[i].blocks;
		if (!strcmp(holder_sites[i].name, "site_list_rest"))
			lost[i] = lost[i - 1] ? holder_sites[i].blocks : 0;
	}
	CHECK_INT(held, 0);
	*ret = score(lost);
	json_decref(report);
	live_destroy(target);
}

static void each_calls_lost_what_is_expected(void)
{
	struct score memtrace, lsan, valgrind;

	under_memtrace(&memtrace);
	under_lsan(&lsan);
	under_valgrind(&valgrind);
	print("memtrace", &memtrace);
	print("LeakSanitizer", &lsan);
	print("Valgrind", &valgrind);
	/* As docs/unreachable.md has it. */
	CHECK_INT(memtrace.found, 16);
	CHECK_INT(memtrace.missed, 1);
	CHECK_INT(memtrace.wrong, 1);
	CHECK_INT(lsan.found, 17);
	CHECK_INT(lsan.missed, 0);
	CHECK_INT(lsan.wrong, 9);
	CHECK_INT(valgrind.found, 17);
	CHECK_INT(valgrind.missed, 0);
	CHECK_INT(valgrind.wrong, 7);
}

int main(void)
{
	live_require_root();
	if (access("/usr/bin/valgrind", X_OK))
		check_skip("no /usr/bin/valgrind (package valgrind)");
	RUN(each_calls_lost_what_is_expected);
	return check_done();
}
