// SPDX-License-Identifier: Apache-2.0
#include "render/json_parts.h"

#include <inttypes.h>

#include "render/json_traffic.h"
#include "render/text_suspects.h"
#include "report/histogram.h"
#include "util/cleanup.h"
#include "util/escape.h"

/* json_pack() takes json_int_t for "I" and double for "f"; it fails for what JSON has no
 * number for. */
static json_int_t whole(uint64_t n)
{
	return n > INT64_MAX ? INT64_MAX : (json_int_t)n;
}

static double finite(double n)
{
	return n == n && n - n == 0 ? n : 0;
}

static json_int_t age_ns(const struct report *report, uint64_t time_ns)
{
	uint64_t now_ns = report->snapshot->time_ns;

	return whole(now_ns > time_ns ? now_ns - time_ns : 0);
}

/* Append `value`, which it takes; false when either is not there. */
static bool append(json_t *array, json_t *value)
{
	return !json_array_append_new(array, value);
}

/* `array`, or NULL in its place when it could not be filled. */
static json_t *finish(json_t *array, bool ok)
{
	if (ok)
		return array;
	json_decref(array);
	return NULL;
}

json_t *json_flow(const struct report_flow *flow)
{
	return json_pack("{s:I,s:I,s:I,s:I,s:I}", "allocations", whole(flow->allocations),
			 "allocated_bytes", whole(flow->allocated_bytes), "frees",
			 whole(flow->frees), "freed_bytes", whole(flow->freed_bytes),
			 "temporary", whole(flow->temporary));
}

/* Lists of each of very many rows are not worth an object for each number. */
void json_write_row_sizes(const struct report_row *row, FILE *out)
{
	fputc('[', out);
	for (size_t i = 0; i < row->size_count; i++) {
		const struct report_bucket *size = &row->sizes[i];

		fprintf(out,
			"%s{\"min_bytes\":%" JSON_INTEGER_FORMAT
			",\"max_bytes\":%" JSON_INTEGER_FORMAT
			",\"blocks\":%" JSON_INTEGER_FORMAT "}",
			i ? "," : "", whole(histogram_min_bytes(size->bucket)),
			whole(histogram_max_bytes(size->bucket)), whole(size->count));
	}
	fputc(']', out);
}

void json_write_shares(const struct report_row *row, FILE *out)
{
	fputc('[', out);
	for (size_t i = 0; i < row->thread_count; i++)
		fprintf(out,
			"%s{\"tid\":%" PRIu32 ",\"size_bytes\":%" JSON_INTEGER_FORMAT
			",\"blocks\":%" JSON_INTEGER_FORMAT "}",
			i ? "," : "", row->threads[i].tid,
			whole(row->threads[i].size_bytes), whole(row->threads[i].count));
	fputc(']', out);
}

json_t *json_live_sizes(const struct report_section *section)
{
	json_t *array = json_array();
	bool ok = array;

	for (size_t i = 0; ok && i < SNAPSHOT_BUCKETS; i++) {
		if (!section->live_sizes[i])
			continue;
		ok = append(array, json_pack("{s:I,s:I,s:I}", "min_bytes",
					     whole(histogram_min_bytes(i)), "max_bytes",
					     whole(histogram_max_bytes(i)), "blocks",
					     whole(section->live_sizes[i])));
	}
	return finish(array, ok);
}

json_t *json_left_out(const struct report_left_out *left_out)
{
	return json_pack("{s:I,s:I,s:I}", "size_bytes", whole(left_out->sum.size_bytes),
			 "blocks", whole(left_out->sum.count), "stacks",
			 whole(left_out->stack_count));
}

json_t *json_suspect(const struct report *report, const struct report_section *section,
		     const struct report_suspect *suspect)
{
	const struct report_row *row = suspect->row;
	_cleanup_(strbuf_deinit) struct strbuf why = {0};

	text_append_why(&why, suspect, true);
	if (why.failed)
		return NULL;
	return json_pack(
		"{s:o,s:o,s:I,s:I,s:f,s:o,s:I,s:s}", "stack",
		row->stack == SNAPSHOT_NO_STACK ? json_null() : json_integer(row->stack),
		"pid", row->process ? json_integer(row->process->pid) : json_null(),
		"size_bytes", whole(row->sum.size_bytes), "blocks", whole(row->sum.count),
		"slope_bytes_per_s", finite(suspect->slope_bytes_per_s), "trend",
		json_trend(report->snapshot, section->class, row), "oldest_age_ns",
		whole(row->oldest_age_ns), "why", strbuf_text(&why));
}

json_t *json_singles(const struct report *report, const struct report_section *section)
{
	json_t *array = json_array();
	bool ok = array;

	for (size_t i = 0; ok && i < section->single_count; i++) {
		const struct report_single *single = &section->singles[i];
		const struct report_row *row = single->row;
		char address[32];

		snprintf(address, sizeof(address), "0x%" PRIx64, single->block->address);
		ok = append(array,
			    json_pack("{s:s,s:I,s:I,s:I,s:o,s:o}", "address", address,
				      "size_bytes", whole(single->block->size_bytes),
				      "age_ns", age_ns(report, single->block->time_ns),
				      "tid", (json_int_t)single->block->tid, "stack",
				      row->stack == SNAPSHOT_NO_STACK
					      ? json_null()
					      : json_integer(row->stack),
				      "pid",
				      row->process ? json_integer(row->process->pid)
						   : json_null()));
	}
	return finish(array, ok);
}

json_t *json_moments(const struct report *report)
{
	json_t *array = json_array();
	bool ok = array;

	vec_foreach (moment, &report->snapshot->moments) {
		const uint64_t *bytes = moment->live_bytes, *blocks = moment->live_blocks;

		ok = ok &&
		     append(array,
			    json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "age_ns",
				      age_ns(report, moment->time_ns), "live_bytes",
				      whole(bytes[BLOCK_HEAP]), "live_blocks",
				      whole(blocks[BLOCK_HEAP]), "mapped_bytes",
				      whole(bytes[BLOCK_MAPPING]), "mapped_blocks",
				      whole(blocks[BLOCK_MAPPING]), "allocations",
				      whole(moment->allocations), "allocated_bytes",
				      whole(moment->allocated_bytes), "frees",
				      whole(moment->frees), "vm_rss_bytes",
				      whole(moment->vm_rss_bytes)));
	}
	return finish(array, ok);
}
