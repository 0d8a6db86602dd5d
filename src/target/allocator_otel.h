/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that tell of their blocks themselves, by OpenTelemetry's contract for memory:
 * static probes otel_memory:alloc(pointer, size, weight) and otel_memory:free(pointer)
 * (opentelemetry-ebpf-profiler, design-docs/00003-memory-profiling, "USDT contract").
 * Mostly they tell of some, which they have drawn; the weight is then how many bytes of
 * all that was allocated the block stands for.
 */
#ifndef TARGET_ALLOCATOR_OTEL_H
#define TARGET_ALLOCATOR_OTEL_H

#include "target/allocator.h"

#define OTEL_PROVIDER "otel_memory" /* which is the label of such an allocator, too */
#define OTEL_PROBES   "static probes otel_memory:alloc and otel_memory:free" /* to say */

/*
 * Append the allocator that the probes of `file`, which is opened as `elf`, make: each
 * place of each probe is one function. None when there are none.
 */
struct error *allocator_otel_scan(const struct allocator_file *file, struct elf_file *elf,
				  struct allocators *ret)
	__attribute__((warn_unused_result));

#endif
