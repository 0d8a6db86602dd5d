/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that report their blocks themselves, by OpenTelemetry's memory contract:
 * USDT probes otel_memory:alloc(pointer, size, weight) and otel_memory:free(pointer)
 * (opentelemetry-ebpf-profiler, design-docs/00003-memory-profiling, "USDT contract").
 * Programs usually report a sample of their blocks. The weight then is the number of
 * allocated bytes that the block represents.
 */
#ifndef ALLOCATOR_ALLOCATOR_OTEL_H
#define ALLOCATOR_ALLOCATOR_OTEL_H

#include "allocator/allocator.h"

#define OTEL_PROVIDER "otel_memory" /* also the label of such an allocator */
#define OTEL_PROBES                                                                      \
	"static probes otel_memory:alloc and otel_memory:free" /* for messages */

/*
 * Append the allocator made of the USDT probes of `file`, which is open as `elf`. Each
 * place of each probe is one function. Appends nothing if the file has no such probe.
 */
struct error *allocator_otel_scan(const struct allocator_file *file, struct elf_file *elf,
				  struct allocators *ret)
	__attribute__((warn_unused_result));

#endif
