// SPDX-License-Identifier: Apache-2.0
#include "unwind/same_text.h"

#include <string.h>
#include <sys/uio.h>

#include "unwind/cfi.h"

#define TEXT_MAX_BYTES (UINT64_C(256) << 20)
#define PART_BYTES     16384

#define TRAP           0xcc /* int3, what a uprobe is in memory */

static bool same_part(const uint8_t *memory, const uint8_t *file, size_t size)
{
	if (!memcmp(memory, file, size))
		return true;
	for (size_t i = 0; i < size; i++)
		if (memory[i] != file[i] && memory[i] != TRAP)
			return false;
	return true;
}

bool same_text(int pid, uint64_t start, uint64_t end, const struct walk_code *code)
{
	uint8_t memory[PART_BYTES], file[PART_BYTES];

	if (!code->cfi || end - start > TEXT_MAX_BYTES)
		return false;
	for (uint64_t at = start; at < end; at += PART_BYTES) {
		size_t size = end - at < PART_BYTES ? (size_t)(end - at) : PART_BYTES;
		const struct iovec here = {memory, size},
				   there = {(void *)(uintptr_t)at, size};

		if (process_vm_readv(pid, &here, 1, &there, 1, 0) != (ssize_t)size ||
		    !cfi_read_code(code->cfi, at - code->bias, file, size) ||
		    !same_part(memory, file, size))
			return false;
	}
	return true;
}
