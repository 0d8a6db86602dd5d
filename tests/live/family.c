// SPDX-License-Identifier: Apache-2.0
#include "live/family.h"

#include <signal.h>
#include <stdarg.h>
#include <string.h>

#include "check.h"

#define TIMEOUT_S 30
#define MAX_WORDS 48

struct live_process *memtrace_by_path(const char *format, ...)
{
	const char *argv[MAX_WORDS] = {memtrace_path, "--format", "json", "--top", "0",
				       "--older",     "0",        "-i",   "3600"};
	char words[1024], *save = NULL;
	size_t n = 9;
	va_list ap;

	va_start(ap, format);
	vsnprintf(words, sizeof(words), format, ap);
	va_end(ap);
	for (char *word = strtok_r(words, " ", &save); word && n + 1 < MAX_WORDS;
	     word = strtok_r(NULL, " ", &save))
		argv[n++] = word;
	return live_start(argv);
}

void memtrace_await(struct live_process *memtrace)
{
	if (!live_wait_stderr(memtrace, "Ctrl-C ends", TIMEOUT_S))
		live_fail("memtrace did not begin to trace (status %d): %s",
			  live_wait(memtrace, 0.1), live_stderr(memtrace));
}

json_t *memtrace_end(struct live_process *memtrace, int want_status)
{
	json_t *report = live_read_json(memtrace, TIMEOUT_S);

	if (!report)
		live_fail("no final report: %s", live_stderr(memtrace));
	CHECK_STR(json_string_value(live_get(report, "cause")), "exited");
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), want_status);
	live_destroy(memtrace);
	return report;
}

struct live_process *family_start(const char *const arguments[])
{
	const char *argv[16] = {FAMILY_BINARY};
	struct live_process *target;
	json_t *ready;

	for (size_t i = 0; arguments && arguments[i]; i++)
		argv[i + 1] = arguments[i];
	target = live_start(argv);
	ready = live_read_json(target, TIMEOUT_S);
	if (!ready)
		live_fail("the target did not start: %s", live_stderr(target));
	json_decref(ready);
	return target;
}

void family_finish(struct live_process *target)
{
	live_signal(target, SIGKILL);
	live_wait(target, TIMEOUT_S);
}

struct site_sum sum_of(const json_t *report, const char *section, pid_t pid,
		       const char *site, const char *allocator)
{
	struct site_sum sum = {0};
	const json_t *row;
	size_t i;

	json_array_foreach (live_get(live_get(report, section), "stacks"), i, row) {
		const char *name = row_site(row);
		const char *label = json_string_value(json_object_get(row, "allocator"));

		if (!name || strcmp(name, site) != 0 ||
		    (pid && json_integer_value(json_object_get(row, "pid")) != pid) ||
		    (allocator && (!label || strcmp(label, allocator) != 0)))
			continue;
		sum.bytes += live_int(row, "size_bytes");
		sum.blocks += live_int(row, "blocks");
	}
	return sum;
}

const json_t *by_pid(const json_t *array, pid_t pid)
{
	const json_t *each;
	size_t i;

	json_array_foreach (array, i, each)
		if (live_int(each, "pid") == pid)
			return each;
	return NULL;
}

const json_t *target_of(const json_t *report, pid_t pid)
{
	return by_pid(live_get(report, "targets"), pid);
}

void check_books_but(const json_t *report, const char *allowed)
{
	const json_t *each;
	int64_t bytes = 0, blocks = 0;
	size_t i;

	CHECK_INT(compare_losses(report, allowed), 0);
	CHECK_INT(live_int(report, "heap.totals.allocations") -
			  live_int(report, "heap.totals.frees") -
			  live_int(report, "heap.totals.gone"),
		  live_int(report, "heap.live_blocks"));
	CHECK_INT(live_int(report, "heap.totals.allocated_bytes") -
			  live_int(report, "heap.totals.freed_bytes") -
			  live_int(report, "heap.totals.gone_bytes"),
		  live_int(report, "heap.live_bytes"));
	json_array_foreach (live_get(report, "heap.processes"), i, each) {
		bytes += live_int(each, "live_bytes");
		blocks += live_int(each, "live_blocks");
	}
	CHECK_INT(bytes, live_int(report, "heap.live_bytes"));
	CHECK_INT(blocks, live_int(report, "heap.live_blocks"));
}

void check_books(const json_t *report)
{
	check_books_but(report, NULL);
}
