// SPDX-License-Identifier: Apache-2.0
#include "report/histogram.h"

size_t histogram_class(uint64_t size_bytes)
{
	return size_bytes ? 64 - (size_t)__builtin_clzll(size_bytes) : 0;
}

uint64_t histogram_min_bytes(size_t class)
{
	return class ? UINT64_C(1) << (class - 1) : 0;
}

uint64_t histogram_max_bytes(size_t class)
{
	return class ? UINT64_MAX >> (64 - class) : 0;
}

struct histogram histogram_of_row(const struct report *report,
				  const struct report_section *section,
				  const struct report_row *row)
{
	double blocks[HISTOGRAM_CLASSES] = {0};
	struct histogram h;

	for (size_t i = 0; i < row->block_count; i++) {
		uint64_t size_bytes = row->blocks[i]->size_bytes;

		blocks[histogram_class(size_bytes)] +=
			report_weight(report, section, size_bytes);
	}
	for (size_t i = 0; i < HISTOGRAM_CLASSES; i++)
		h.blocks[i] = report_round(blocks[i]);
	return h;
}
