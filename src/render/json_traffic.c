// SPDX-License-Identifier: Apache-2.0
#include "render/json_traffic.h"

#include <math.h>
#include <stdlib.h>

#include "render/json_values.h"

/* An object that lacks something is none. */
struct object {
	json_t *json;
	bool failed;
};

static struct object begin(void)
{
	return (struct object){.json = json_object()};
}

static json_t *end(struct object *o)
{
	if (!o->failed)
		return o->json;
	json_decref(o->json);
	return NULL;
}

static void set(struct object *o, const char *key, json_t *value)
{
	o->failed |= json_object_set_new(o->json, key, value) != 0;
}

static void set_integer(struct object *o, const char *key, uint64_t n)
{
	set(o, key, json_unsigned(n));
}

/* The array, which it takes over, with `value` at its end; NULL when either is. */
static json_t *append(json_t *array, json_t *value)
{
	if (!json_array_append_new(array, value))
		return array;
	json_decref(array);
	return NULL;
}

static uint64_t since_attach_ns(const struct snapshot *snap, uint64_t time_ns)
{
	return report_subtract(time_ns, snap->attached_ns);
}

/* --- histograms ------------------------------------------------------------------- */

/* A list of buckets that are not empty; `from` and `to` name their bounds, both included;
 * the last of `count` has no upper one. */
static json_t *buckets(const uint64_t *n, size_t count, const char *from, const char *to)
{
	json_t *array = json_array();

	for (size_t i = 0; array && i < count; i++) {
		struct object o = begin();

		if (!n[i]) {
			json_decref(o.json);
			continue;
		}
		set_integer(&o, from, i ? UINT64_C(1) << (i - 1) : 0);
		if (i + 1 < count)
			set_integer(&o, to, i ? (UINT64_C(1) << i) - 1 : 0);
		else
			set(&o, to, json_null());
		set_integer(&o, "blocks", n[i]);
		array = append(array, end(&o));
	}
	return array;
}

json_t *json_sizes(const struct snapshot *snap)
{
	return buckets(snap->sizes, SNAPSHOT_BUCKETS, "min_bytes", "max_bytes");
}

/* --- call paths ------------------------------------------------------------------- */

static void set_estimates(struct object *o, const struct snapshot_traffic *t)
{
	set_integer(o, "estimated_allocations", t->estimated_allocations);
	set_integer(o, "estimated_allocated_bytes", t->estimated_allocated_bytes);
	set_integer(o, "estimated_frees", t->estimated_frees);
	set_integer(o, "estimated_freed_bytes", t->estimated_freed_bytes);
	set_integer(o, "estimated_temporary", t->estimated_temporary);
	set_integer(o, "estimated_peak_bytes", t->estimated_peak_bytes);
}

static void set_counts(struct object *o, const struct snapshot_traffic *t)
{
	set_integer(o, "allocations", t->allocations);
	set_integer(o, "allocated_bytes", t->allocated_bytes);
	set_integer(o, "frees", t->frees);
	set_integer(o, "freed_bytes", t->freed_bytes);
	set_integer(o, "temporary", t->temporary);
}

json_t *json_traffic_sum(const struct snapshot *snap)
{
	struct snapshot_traffic sum = {0};
	struct object o = begin();

	vec_foreach (t, &snap->traffic) {
		sum.allocations = report_add(sum.allocations, t->allocations);
		sum.allocated_bytes = report_add(sum.allocated_bytes, t->allocated_bytes);
		sum.frees = report_add(sum.frees, t->frees);
		sum.freed_bytes = report_add(sum.freed_bytes, t->freed_bytes);
		sum.temporary = report_add(sum.temporary, t->temporary);
	}
	set_counts(&o, &sum);
	return end(&o);
}

json_t *json_traffic(const struct snapshot *snap, const struct report_row *row)
{
	const struct snapshot_traffic *t;
	struct object o;

	if (!snap->has_traffic || row->stack >= snap->traffic.len)
		return json_null();
	t = &snap->traffic.data[row->stack];
	o = begin();
	set_counts(&o, t);
	set_integer(&o, "peak_bytes", t->peak_bytes);
	set_integer(&o, "peak_blocks", t->peak_count);
	set_integer(&o, "peak_elapsed_ns", since_attach_ns(snap, t->peak_time_ns));
	if (snap->sample_bytes)
		set_estimates(&o, t);
	if (row->stack < snap->lifetimes.len)
		set(&o, "lifetimes",
		    buckets(snap->lifetimes.data[row->stack].count, SNAPSHOT_LIFETIMES,
			    "min_ms", "max_ms"));
	return end(&o);
}

/* A number, or null for what JSON cannot say. */
static json_t *real(double number)
{
	return isfinite(number) ? json_real(number) : json_null();
}

json_t *json_trend(const struct snapshot *snap, enum block_class class,
		   const struct report_row *row)
{
	const struct snapshot_trend *t;
	struct object o;

	if (!snap->has_trends || row->stack >= snap->trends[class].len)
		return json_null();
	t = &snap->trends[class].data[row->stack];
	o = begin();
	set_integer(&o, "intervals", t->intervals);
	set_integer(&o, "grew", t->grew);
	set_integer(&o, "shrank", t->shrank);
	set_integer(&o, "stands", t->stands);
	set(&o, "slope_bytes_per_s", real(t->slope_bytes_per_s));
	set(&o, "determination", real(t->determination));
	return end(&o);
}

/* --- all -------------------------------------------------------------------------- */

json_t *json_peak(const struct snapshot *snap)
{
	struct object o = begin();

	set_integer(&o, "bytes", snap->peak_bytes);
	set_integer(&o, "elapsed_ns", since_attach_ns(snap, snap->peak_time_ns));
	if (snap->sample_bytes)
		set_integer(&o, "estimated_bytes", snap->estimated_peak_bytes);
	return end(&o);
}

static json_t *thread_object(const struct snapshot *snap, const struct snapshot_thread *t)
{
	const struct snapshot_process *process = snapshot_process(snap, t->process);
	struct object o = begin();

	set(&o, "pid", process ? json_integer(process->pid) : json_null());
	set_integer(&o, "tid", t->tid);
	set(&o, "name", json_text(t->name));
	set(&o, "exited", json_boolean(t->exited));
	set_integer(&o, "allocations", t->allocations);
	set_integer(&o, "allocated_bytes", t->allocated_bytes);
	set_integer(&o, "frees", t->frees);
	set_integer(&o, "freed_bytes", t->freed_bytes);
	set_integer(&o, "freed_by_others", t->freed_by_others);
	set_integer(&o, "freed_by_others_bytes", t->freed_by_others_bytes);
	set_integer(&o, "freed_own", t->freed_own);
	set_integer(&o, "freed_own_bytes", t->freed_own_bytes);
	return end(&o);
}

json_t *json_threads(const struct snapshot *snap)
{
	json_t *array = json_array();

	vec_foreach (t, &snap->threads)
		array = array ? append(array, thread_object(snap, t)) : NULL;
	return array;
}
