// SPDX-License-Identifier: Apache-2.0
/*
 * While its target sleeps, memtrace sleeps, too, whatever other processes do. The kernel
 * reports the programs that start and the code that is mapped on the whole machine: these
 * reports must not wake memtrace one by one.
 */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "live/threads.h"
#include "live/trace.h"
#include "neighbour.h"

/* memtrace looks around often for the first 2 s. */
#define SETTLE_S 4
#define IDLE_S   5

static void end_neighbour(pid_t pid)
{
	CHECK(!kill(pid, SIGKILL) && waitpid(pid, NULL, 0) == pid);
}

/* The wakeups of all threads of memtrace in a second, while programs start. */
static double wakeups_per_s(const struct live_process *memtrace)
{
	pid_t neighbour = neighbour_start();
	unsigned long before, after;

	REQUIRE(neighbour >= 0);
	live_sleep(SETTLE_S);
	before = threads_sum(live_pid(memtrace)).wakeups;
	live_sleep(IDLE_S);
	after = threads_sum(live_pid(memtrace)).wakeups;
	end_neighbour(neighbour);
	CHECK(before > 0 && after > before);
	return (double)(after - before) / IDLE_S;
}

/* Two threads wake for these reports, once a second or when a third of a ring is full,
 * and the main thread once a second to look around. */
#define WAKEUPS_MAX 20

static void check_sleeps(const char *options)
{
	struct live_process *oracle = oracle_start();
	struct live_process *memtrace = memtrace_start(live_pid(oracle), options);
	json_t *report;
	double per_s;

	oracle_do(oracle, "run keep 100 1");
	per_s = wakeups_per_s(memtrace);
	printf("%s: %.1f wakeups a second\n", options, per_s);
	CHECK(per_s <= WAKEUPS_MAX);
	report = memtrace_stop(memtrace);
	CHECK_INT(compare_losses(report, NULL), 0);
	json_decref(report);
	live_destroy(oracle);
}

static void sleeps_while_programs_start(void)
{
	check_sleeps("--unwind auto");
}

static void sleeps_while_it_follows_forks(void)
{
	check_sleeps("--unwind auto --follow-forks");
}

/* Traffic and mappings have rings of events. */
static void sleeps_while_rings_are_empty(void)
{
	check_sleeps("--unwind auto --traffic --mappings");
}

/* Wakeups of the processes that open and read files for memtrace. */
static unsigned long wakeups_of_helpers(const struct live_process *memtrace,
					unsigned *count)
{
	char path[64];
	unsigned long sum = 0;
	int pid = (int)live_pid(memtrace), child;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	file = fopen(path, "re");
	REQUIRE(file);
	for (*count = 0; fscanf(file, "%d", &child) == 1; ++*count)
		sum += threads_sum(child).wakeups;
	fclose(file);
	return sum;
}

static void read_reports(struct live_process *memtrace, unsigned count)
{
	while (count--) {
		json_t *report = live_read_json(memtrace, 60);

		REQUIRE(report);
		CHECK_INT(compare_losses(report, NULL), 0);
		json_decref(report);
	}
}

/* While the target does nothing, reports need no names and no mappings. */
static void reports_read_nothing_anew(void)
{
	struct live_process *oracle = oracle_start();
	struct live_process *memtrace =
		memtrace_start(live_pid(oracle), "--unwind auto -i 1");
	unsigned long before, after;
	unsigned helpers;
	json_t *report, *truth;

	oracle_do(oracle, "run keep 100 1");
	/* From the fourth report without a change on. */
	read_reports(memtrace, SETTLE_S + 2);
	before = wakeups_of_helpers(memtrace, &helpers);
	read_reports(memtrace, IDLE_S);
	after = wakeups_of_helpers(memtrace, &helpers);
	printf("%u helpers, %lu wakeups\n", helpers, after - before);
	CHECK(helpers > 0 && before > 0);
	CHECK_INT(after, before);

	/* What happens then is reported as ever. */
	oracle_do(oracle, "run mixed 1000 1");
	live_signal(memtrace, SIGINT);
	report = memtrace_report_of(memtrace, "stopped", NULL);
	truth = oracle_ask(oracle, "truth");
	CHECK_INT(compare_heap(truth, report, true), 0);
	CHECK_INT(compare_totals(truth, report), 0);
	CHECK_INT(compare_losses(report, NULL), 0);
	json_decref(report);
	json_decref(truth);
	live_destroy(memtrace);
	live_destroy(oracle);
}

/* Let the target allocate from the same places before each report. */
static void read_reports_of_same(struct live_process *memtrace,
				 struct live_process *oracle, unsigned count)
{
	while (count--) {
		oracle_do(oracle, "run keep 100 1");
		read_reports(memtrace, 1);
	}
}

/* While no stack is new, reports need no names and no mappings either. */
static void same_stacks_read_nothing_anew(void)
{
	struct live_process *oracle = oracle_start();
	struct live_process *memtrace =
		memtrace_start(live_pid(oracle), "--unwind auto -i 1");
	unsigned long before, after;
	unsigned helpers;
	json_t *report, *truth;

	read_reports_of_same(memtrace, oracle, SETTLE_S + 2);
	before = wakeups_of_helpers(memtrace, &helpers);
	read_reports_of_same(memtrace, oracle, IDLE_S);
	after = wakeups_of_helpers(memtrace, &helpers);
	printf("same stacks: %u helpers, %lu wakeups\n", helpers, after - before);
	CHECK(helpers > 0 && before > 0);
	CHECK_INT(after, before);

	/* New stacks have their names. */
	oracle_do(oracle, "run mixed 1000 1");
	live_signal(memtrace, SIGINT);
	report = memtrace_report_of(memtrace, "stopped", NULL);
	truth = oracle_ask(oracle, "truth");
	CHECK_INT(compare_heap(truth, report, true), 0);
	CHECK_INT(compare_totals(truth, report), 0);
	json_decref(report);
	json_decref(truth);
	live_destroy(memtrace);
	live_destroy(oracle);
}

/* Each page that a report allocates, or copies to, is a page fault. The table of hits has
 * 512 pages: more than these in five reports if each report copies it. */
#define FAULTS_MAX 500

/* As above for a mode that counts hits of an event: nor does a report copy the table of
 * hits. */
static void check_reads_nothing(struct live_process *memtrace)
{
	unsigned helpers;
	struct thread_sums before, after;
	unsigned long helped_before, helped_after;

	read_reports(memtrace, SETTLE_S + 2);
	helped_before = wakeups_of_helpers(memtrace, &helpers);
	before = threads_sum(live_pid(memtrace));
	read_reports(memtrace, IDLE_S);
	after = threads_sum(live_pid(memtrace));
	helped_after = wakeups_of_helpers(memtrace, &helpers);
	printf("%u helpers, %lu wakeups, %lu page faults\n", helpers,
	       helped_after - helped_before, after.faults - before.faults);
	CHECK(helpers > 0 && helped_before > 0 && before.faults > 0);
	CHECK_INT(helped_after, helped_before);
	CHECK(after.faults - before.faults <= FAULTS_MAX);
}

/* Without probes in the allocator: page faults and mappings are counted. */
static void growth_reads_nothing_anew(void)
{
	struct live_process *oracle = oracle_start();
	struct live_process *memtrace = memtrace_start_plain(
		live_pid(oracle), "--growth --format json --top 0 -i 1");
	json_t *report;

	REQUIRE(live_wait_stderr(memtrace, "tracing pid", 30));
	oracle_do(oracle, "run keep 10000 1");
	check_reads_nothing(memtrace);

	/* Mappings from then on have their stacks. */
	oracle_do(oracle, "run mappings 100 1");
	live_signal(memtrace, SIGINT);
	report = memtrace_report_of(memtrace, "stopped", NULL);
	CHECK(report_site(report, "mappings", "site_mmap").blocks > 0);
	json_decref(report);
	live_destroy(memtrace);
	live_destroy(oracle);
}

/* The hits of the stacks that contain this function. */
static int64_t hits_of(const json_t *report, const char *symbol)
{
	int64_t sum = 0;
	json_t *row;
	size_t i;

	json_array_foreach (live_get(report, "events.stacks"), i, row)
		if (row_has_symbol(row, symbol))
			sum += live_int(row, "count");
	return sum;
}

/* Each hit is counted once, before and after the reports that read nothing. */
static void events_read_nothing_anew(void)
{
	struct live_process *oracle = oracle_start();
	struct live_process *memtrace = memtrace_start_plain(
		live_pid(oracle),
		"--event uprobe:libc:malloc --format json --top 0 -i 1");
	json_t *report;

	REQUIRE(live_wait_stderr(memtrace, "tracing pid", 30));
	oracle_do(oracle, "run keep 10000 1");
	check_reads_nothing(memtrace);
	oracle_do(oracle, "run keep 1000 1");
	live_signal(memtrace, SIGINT);
	report = memtrace_report_of(memtrace, "stopped", NULL);
	CHECK_INT(hits_of(report, "site_keep"), 11000);
	json_decref(report);
	live_destroy(memtrace);
	live_destroy(oracle);
}

int main(void)
{
	live_require_root();
	RUN(sleeps_while_programs_start);
	RUN(sleeps_while_it_follows_forks);
	RUN(sleeps_while_rings_are_empty);
	RUN(reports_read_nothing_anew);
	RUN(same_stacks_read_nothing_anew);
	RUN(growth_reads_nothing_anew);
	RUN(events_read_nothing_anew);
	return check_done();
}
