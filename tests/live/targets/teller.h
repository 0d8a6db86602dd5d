/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that report a block by otel_memory's USDT probes, each with other
 * operands. */
#ifndef TARGETS_TELLER_H
#define TARGETS_TELLER_H

#include <stddef.h>
#include <stdint.h>

/* Semaphores: the kernel counts the tracers of each probe in them. */
extern unsigned short otel_memory_alloc_semaphore, otel_memory_free_semaphore;

/* Each returns the block's weight, bytes. */
uint64_t tell_registers(void *block, size_t size);
uint64_t tell_memory(void *block, size_t size);
uint64_t tell_indexed(void *block, size_t size);
uint64_t tell_narrow(void *block, size_t size);   /* size < 256 */
uint64_t tell_constant(void *block, size_t size); /* size 4096 */
uint64_t tell_drawn(void *block, size_t size);    /* a sampled block, which stands for
						   * many */
#define TELL_DRAWN_BYTES 524288

void tell_free(void *block);
void tell_free_memory(void *block);

#endif
