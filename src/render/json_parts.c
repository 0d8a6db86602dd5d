// SPDX-License-Identifier: Apache-2.0
#include "render/json_parts.h"

#include <inttypes.h>

#include "render/json_traffic.h"
#include "render/json_values.h"
#include "render/text_suspects.h"
#include "report/histogram.h"
#include "util/cleanup.h"
#include "util/escape.h"

/* json_pack() takes json_int_t for "I" and double for "f"; it fails for what JSON has no
 * number for. */
static double finite(double n)
{
	return n == n && n - n == 0 ? n : 0;
}

static json_int_t age_ns(const struct report *report, uint64_t time_ns)
{
	return json_clamp(report_subtract(report->snapshot->time_ns, time_ns));
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
	return json_pack(
		"{s:I,s:I,s:I,s:I,s:I}", "allocations", json_clamp(flow->allocations),
		"allocated_bytes", json_clamp(flow->allocated_bytes), "frees",
		json_clamp(flow->frees), "freed_bytes", json_clamp(flow->freed_bytes),
		"temporary", json_clamp(flow->temporary));
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
			i ? "," : "", json_clamp(histogram_min_bytes(size->bucket)),
			json_clamp(histogram_max_bytes(size->bucket)),
			json_clamp(size->count));
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
			json_clamp(row->threads[i].size_bytes),
			json_clamp(row->threads[i].count));
	fputc(']', out);
}

json_t *json_live_sizes(const struct report_section *section)
{
	json_t *array = json_array();
	bool ok = array;

	for (size_t i = 0; ok && i < SNAPSHOT_BUCKETS; i++) {
		if (!section->live_sizes[i])
			continue;
		ok = append(array,
			    json_pack("{s:I,s:I,s:I}", "min_bytes",
				      json_clamp(histogram_min_bytes(i)), "max_bytes",
				      json_clamp(histogram_max_bytes(i)), "blocks",
				      json_clamp(section->live_sizes[i])));
	}
	return finish(array, ok);
}

json_t *json_left_out(const struct report_left_out *left_out)
{
	return json_pack("{s:I,s:I,s:I}", "size_bytes",
			 json_clamp(left_out->sum.size_bytes), "blocks",
			 json_clamp(left_out->sum.count), "stacks",
			 json_clamp(left_out->stack_count));
}

json_t *json_suspect(const struct report *report, const struct report_section *section,
		     const struct report_suspect *suspect)
{
	const struct report_row *row = suspect->row;
	_cleanup_(strbuf_deinit) struct strbuf why = {0};

	text_append_why(&why, report, suspect, true);
	if (why.failed)
		return NULL;
	return json_pack(
		"{s:o,s:o,s:I,s:I,s:f,s:o,s:I,s:s}", "stack",
		row->stack == SNAPSHOT_NO_STACK ? json_null() : json_integer(row->stack),
		"pid", row->process ? json_integer(row->process->pid) : json_null(),
		"size_bytes", json_clamp(row->sum.size_bytes), "blocks",
		json_clamp(row->sum.count), "slope_bytes_per_s",
		finite(suspect->slope_bytes_per_s), "trend",
		json_trend(report->snapshot, section->class, row), "oldest_age_ns",
		json_clamp(row->oldest_age_ns), "why", strbuf_text(&why));
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
				      "size_bytes", json_clamp(single->block->size_bytes),
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

static json_t *moment_object(const struct report *report,
			     const struct snapshot_moment *moment)
{
	const uint64_t *bytes = moment->live_bytes, *blocks = moment->live_blocks;
	json_t *object = json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "age_ns",
				   age_ns(report, moment->time_ns), "live_bytes",
				   json_clamp(bytes[BLOCK_HEAP]), "live_blocks",
				   json_clamp(blocks[BLOCK_HEAP]), "mapped_bytes",
				   json_clamp(bytes[BLOCK_MAPPING]), "mapped_blocks",
				   json_clamp(blocks[BLOCK_MAPPING]), "allocations",
				   json_clamp(moment->allocations), "allocated_bytes",
				   json_clamp(moment->allocated_bytes), "frees",
				   json_clamp(moment->frees), "vm_rss_bytes",
				   json_clamp(moment->vm_rss_bytes));

	if (object && report->snapshot->kernel_traced &&
	    (json_object_set_new(object, "kernel_bytes",
				 json_integer(json_clamp(bytes[BLOCK_KERNEL]))) ||
	     json_object_set_new(object, "kernel_blocks",
				 json_integer(json_clamp(blocks[BLOCK_KERNEL]))))) {
		json_decref(object);
		return NULL;
	}
	return object;
}

json_t *json_moments(const struct report *report)
{
	json_t *array = json_array();
	bool ok = array;

	vec_foreach (moment, &report->snapshot->moments)
		ok = ok && append(array, moment_object(report, moment));
	return finish(array, ok);
}
