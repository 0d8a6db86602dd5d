/* SPDX-License-Identifier: Apache-2.0 */
/* Definitions for code of the probes that is compiled for the host, to be tested. */
#ifndef TESTS_PROBES_HOST_H
#define TESTS_PROBES_HOST_H

#include <stdint.h>

#include "abi.h"

/* The code is for another compiler, and a test uses only a part of it. */
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-variable"

typedef uint32_t u32;
typedef uint64_t u64;

#define ALWAYS_INLINE      static inline __attribute__((unused))
#define compiler_barrier() __asm__ __volatile__("" : : : "memory")
#define barrier_var(value) __asm__ __volatile__("" : "+r"(value))
#define publish(p, value)                                                                \
	do {                                                                             \
		compiler_barrier();                                                      \
		*(volatile u64 *)(p) = (value);                                          \
	} while (0)

#endif
