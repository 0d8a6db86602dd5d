// SPDX-License-Identifier: Apache-2.0
#include "snapshot/sampling.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

bool sampling_is_on(const struct sampling *s)
{
	return s->every > 1 || s->mean_bytes;
}

bool sampling_is_by_size(const struct sampling *s)
{
	return s->mean_bytes;
}

uint64_t sampling_factor(const struct sampling *s)
{
	return sampling_is_by_size(s) ? 1 : s->every;
}

struct units_text sampling_format_interval(const struct sampling *s)
{
	struct units_text text;

	if (sampling_is_by_size(s))
		return units_format_bytes(s->mean_bytes);
	snprintf(text.s, sizeof(text.s), "%" PRIu64, s->every);
	return text;
}

uint32_t sampling_factor_threshold(const struct sampling *s)
{
	return (uint32_t)(((UINT64_C(1) << 32) + s->every / 2) / s->every);
}

size_t sampling_class(uint64_t size_bytes)
{
	if (size_bytes < 8)
		return (size_t)size_bytes;

	unsigned exponent = 63 - (unsigned)__builtin_clzll(size_bytes);

	return (exponent - 2) * 8 + (size_bytes >> (exponent - 3) & 7);
}

/* The middle of a class; a block of 0 bytes counts as 1 byte. */
static double middle_bytes(size_t class)
{
	if (class < 16)
		return class ? (double)class : 1;

	double width = ldexp(1, (int)(class / 8) - 1);

	return width * (double)(8 + class % 8) + (width - 1) / 2;
}

uint32_t sampling_threshold(uint64_t mean_bytes, size_t class)
{
	double probability = -expm1(-middle_bytes(class) / (double)mean_bytes);
	double threshold = round(ldexp(probability, 32));

	if (threshold < 1)
		return 1;
	return threshold >= UINT32_MAX ? UINT32_MAX : (uint32_t)threshold;
}

double sampling_threshold_weight(uint32_t threshold)
{
	return threshold == UINT32_MAX ? 1 : ldexp(1, 32) / threshold;
}

void sampling_weights_init(const struct sampling *s, struct sampling_weights *ret)
{
	for (size_t i = 0; i < SAMPLING_CLASSES; i++)
		ret->of_class[i] = sampling_is_by_size(s)
					   ? sampling_threshold_weight(
						     sampling_threshold(s->mean_bytes, i))
					   : (double)sampling_factor(s);
}

double sampling_weight(const struct sampling_weights *weights, uint64_t size_bytes)
{
	return weights->of_class[sampling_class(size_bytes)];
}
