// SPDX-License-Identifier: Apache-2.0
/* What the parts of a report ask about it. */
#include "report/report.h"

#include "report/histogram.h"

bool report_is_of_one(const struct report *report)
{
	return report->snapshot->processes.len == 1 && !report->snapshot->library;
}

unsigned report_data_of(const struct snapshot *snap)
{
	return (snap->has_traffic ? REPORT_DATA_TRAFFIC : 0) |
	       (snap->has_lifetimes ? REPORT_DATA_LIFETIMES : 0) |
	       (snap->has_trends ? REPORT_DATA_TRENDS : 0) |
	       (snap->has_at_peak ? REPORT_DATA_AT_PEAK : 0) |
	       (snap->search.count ? REPORT_DATA_UNREACHABLE : 0);
}

unsigned report_class_data(enum block_class class)
{
	unsigned data = REPORT_DATA_TRENDS;

	if (class == BLOCK_HEAP)
		data |= REPORT_DATA_TRAFFIC | REPORT_DATA_LIFETIMES |
			REPORT_DATA_AT_PEAK | REPORT_DATA_UNREACHABLE;
	return data;
}

const struct report_section *report_find_section(const struct report *report,
						 enum block_class class)
{
	for (size_t i = 0; i < report->section_count; i++)
		if (report->sections[i].class == class)
			return &report->sections[i];
	return NULL;
}

bool report_section_has(const struct report *report, const struct report_section *section,
			unsigned data)
{
	return !(data & ~(report->data & report_class_data(section->class)));
}

uint64_t report_times(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

double report_weight(const struct report *report, const struct report_section *section,
		     uint64_t size_bytes)
{
	return section->is_estimate ? sampling_weight(&report->weights, size_bytes) : 1;
}

uint64_t report_bucket_estimate(const struct report *report,
				const struct report_section *section, size_t bucket,
				uint64_t count)
{
	/* Weight of a block from the middle of the bucket. */
	uint64_t size = histogram_min_bytes(bucket) + histogram_min_bytes(bucket) / 2;

	return section->is_estimate ? report_round((double)count *
						   report_weight(report, section, size))
				    : count;
}

const char *report_cause_name(enum report_cause cause)
{
	static const char *const names[] = {
		[REPORT_INTERVAL] = "interval", [REPORT_DEMAND] = "demand",
		[REPORT_COUNT] = "count",       [REPORT_DURATION] = "duration",
		[REPORT_STOPPED] = "stopped",   [REPORT_HANGUP] = "hangup",
		[REPORT_EXITED] = "exited",
	};

	return names[cause];
}

bool report_cause_is_final(enum report_cause cause)
{
	return cause >= REPORT_COUNT;
}
