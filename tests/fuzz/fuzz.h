/* SPDX-License-Identifier: Apache-2.0 */
/* For all fuzzers. */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* libFuzzer calls it with each input. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The fuzzer reports the abort. */
#define FUZZ_REQUIRE(condition)                                                          \
	do {                                                                             \
		if (!(condition))                                                        \
			abort();                                                         \
	} while (0)

#endif
