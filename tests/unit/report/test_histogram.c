// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include "report/histogram.h"

static void classes_meet_at_powers_of_two(void)
{
	CHECK_INT(histogram_class(0), 0);
	CHECK_INT(histogram_class(1), 1);
	CHECK_INT(histogram_class(2), 2);
	CHECK_INT(histogram_class(3), 2);
	CHECK_INT(histogram_class(4), 3);
	CHECK_INT(histogram_class(UINT64_MAX), HISTOGRAM_CLASSES - 1);
	for (size_t i = 0; i < HISTOGRAM_CLASSES; i++) {
		CHECK_INT(histogram_class(histogram_min_bytes(i)), i);
		CHECK_INT(histogram_class(histogram_max_bytes(i)), i);
		CHECK(!i || histogram_min_bytes(i) == histogram_max_bytes(i - 1) + 1);
	}
	CHECK(histogram_max_bytes(HISTOGRAM_CLASSES - 1) == UINT64_MAX);
}

static void blocks_are_counted_once(void)
{
	const struct snapshot_block blocks[] = {
		{.size_bytes = 0},  {.size_bytes = 16},         {.size_bytes = 31},
		{.size_bytes = 32}, {.size_bytes = UINT64_MAX},
	};
	const struct snapshot_block *list[] = {&blocks[0], &blocks[1], &blocks[2],
					       &blocks[3], &blocks[4]};
	struct report report = {.section_count = 1};
	struct report_row row = {.blocks = list, .block_count = 5};
	struct histogram h = histogram_of_row(&report, &report.sections[0], &row);
	uint64_t sum = 0;

	for (size_t i = 0; i < HISTOGRAM_CLASSES; i++)
		sum += h.blocks[i];
	CHECK_INT(sum, 5);
	CHECK_INT(h.blocks[0], 1);
	CHECK_INT(h.blocks[5], 2);
	CHECK_INT(h.blocks[6], 1);
	CHECK_INT(h.blocks[64], 1);
	/* Drawn one in four. */
	report.sections[0].is_estimate = true;
	sampling_weights_init(&(const struct snapshot){.sample_every = 4},
			      &report.weights);
	h = histogram_of_row(&report, &report.sections[0], &row);
	CHECK_INT(h.blocks[5], 8);
	CHECK_INT(h.blocks[64], 4);
	row.block_count = 0;
	h = histogram_of_row(&report, &report.sections[0], &row);
	CHECK_INT(h.blocks[5], 0);
}

int main(void)
{
	RUN(classes_meet_at_powers_of_two);
	RUN(blocks_are_counted_once);
	return check_done();
}
