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
