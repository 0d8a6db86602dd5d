// SPDX-License-Identifier: Apache-2.0
/* Call paths that many processes share: each is one stack and one row, with symbols. */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "live/family.h"

static struct probes *probes_before;

/* The row of a site, or NULL unless there is exactly one. Borrowed. */
static const json_t *only_row(const json_t *report, const char *site)
{
	const json_t *row, *found = NULL;
	size_t i, count = 0;

	json_array_foreach (live_get(report, "heap.stacks"), i, row) {
		const char *name = row_site(row);

		if (!name || strcmp(name, site) != 0)
			continue;
		found = row;
		count++;
	}
	CHECK_INT(count, 1);
	return count == 1 ? found : NULL;
}

static size_t count_unnamed(const json_t *row)
{
	const json_t *frame;
	size_t i, count = 0;

	json_array_foreach (live_get(row, "frames"), i, frame)
		count += !json_is_string(json_object_get(frame, "module"));
	return count;
}

/* Show where the blocks are. */
static void print_rows(const json_t *report)
{
	const json_t *row;
	size_t i;

	printf("  %" PRId64 " walks were lost\n", live_int(report, "losses.walks_lost"));
	json_array_foreach (live_get(report, "heap.stacks"), i, row) {
		char *text = json_dumps(row, JSON_COMPACT);

		printf("  %.2000s\n", text ? text : "");
		free(text);
	}
}

/* `processes` have `blocks` blocks of `bytes` each at the site. On a busy machine some
 * stacks are lost, and reported so: their blocks are in rows without the site. */
static void check_row(const json_t *report, const char *site, int64_t processes,
		      int64_t blocks, int64_t bytes)
{
	int64_t most_lost = live_int(report, "losses.walks_lost"), lost, sum = 0;
	const json_t *row = only_row(report, site), *each;
	size_t i;

	if (!row)
		return;
	lost = blocks - live_int(row, "blocks");
	if (lost > most_lost)
		print_rows(report);
	CHECK(lost >= 0 && lost <= most_lost);
	CHECK_INT(live_int(row, "size_bytes"), (blocks - lost) * bytes);
	CHECK_INT(count_unnamed(row), 0);
	/* A report of one process does not name it in each row. */
	if (json_array_size(live_get(report, "targets")) == 1)
		return;
	CHECK((int64_t)json_array_size(live_get(row, "processes")) >= processes - lost);
	json_array_foreach (live_get(row, "processes"), i, each)
		sum += live_int(each, "blocks");
	CHECK_INT(sum, blocks - lost);
}

/* Most of the children end before memtrace can read their mappings. */
static void children_of_a_server(void)
{
	struct live_process *target = family_start(NULL);
	struct live_process *memtrace =
		memtrace_by_path("--follow-forks --pid %d", (int)live_pid(target));
	json_t *report;

	memtrace_await(memtrace);
	oracle_do(target, "children 1000");
	report = memtrace_report(memtrace);
	check_row(report, "site_child", 1000, 3 * 1000, 40);
	CHECK_INT(live_int(report, "losses.stacks_full"), 0);
	check_books_but(report, "walks_lost");
	json_decref(report);

	/* The next children use the same path, and no counts of the earlier ones are
	 * left. */
	oracle_do(target, "children 10");
	report = memtrace_report(memtrace);
	check_row(report, "site_child", 10, 3 * 10, 40);
	json_decref(report);
	family_finish(target);
	json_decref(memtrace_end(memtrace, 0));
	live_destroy(target);
}

/* Like a server's children that look up a user's name: they load a library, so their
 * mappings differ from the server's. They end before memtrace can read them. */
static void children_that_load_a_library(void)
{
	struct live_process *target = family_start(NULL);
	struct live_process *memtrace =
		memtrace_by_path("--follow-forks --pid %d", (int)live_pid(target));
	json_t *report;

	memtrace_await(memtrace);
	oracle_do(target, "loading " LIBRARY_A " 200");
	report = memtrace_report(memtrace);
	check_row(report, "site_child", 200, 3 * 200, 40);
	CHECK_INT(live_int(report, "losses.stacks_full"), 0);
	check_books_but(report, "walks_lost");
	json_decref(report);
	family_finish(target);
	json_decref(memtrace_end(memtrace, 0));
	live_destroy(target);
}

/* Start and end processes on each processor until the kernel's reports of them fill
 * memtrace's rings. A ring has 0.5 MiB at most, and a process takes some 0.5 KiB. */
static void fill_rings(void)
{
	cpu_set_t allowed, one;

	REQUIRE(!sched_getaffinity(0, sizeof(allowed), &allowed));
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &allowed))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		REQUIRE(!sched_setaffinity(0, sizeof(one), &one));
		REQUIRE(!system("for i in $(seq 2000); do /bin/true; done"));
	}
	REQUIRE(!sched_setaffinity(0, sizeof(allowed), &allowed));
}

/* So many processes start that the kernel cannot report all of them. The blocks of each
 * are counted, and a line says why code has no names. */
static void more_processes_than_memtrace_can_follow(void)
{
	struct live_process *target = family_start(NULL);
	struct live_process *memtrace =
		memtrace_by_path("--follow-forks --pid %d", (int)live_pid(target));
	json_t *report;

	memtrace_await(memtrace);
	live_signal(memtrace, SIGSTOP);
	fill_rings();
	/* No ring has room for the reports of these. */
	oracle_do(target, "children 20");
	live_signal(memtrace, SIGCONT);
	report = memtrace_report(memtrace);
	CHECK_INT(live_int(report, "heap.live_blocks"), 20 * 3);
	/* The report may come first. */
	CHECK(live_wait_stderr(memtrace, "reports of the kernel about them were lost",
			       30));
	CHECK_INT(live_count(live_stderr(memtrace), "reports of the kernel about them "
						    "were lost"),
		  1);
	json_decref(report);
	family_finish(target);
	json_decref(memtrace_end(memtrace, 0));
	live_destroy(target);
}

/* Address space randomization: each process has its code at another address. */
static void runs_of_a_program(void)
{
	json_t *report = memtrace_end(
		memtrace_by_path("--follow-forks -- %s 6 5 300", SPAWNER_BINARY), 0);
	struct site_sum sum;

	check_row(report, "site_of_child", 30, 30 * 100, 100);
	check_books(report);
	json_decref(report);

	report = memtrace_end(
		memtrace_with("--follow-forks -- %s 6 5 300", SPAWNER_BINARY), 0);
	sum = sum_of(report, "heap", 0, "site_of_child", NULL);
	CHECK_INT(sum.blocks, 30 * 100);
	CHECK_INT(sum.bytes, 30 * 100 * 100);
	CHECK_INT(json_array_size(live_get(report, "heap.stacks")), 30);
	json_decref(report);
}

/* Most of the processes end before memtrace can read their mappings. The kernel has
 * reported the mappings to memtrace. */
static void runs_that_nobody_has_seen(void)
{
	json_t *report = memtrace_end(
		memtrace_by_path("--follow-forks -- %s 100 1 0", SPAWNER_BINARY), 0);
	const json_t *row, *frame;
	size_t i;

	check_row(report, "site_of_child", 100, 100 * 100, 100);
	frame = json_array_get(live_get(only_row(report, "site_of_child"), "frames"), 0);
	CHECK(strstr(json_string_value(json_object_get(frame, "file")), "spawner.c"));
	json_array_foreach (live_get(report, "heap.stacks"), i, row)
		CHECK_INT(count_unnamed(row), 0);
	json_decref(report);
}

/* The program is deleted, too. memtrace knows the offset in the file of each call. */
static void runs_of_a_program_that_is_deleted(void)
{
	json_t *report = memtrace_end(
		memtrace_by_path("--no-lines --follow-forks -- sh -c "
				 "cp${IFS}%s${IFS}/tmp/memtrace-spawner;"
				 "/tmp/memtrace-spawner${IFS}20${IFS}1${IFS}0;"
				 "rm${IFS}/tmp/memtrace-spawner",
				 SPAWNER_BINARY),
		0);
	const json_t *row;
	size_t i, blocks = 0;

	json_array_foreach (live_get(report, "heap.stacks"), i, row) {
		CHECK_INT(count_unnamed(row), 0);
		if (live_int(row, "size_bytes") == 100 * live_int(row, "blocks"))
			blocks += (size_t)live_int(row, "blocks");
	}
	CHECK(blocks >= 20 * 100);
	json_decref(report);
}

static const json_t *row_of_size(const json_t *report, int64_t size_bytes)
{
	const json_t *row;
	size_t i;

	json_array_foreach (live_get(report, "heap.stacks"), i, row)
		if (live_int(row, "size_bytes") == size_bytes)
			return row;
	live_fail("no row of %d bytes", (int)size_bytes);
	return NULL;
}

static void check_module(const json_t *report, int64_t size_bytes, const char *library)
{
	const json_t *leaf =
		json_array_get(live_get(row_of_size(report, size_bytes), "frames"), 0);
	const char *module = json_string_value(json_object_get(leaf, "module"));

	CHECK_STR(module ? module : "none", library);
}

static void end_those_that_run(const json_t *report)
{
	const json_t *target;
	size_t i;

	json_array_foreach (live_get(report, "targets"), i, target)
		if (!json_is_true(json_object_get(target, "exited")))
			kill((pid_t)live_int(target, "pid"), SIGKILL);
}

/* Waits until the program that memtrace started has ended while its children still run.
 * Returns a report. */
static json_t *report_of_heirs(struct live_process *memtrace, size_t processes)
{
	for (int i = 0; i < 100; i++) {
		json_t *report = memtrace_report(memtrace);
		const json_t *targets = live_get(report, "targets"), *target;
		size_t at, exited = 0;

		json_array_foreach (targets, at, target)
			exited += json_is_true(json_object_get(target, "exited"));
		if (exited && json_array_size(targets) == processes)
			return report;
		json_decref(report);
		usleep(50000);
	}
	live_fail("the program that leaves children behind does not end");
	return NULL;
}

/* The processes have their own mount namespace. A process with the same root directory
 * still runs. */
static void runs_in_another_mount_namespace(void)
{
	char done[] = "/tmp/memtrace-done-XXXXXX", text[512];
	int fd = mkstemp(done);
	struct live_process *memtrace;
	json_t *report;

	REQUIRE(fd >= 0 && !close(fd));
	snprintf(text, sizeof(text),
		 "--follow-forks -- unshare -m sh -c "
		 "%s${IFS}20${IFS}1${IFS}0;rm${IFS}%s;exec${IFS}sleep${IFS}60",
		 SPAWNER_BINARY, done);
	memtrace = memtrace_by_path("%s", text);
	memtrace_await(memtrace);
	for (int i = 0; i < 200 && !access(done, F_OK); i++)
		usleep(50000);
	CHECK(access(done, F_OK) != 0);
	report = memtrace_report(memtrace);
	check_row(report, "site_of_child", 20, 20 * 100, 100);
	end_those_that_run(report);
	json_decref(report);
	json_decref(memtrace_end(memtrace, 128 + SIGKILL));
}

/* The frames got their symbols from a process that has left the list when the child
 * ends. */
static void names_are_handed_on(void)
{
	struct live_process *memtrace =
		memtrace_by_path("--follow-forks -- %s", HEIRS_BINARY);
	json_t *report;

	memtrace_await(memtrace);
	report = report_of_heirs(memtrace, 2);
	check_row(report, "site_heir", 1, 10, 40);
	end_those_that_run(report);
	json_decref(report);
	report = memtrace_end(memtrace, 0);
	check_row(report, "site_heir", 1, 10, 40);
	json_decref(report);
}

/* Both libraries have the same addresses, and their code has the same offsets. */
static void children_with_other_code(void)
{
	struct live_process *memtrace = memtrace_by_path(
		"--follow-forks -- %s %s %s", HEIRS_BINARY, LIBRARY_A, LIBRARY_B);
	json_t *report;

	memtrace_await(memtrace);
	report = report_of_heirs(memtrace, 4);
	check_module(report, 2001, LIBRARY_A);
	check_module(report, 2002, LIBRARY_B);
	check_row(report, "site_heir", 1, 10, 40);
	end_those_that_run(report);
	json_decref(report);
	report = memtrace_end(memtrace, 0);
	check_module(report, 2001, LIBRARY_A);
	check_module(report, 2002, LIBRARY_B);
	json_decref(report);
}

int main(void)
{
	live_require_root();
	probes_before = probes_find();
	RUN(children_of_a_server);
	RUN(children_that_load_a_library);
	RUN(more_processes_than_memtrace_can_follow);
	RUN(runs_of_a_program);
	RUN(runs_that_nobody_has_seen);
	RUN(runs_of_a_program_that_is_deleted);
	RUN(runs_in_another_mount_namespace);
	RUN(names_are_handed_on);
	RUN(children_with_other_code);
	CHECK(probes_gone(probes_before));
	probes_destroy(probes_before);
	return check_done();
}
