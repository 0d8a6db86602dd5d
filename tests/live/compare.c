/* SPDX-License-Identifier: Apache-2.0 */
/* Compares a report with the truth, and the parts of a report with each other. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live/trace.h"

bool row_has_symbol(const json_t *row, const char *symbol)
{
	const json_t *frame;
	size_t i;

	json_array_foreach (live_get(row, "frames"), i, frame) {
		const char *name = json_string_value(json_object_get(frame, "symbol"));

		if (name && !strcmp(name, symbol))
			return true;
	}
	return false;
}

const char *row_site(const json_t *row)
{
	const json_t *frame;
	size_t i;

	json_array_foreach (live_get(row, "frames"), i, frame) {
		const char *symbol = json_string_value(json_object_get(frame, "symbol"));

		if (symbol && !strncmp(symbol, "site_", 5))
			return symbol;
	}
	return NULL;
}

struct site_sum report_site(const json_t *report, const char *section, const char *site)
{
	const json_t *stacks = live_get(live_get(report, section), "stacks"), *row;
	struct site_sum sum = {0};
	size_t i;

	json_array_foreach (stacks, i, row) {
		const char *name = row_site(row);

		if (!name || strcmp(name, site) != 0)
			continue;
		sum.bytes += live_int(row, "size_bytes");
		sum.blocks += live_int(row, "blocks");
		if (!json_object_get(row, "estimated_blocks"))
			continue;
		sum.estimated_bytes += live_int(row, "estimated_size_bytes");
		sum.estimated_blocks += live_int(row, "estimated_blocks");
	}
	return sum;
}

static unsigned same(const char *what, int64_t got, int64_t want)
{
	if (got == want)
		return 0;
	fprintf(stderr, "%s: %lld, the truth is %lld (%+lld)\n", what, (long long)got,
		(long long)want, (long long)(got - want));
	return 1;
}

static void print_row(const json_t *row)
{
	const json_t *frame;
	size_t i;

	fprintf(stderr, "  %lld bytes in %lld blocks at no known call path:",
		(long long)live_int(row, "size_bytes"),
		(long long)live_int(row, "blocks"));
	json_array_foreach (live_get(row, "frames"), i, frame) {
		const char *symbol = json_string_value(json_object_get(frame, "symbol"));

		fprintf(stderr, " %s", symbol ? symbol : "?");
	}
	fputc('\n', stderr);
}

/* The rows must add up to the section's sums. Needs a report with `--older 0 --top 0`:
 * all rows are listed. */
static unsigned compare_sums(const json_t *section)
{
	const json_t *stacks = live_get(section, "stacks"), *row;
	int64_t bytes = 0, blocks = 0;
	unsigned differences = 0;
	size_t i;

	json_array_foreach (stacks, i, row) {
		bytes += live_int(row, "size_bytes");
		blocks += live_int(row, "blocks");
	}
	differences += same("rows, bytes", bytes, live_int(section, "listed_bytes"));
	differences += same("rows, blocks", blocks, live_int(section, "listed_blocks"));
	differences += same("listed bytes", live_int(section, "listed_bytes"),
			    live_int(section, "live_bytes"));
	differences += same("listed blocks", live_int(section, "listed_blocks"),
			    live_int(section, "live_blocks"));
	differences += same("rows", (int64_t)json_array_size(stacks),
			    live_int(section, "stack_count"));
	differences += same("allocated - freed bytes",
			    live_int(section, "totals.allocated_bytes") -
				    live_int(section, "totals.freed_bytes"),
			    live_int(section, "live_bytes"));
	return differences;
}

static unsigned compare(const json_t *sites, const json_t *report, const char *name,
			bool strict)
{
	const json_t *section = live_get(report, name), *site, *row;
	int64_t known_bytes = 0, known_blocks = 0, bytes = 0, blocks = 0;
	unsigned differences = compare_sums(section);
	char what[160];
	size_t i;

	json_array_foreach (sites, i, site) {
		const char *at = json_string_value(live_get(site, "site"));
		struct site_sum got = report_site(report, name, at);

		snprintf(what, sizeof(what), "%s, bytes", at);
		differences += same(what, got.bytes, live_int(site, "bytes"));
		snprintf(what, sizeof(what), "%s, blocks", at);
		differences += same(what, got.blocks, live_int(site, "blocks"));
		known_bytes += got.bytes;
		known_blocks += got.blocks;
	}
	json_array_foreach (live_get(section, "stacks"), i, row) {
		if (!row_site(row)) {
			if (strict)
				print_row(row);
			continue;
		}
		bytes += live_int(row, "size_bytes");
		blocks += live_int(row, "blocks");
	}
	if (strict) {
		bytes = live_int(section, "live_bytes");
		blocks = live_int(section, "live_blocks");
	}
	snprintf(what, sizeof(what), "%s as a whole, bytes", name);
	differences += same(what, bytes, known_bytes);
	snprintf(what, sizeof(what), "%s as a whole, blocks", name);
	differences += same(what, blocks, known_blocks);
	return differences;
}

unsigned compare_heap(const json_t *truth, const json_t *report, bool strict)
{
	unsigned differences = compare(live_get(truth, "sites"), report, "heap", strict);

	differences += same("allocations - frees",
			    live_int(report, "heap.totals.allocations") -
				    live_int(report, "heap.totals.frees"),
			    live_int(report, "heap.live_blocks"));
	return differences;
}

unsigned compare_mappings(const json_t *truth, const json_t *report)
{
	return compare(live_get(truth, "mappings"), report, "mappings", false);
}

unsigned compare_totals(const json_t *truth, const json_t *report)
{
	static const char *const names[] = {"allocations", "allocated_bytes", "frees",
					    "freed_bytes", "failures"};
	const json_t *totals = live_get(report, "heap.totals");
	unsigned differences = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		differences += same(names[i], live_int(totals, names[i]),
				    live_int(truth, names[i]));
	return differences;
}

unsigned compare_losses(const json_t *report, const char *allowed)
{
	json_t *losses = live_get(report, "losses"), *value;
	unsigned differences = 0;
	bool any = false;
	const char *name;

	json_object_foreach(losses, name, value)
	{
		any = any || json_integer_value(value);
		if (!json_integer_value(value) || (allowed && !strcmp(name, allowed)))
			continue;
		fprintf(stderr, "loss %s is %lld\n", name,
			(long long)json_integer_value(value));
		differences++;
	}
	if (json_is_true(live_get(report, "complete")) == any) {
		fprintf(stderr, "\"complete\" does not agree with the losses\n");
		differences++;
	}
	return differences;
}
