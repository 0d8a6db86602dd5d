// SPDX-License-Identifier: Apache-2.0
#include "live/paths.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "live/trace.h"

/* The number of the path that a row shows: its path_left and path_right frames as
 * bits. */
static int64_t path_index(const json_t *row)
{
	const json_t *frame;
	int64_t index = 0;
	size_t i;

	json_array_foreach (live_get(row, "frames"), i, frame) {
		const char *symbol = json_string_value(live_get(frame, "symbol"));

		/* The innermost frame comes first and is the highest bit. path_next() is
		 * inlined: skip it. */
		if (symbol && json_is_false(live_get(frame, "inlined")) &&
		    !strncmp(symbol, "path_", 5))
			index = index << 1 | !strcmp(symbol, "path_right");
	}
	return index;
}

void paths_check(const json_t *report, int paths, int times)
{
	bool *seen = calloc((size_t)paths, sizeof(*seen));
	unsigned wrong = 0, rows = 0;
	const json_t *row;
	size_t i;

	REQUIRE(seen);
	json_array_foreach (live_get(report, "heap.stacks"), i, row) {
		const char *site = row_site(row);

		if (!site || strcmp(site, "site_path") != 0)
			continue;
		int64_t index = path_index(row), blocks = live_int(row, "blocks");
		if (index >= paths || seen[index] || blocks != times ||
		    live_int(row, "size_bytes") != times * (index + 1))
			wrong++;
		else
			seen[index] = true;
		rows++;
	}
	CHECK_INT(rows, paths);
	CHECK_INT(wrong, 0);
	CHECK_INT(compare_losses(report, NULL), 0);
	free(seen);
}

void paths_stop(struct live_process *oracle, struct live_process *memtrace)
{
	json_t *report;

	oracle_do(oracle, "run release 1 1");
	report = memtrace_stop(memtrace);
	CHECK_INT(live_int(report, "heap.live_blocks"), 0);
	json_decref(report);
	live_destroy(oracle);
}
