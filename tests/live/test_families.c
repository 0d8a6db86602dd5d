// SPDX-License-Identifier: Apache-2.0
/* Call paths that many processes come to: each is one stack and one row, with names. */
#include <string.h>

#include "check.h"
#include "live/family.h"

static struct probes *probes_before;

/* The only row of a site, or NULL. Borrowed. */
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

static void check_row(const json_t *report, const char *site, size_t processes,
		      size_t blocks, size_t bytes)
{
	const json_t *row = only_row(report, site), *each;
	size_t i, sum = 0;

	if (!row)
		return;
	CHECK_INT(live_int(row, "blocks"), blocks);
	CHECK_INT(live_int(row, "size_bytes"), bytes);
	CHECK_INT(json_array_size(live_get(row, "processes")), processes);
	json_array_foreach (live_get(row, "processes"), i, each)
		sum += live_int(each, "blocks");
	CHECK_INT(sum, blocks);
	CHECK_INT(count_unnamed(row), 0);
}

/* Most of them are gone before memtrace can look at them. */
static void children_of_a_server(void)
{
	struct live_process *target = family_start(NULL);
	struct live_process *memtrace =
		memtrace_by_path("--follow-forks --pid %d", (int)live_pid(target));
	json_t *report;

	memtrace_await(memtrace);
	oracle_do(target, "children 1000");
	report = memtrace_report(memtrace);
	check_row(report, "site_child", 1000, 3 * 1000, 3 * 1000 * 40);
	CHECK_INT(live_int(report, "losses.stacks_full"), 0);
	check_books_but(report, "walks_lost");
	json_decref(report);

	/* The next ones are those of the same path, and nothing is left of the others. */
	oracle_do(target, "children 10");
	report = memtrace_report(memtrace);
	check_row(report, "site_child", 10, 3 * 10, 3 * 10 * 40);
	json_decref(report);
	family_finish(target);
	json_decref(memtrace_end(memtrace, 0));
	live_destroy(target);
}

/* Each has its code elsewhere. */
static void runs_of_a_program(void)
{
	json_t *report = memtrace_end(
		memtrace_by_path("--follow-forks -- %s 6 5 300", SPAWNER_BINARY), 0);
	struct site_sum sum;

	check_row(report, "site_of_child", 30, 30 * 100, 30 * 100 * 100);
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

int main(void)
{
	live_require_root();
	probes_before = probes_find();
	RUN(children_of_a_server);
	RUN(runs_of_a_program);
	CHECK(probes_gone(probes_before));
	probes_destroy(probes_before);
	return check_done();
}
