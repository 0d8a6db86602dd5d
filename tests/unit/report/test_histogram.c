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

int main(void)
{
	RUN(classes_meet_at_powers_of_two);
	return check_done();
}
