// SPDX-License-Identifier: Apache-2.0
/* A library that reports blocks by USDT probes, with its own semaphores. */
#include <stddef.h>
#include <stdint.h>

#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

#define SEMAPHORE __attribute__((section(".probes"), visibility("hidden")))

extern unsigned short otel_memory_alloc_semaphore SEMAPHORE;
unsigned short otel_memory_alloc_semaphore SEMAPHORE;

uint64_t report_in_library(void *block, size_t size);
uint64_t report_in_library(void *block, size_t size)
{
	if (!*(volatile unsigned short *)&otel_memory_alloc_semaphore)
		return 0;
	STAP_PROBE3(otel_memory, alloc, block, size, size);
	return size;
}
