/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that report a block by otel_memory's USDT probes, each with other
 * operands. */
#ifndef TARGETS_REPORTER_H
#define TARGETS_REPORTER_H

#include <stddef.h>
#include <stdint.h>

/* Semaphores: the kernel counts the tracers of each probe in them. */
extern unsigned short otel_memory_alloc_semaphore, otel_memory_free_semaphore;

/* Each returns the block's weight, bytes. */
uint64_t report_registers(void *block, size_t size);
uint64_t report_memory(void *block, size_t size);
uint64_t report_indexed(void *block, size_t size);
uint64_t report_narrow(void *block, size_t size);   /* size < 256 */
uint64_t report_constant(void *block, size_t size); /* size 4096 */
uint64_t report_sampled(void *block, size_t size);  /* a sampled block, which stands for
						     * many */
#define REPORT_SAMPLED_BYTES 524288

void report_free(void *block);
void report_free_memory(void *block);

#endif
