// SPDX-License-Identifier: Apache-2.0
#include "render/json/parts.h"

#include "render/json/fields.h"
#include "render/json/values.h"
#include "util/saturate.h"

/* A json_int_t, which json_pack() expects for "I". */
static json_int_t age_ns(const struct report *report, uint64_t time_ns)
{
	return json_clamp(saturate_subtract(report->snapshot->time_ns, time_ns));
}

json_t *json_left_out(const struct report_left_out *left_out)
{
	return json_pack("{s:I,s:I,s:I}", "size_bytes",
			 json_clamp(left_out->sum.size_bytes), "blocks",
			 json_clamp(left_out->sum.count), "stacks",
			 json_clamp(left_out->stack_count));
}

static json_t *moment_object(const struct report *report,
			     const struct snapshot_moment *moment)
{
	const uint64_t *bytes = moment->live_bytes, *blocks = moment->live_blocks;
	struct json_fields f = fields_begin();

	fields_set(&f, "age_ns", json_integer(age_ns(report, moment->time_ns)));
	fields_unsigned(&f, "live_bytes", bytes[BLOCK_HEAP]);
	fields_unsigned(&f, "live_blocks", blocks[BLOCK_HEAP]);
	fields_unsigned(&f, "mapped_bytes", bytes[BLOCK_MAPPING]);
	fields_unsigned(&f, "mapped_blocks", blocks[BLOCK_MAPPING]);
	fields_unsigned(&f, "allocations", moment->allocations);
	fields_unsigned(&f, "allocated_bytes", moment->allocated_bytes);
	fields_unsigned(&f, "frees", moment->frees);
	fields_unsigned(&f, "vm_rss_bytes", moment->vm_rss_bytes);
	if (report->snapshot->kernel_traced) {
		fields_unsigned(&f, "kernel_bytes", bytes[BLOCK_KERNEL]);
		fields_unsigned(&f, "kernel_blocks", blocks[BLOCK_KERNEL]);
	}
	return fields_end(&f);
}

json_t *json_moments(const struct report *report)
{
	json_t *array = json_array();

	vec_foreach (moment, &report->snapshot->moments)
		array = array_append(array, moment_object(report, moment));
	return array;
}
