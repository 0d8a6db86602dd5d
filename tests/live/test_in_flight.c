// SPDX-License-Identifier: Apache-2.0
/*
 * Reports of a program whose threads allocate and free all the time: what is live is what
 * was allocated and not freed, but for the calls that took place while the report was
 * made, and the report says which part that is.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "live/trace.h"

#define REPORTS 8

static int64_t abs_of(int64_t n)
{
	return n < 0 ? -n : n;
}

static void check_report(const json_t *report, bool is_final)
{
	int64_t bytes = live_int(report, "heap.live_bytes") -
			live_int(report, "heap.totals.allocated_bytes") +
			live_int(report, "heap.totals.freed_bytes") +
			live_int(report, "heap.totals.gone_bytes");
	int64_t blocks = live_int(report, "heap.live_blocks") -
			 live_int(report, "heap.totals.allocations") +
			 live_int(report, "heap.totals.frees") +
			 live_int(report, "heap.totals.gone");

	CHECK(live_int(report, "heap.totals.allocations") > 10000);
	CHECK(json_is_true(live_get(report, "complete")));
	CHECK_INT(live_int(report, "heap.in_flight.bytes"), bytes);
	CHECK_INT(live_int(report, "heap.in_flight.blocks"), blocks);
	if (is_final) {
		CHECK_INT(bytes, 0);
		CHECK_INT(blocks, 0);
	}
	/* The program never holds more than 256 blocks, so it cannot be far off. */
	CHECK(abs_of(blocks) <= 256);
	printf("in flight: %" PRId64 " blocks, %" PRId64 " bytes\n", blocks, bytes);
}

static void json(void)
{
	struct live_process *busy = target_start(BUSY_BINARY), *memtrace;
	json_t *report;

	memtrace = memtrace_start(live_pid(busy), "-i 1");
	for (int i = 0; i < REPORTS; i++) {
		report = live_read_json(memtrace, 30);
		REQUIRE(report);
		check_report(report, false);
		json_decref(report);
	}
	report = memtrace_stop(memtrace);
	check_report(report, true);
	json_decref(report);
	live_destroy(busy);
}

/* The text report says so in words, in a report that is off. */
static void text(void)
{
	struct live_process *busy = target_start(BUSY_BINARY), *memtrace;
	bool has_said = false;
	char *line;

	memtrace = memtrace_start_plain(live_pid(busy), "-i 0.1 -n 50 --format text");
	while ((line = live_read_line(memtrace, 60))) {
		has_said |= strstr(line, "  in flight ") &&
			    strstr(line, "by calls while this report was made");
		free(line);
	}
	CHECK_INT(live_wait(memtrace, 60), 0);
	CHECK(has_said);
	live_destroy(busy);
	live_destroy(memtrace);
}

int main(void)
{
	struct probes *before;

	live_require_root();
	before = probes_find();
	RUN(json);
	RUN(text);
	CHECK(probes_gone(before));
	probes_destroy(before);
	return check_done();
}
