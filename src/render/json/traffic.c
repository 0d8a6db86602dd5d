// SPDX-License-Identifier: Apache-2.0
#include "render/json/traffic.h"

#include "render/columns.h"
#include "render/json/fields.h"
#include "util/saturate.h"

static uint64_t since_attach_ns(const struct snapshot *snap, uint64_t time_ns)
{
	return saturate_subtract(time_ns, snap->attached_ns);
}

/* Write a list of the buckets that are not empty. `from` and `to` are the names of their
 * inclusive bounds. The last of `count` buckets has no upper bound. */
static void write_buckets(struct json_stream *s, const char *key, const uint64_t *n,
			  size_t count, const char *from, const char *to)
{
	json_stream_open(s, key, '[');
	for (size_t i = 0; i < count; i++) {
		if (!n[i])
			continue;
		json_stream_open(s, NULL, '{');
		json_stream_unsigned(s, from, i ? UINT64_C(1) << (i - 1) : 0);
		if (i + 1 < count)
			json_stream_unsigned(s, to, i ? (UINT64_C(1) << i) - 1 : 0);
		else
			json_stream_null(s, to);
		json_stream_unsigned(s, "blocks", n[i]);
		json_stream_close(s, '}');
	}
	json_stream_close(s, ']');
}

/* --- call paths ------------------------------------------------------------------- */

static void write_estimates(struct json_stream *s, const struct snapshot_traffic *t)
{
	json_stream_unsigned(s, "estimated_allocations", t->estimated_allocations);
	json_stream_unsigned(s, "estimated_allocated_bytes",
			     t->estimated_allocated_bytes);
	json_stream_unsigned(s, "estimated_frees", t->estimated_frees);
	json_stream_unsigned(s, "estimated_freed_bytes", t->estimated_freed_bytes);
	json_stream_unsigned(s, "estimated_temporary", t->estimated_temporary);
	json_stream_unsigned(s, "estimated_peak_bytes", t->estimated_peak_bytes);
}

#define WRITE_COUNT(name) json_stream_unsigned(s, #name, t->name);

static void write_counts(struct json_stream *s, const struct snapshot_traffic *t)
{
	FLOW_COLUMNS(WRITE_COUNT);
	json_stream_unsigned(s, "temporary", t->temporary);
}

void json_write_traffic(struct json_stream *s, const struct snapshot *snap,
			const struct report_row *row)
{
	const struct snapshot_traffic *t;

	if (!snap->has_traffic || row->stack >= snap->traffic.len) {
		json_stream_null(s, "traffic");
		return;
	}
	t = &snap->traffic.data[row->stack];
	json_stream_open(s, "traffic", '{');
	write_counts(s, t);
	json_stream_unsigned(s, "peak_bytes", t->peak_bytes);
	json_stream_unsigned(s, "peak_blocks", t->peak_count);
	json_stream_unsigned(s, "peak_elapsed_ns",
			     since_attach_ns(snap, t->peak_time_ns));
	if (row->stack < snap->at_peak.len) {
		const struct snapshot_at_peak *at_peak = &snap->at_peak.data[row->stack];

		json_stream_unsigned(s, "at_peak_bytes", at_peak->bytes);
		json_stream_unsigned(s, "at_peak_blocks", at_peak->count);
	}
	if (sampling_is_by_size(&snap->sampling))
		write_estimates(s, t);
	if (row->stack < snap->lifetimes.len)
		write_buckets(s, "lifetimes", snap->lifetimes.data[row->stack].count,
			      SNAPSHOT_LIFETIMES, "min_ms", "max_ms");
	if (row->ever_sizes)
		write_buckets(s, "sizes", row->ever_sizes->count, SNAPSHOT_PATH_SIZES,
			      "min_bytes", "max_bytes");
	json_stream_close(s, '}');
}

void json_write_trend(struct json_stream *s, const struct snapshot *snap,
		      enum block_class class, const struct report_row *row)
{
	const struct snapshot_trend *t;

	if (!snap->has_trends || row->stack >= snap->trends[class].len) {
		json_stream_null(s, "trend");
		return;
	}
	t = &snap->trends[class].data[row->stack];
	json_stream_open(s, "trend", '{');
	json_stream_unsigned(s, "intervals", t->intervals);
	json_stream_unsigned(s, "grew", t->grew);
	json_stream_unsigned(s, "shrank", t->shrank);
	json_stream_unsigned(s, "stands", t->stands);
	json_stream_unsigned(s, "rise_bytes", t->rise_bytes);
	json_stream_unsigned(s, "fall_bytes", t->fall_bytes);
	json_stream_real(s, "slope_bytes_per_s", t->slope_bytes_per_s);
	json_stream_real(s, "determination", t->determination);
	json_stream_close(s, '}');
}

/* --- the heap --------------------------------------------------------------------- */

static void write_sum(struct json_stream *s, const struct snapshot *snap)
{
	struct snapshot_traffic sum = {0};

	vec_foreach (t, &snap->traffic) {
		sum.allocations = saturate_add(sum.allocations, t->allocations);
		sum.allocated_bytes =
			saturate_add(sum.allocated_bytes, t->allocated_bytes);
		sum.frees = saturate_add(sum.frees, t->frees);
		sum.freed_bytes = saturate_add(sum.freed_bytes, t->freed_bytes);
		sum.temporary = saturate_add(sum.temporary, t->temporary);
	}
	json_stream_open(s, "traffic", '{');
	write_counts(s, &sum);
	json_stream_close(s, '}');
}

/* What all call paths held at the peak. */
static uint64_t at_peak_bytes(const struct snapshot *snap)
{
	uint64_t bytes = 0;

	vec_foreach (path, &snap->at_peak)
		bytes = saturate_add(bytes, path->bytes);
	return bytes;
}

static void write_peak(struct json_stream *s, const struct snapshot *snap)
{
	json_stream_open(s, "peak", '{');
	json_stream_unsigned(s, "bytes", snap->peak_bytes);
	json_stream_unsigned(s, "elapsed_ns", since_attach_ns(snap, snap->peak_time_ns));
	if (sampling_is_by_size(&snap->sampling))
		json_stream_unsigned(s, "estimated_bytes", snap->estimated_peak_bytes);
	if (snap->has_at_peak) {
		json_stream_unsigned(s, "stacks_bytes", at_peak_bytes(snap));
		json_stream_unsigned(s, "missed_bytes", snap->missed_peak_bytes);
	}
	json_stream_close(s, '}');
}

#define SET_COUNT(name) fields_unsigned(&f, #name, t->name);

static json_t *thread_object(const struct snapshot *snap, const struct snapshot_thread *t)
{
	const struct snapshot_process *process = snapshot_process(snap, t->process);
	struct json_fields f = fields_begin();

	fields_set(&f, "pid", process ? json_integer(process->pid) : json_null());
	fields_unsigned(&f, "tid", t->tid);
	fields_text(&f, "name", t->name);
	fields_set(&f, "exited", json_boolean(t->exited));
	FLOW_COLUMNS(SET_COUNT);
	fields_unsigned(&f, "freed_by_others", t->freed_by_others);
	fields_unsigned(&f, "freed_by_others_bytes", t->freed_by_others_bytes);
	fields_unsigned(&f, "freed_own", t->freed_own);
	fields_unsigned(&f, "freed_own_bytes", t->freed_own_bytes);
	return fields_end(&f);
}

void json_write_heap_traffic(struct json_stream *s, const struct snapshot *snap)
{
	write_sum(s, snap);
	write_peak(s, snap);
	write_buckets(s, "sizes", snap->sizes, SNAPSHOT_BUCKETS, "min_bytes",
		      "max_bytes");
	json_stream_open(s, "threads", '[');
	vec_foreach (t, &snap->threads)
		json_stream_value(s, NULL, thread_object(snap, t));
	json_stream_close(s, ']');
}
