/* SPDX-License-Identifier: Apache-2.0 */
/* Moments of made-up snapshots. */
#ifndef UNIT_SCREEN_MOMENT_MADE_H
#define UNIT_SCREEN_MOMENT_MADE_H

#include "check.h"
#include "screen/moment.h"
#include "snapshot/file.h"

/* The moment of the snapshot, which is destroyed. */
static inline struct moment *moment_made(struct snapshot *snap)
{
	static const struct report_options options = {.color = false};
	struct snapshot_file file = {.option = "--live", .path = "test"};
	FILE *out = tmpfile();
	struct moment *moment;

	REQUIRE(out);
	REQUIRE(!snapshot_write(snap, out));
	snapshot_destroy(snap);
	REQUIRE(!fflush(out));
	file.size_bytes = (uint64_t)ftell(out);
	rewind(out);
	file.in = out;
	REQUIRE(!moment_create(
		&file,
		&(const struct moment_options){.report = &options, .with_lines = true},
		&moment));
	return moment;
}

#endif
