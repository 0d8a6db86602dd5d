/* SPDX-License-Identifier: Apache-2.0 */
/* Ways to tell of a block by otel_memory's probes, each with other operands. */
#ifndef TARGETS_TELLER_H
#define TARGETS_TELLER_H

#include <stddef.h>
#include <stdint.h>

/* Counters of tracers, which the kernel keeps. */
extern unsigned short otel_memory_alloc_semaphore, otel_memory_free_semaphore;

/* Each returns what the block stands for, bytes. */
uint64_t tell_registers(void *block, size_t size);
uint64_t tell_memory(void *block, size_t size);
uint64_t tell_indexed(void *block, size_t size);
uint64_t tell_narrow(void *block, size_t size);   /* below 256 */
uint64_t tell_constant(void *block, size_t size); /* 4096 */
uint64_t tell_drawn(void *block, size_t size);    /* which stands for many */
#define TELL_DRAWN_BYTES 524288

void tell_free(void *block);
void tell_free_memory(void *block);

#endif
