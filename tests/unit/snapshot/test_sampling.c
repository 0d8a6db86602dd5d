// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include <math.h>

#include "snapshot/sampling.h"

#define RELATIVE(a, b) (fabs((a) - (b)) / (b))

/* Size classes have no gaps between them, and the width of each is at most an eighth of
 * its size. */
static void classes_are_narrow(void)
{
	size_t last = 0;

	for (uint64_t size = 0; size < 100000; size++) {
		size_t class = sampling_class(size);

		CHECK(class == last || class == last + 1);
		last = class;
	}
	for (unsigned exponent = 4; exponent < 64; exponent++) {
		uint64_t size = UINT64_C(1) << exponent;

		CHECK_INT(sampling_class(size), sampling_class(size - 1) + 1);
		CHECK_INT(sampling_class(size + (size >> 3)), sampling_class(size) + 1);
	}
	CHECK(sampling_class(UINT64_MAX) < SAMPLING_CLASSES);
}

/* The probability of a Poisson process: at least one point among the bytes, within the
 * width of a class. */
static void thresholds_are_those_of_poisson(void)
{
	static const uint64_t means[] = {2, 100, 4096, 512 * 1024, 1 << 30};
	static const uint64_t sizes[] = {1, 8, 100, 1000, 4096, 100000, 1 << 20};

	for (size_t i = 0; i < sizeof(means) / sizeof(*means); i++) {
		for (size_t j = 0; j < sizeof(sizes) / sizeof(*sizes); j++) {
			double want = 1 - exp(-(double)sizes[j] / (double)means[i]);
			double got =
				sampling_threshold(means[i], sampling_class(sizes[j])) /
				ldexp(1, 32);

			/* Below that, 32 bits are too few. */
			if (want > 1e-7)
				CHECK(RELATIVE(got, want) < 0.07);
		}
	}
	CHECK(sampling_threshold(100, sampling_class(1 << 20)) == UINT32_MAX);
	CHECK(sampling_threshold(1 << 30, 0) > 0);
}

/* Whatever the thresholds are, probability times weight is 1. */
static void weights_undo_the_draws(void)
{
	struct sampling sampling = {.every = 1, .mean_bytes = 4096};
	struct sampling_weights weights;

	sampling_weights_init(&sampling, &weights);
	for (size_t class = 0; class < SAMPLING_CLASSES; class ++) {
		double threshold = sampling_threshold(4096, class);
		double probability =
			threshold == UINT32_MAX ? 1 : threshold / ldexp(1, 32);

		CHECK(RELATIVE(probability * weights.of_class[class], 1) < 1e-12);
	}
	sampling = (struct sampling){.every = 100};
	sampling_weights_init(&sampling, &weights);
	CHECK(sampling_weight(&weights, 17) == 100);
	sampling = (struct sampling){.every = 1};
	sampling_weights_init(&sampling, &weights);
	CHECK(sampling_weight(&weights, 17) == 1);
}

/* "One allocation in 100", "one allocation in 4.0 KiB". */
static void the_interval_has_its_unit(void)
{
	const struct sampling all = {.every = 1}, count = {.every = 100},
			      size = {.every = 1, .mean_bytes = 4096},
			      rarest = {.every = UINT64_MAX};

	CHECK(!sampling_is_on(&all) && sampling_is_on(&count) && sampling_is_on(&size));
	CHECK(!sampling_is_by_size(&count) && sampling_is_by_size(&size));
	CHECK_INT(sampling_factor(&all), 1);
	CHECK_INT(sampling_factor(&count), 100);
	CHECK_INT(sampling_factor(&size), 1);
	CHECK_STR(sampling_format_interval(&count).s, "100");
	CHECK_STR(sampling_format_interval(&size).s, "4.0 KiB");
	CHECK_STR(sampling_format_interval(&rarest).s, "18446744073709551615");
}

/* Threshold by 2^32 is 1/N, rounded. */
static void one_in_n_has_one_threshold(void)
{
	const struct sampling two = {.every = 2}, three = {.every = 3};

	CHECK_INT(sampling_factor_threshold(&two), INT64_C(1) << 31);
	CHECK_INT(sampling_factor_threshold(&three), 1431655765);
}

int main(void)
{
	RUN(the_interval_has_its_unit);
	RUN(one_in_n_has_one_threshold);
	RUN(classes_are_narrow);
	RUN(thresholds_are_those_of_poisson);
	RUN(weights_undo_the_draws);
	return check_done();
}
