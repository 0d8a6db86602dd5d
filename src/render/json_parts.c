// SPDX-License-Identifier: Apache-2.0
#include "render/json_parts.h"

#include "render/json_fields.h"
#include "render/json_values.h"

/* json_pack() takes json_int_t for "I". */
static json_int_t age_ns(const struct report *report, uint64_t time_ns)
{
	return json_clamp(report_subtract(report->snapshot->time_ns, time_ns));
}

json_t *json_left_out(const struct report_left_out *left_out)
{
	return json_pack("{s:I,s:I,s:I}", "size_bytes",
			 json_clamp(left_out->sum.size_bytes), "blocks",
			 json_clamp(left_out->sum.count), "stacks",
			 json_clamp(left_out->stack_count));
}

json_t *json_moments(const struct report *report)
{
	json_t *array = json_array();

	vec_foreach (moment, &report->snapshot->moments) {
		const uint64_t *bytes = moment->live_bytes, *blocks = moment->live_blocks;

		array = array_append(
			array,
			json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "age_ns",
				  age_ns(report, moment->time_ns), "live_bytes",
				  json_clamp(bytes[BLOCK_HEAP]), "live_blocks",
				  json_clamp(blocks[BLOCK_HEAP]), "mapped_bytes",
				  json_clamp(bytes[BLOCK_MAPPING]), "mapped_blocks",
				  json_clamp(blocks[BLOCK_MAPPING]), "allocations",
				  json_clamp(moment->allocations), "allocated_bytes",
				  json_clamp(moment->allocated_bytes), "frees",
				  json_clamp(moment->frees), "vm_rss_bytes",
				  json_clamp(moment->vm_rss_bytes)));
	}
	return array;
}
