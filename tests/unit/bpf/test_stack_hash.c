// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include "abi.h"

static struct abi_stack_hash hash_of(uint32_t process, uint32_t allocator, uint64_t leaf)
{
	struct abi_stack_hash h;

	abi_stack_hash_begin(&h, process, allocator);
	abi_stack_hash_step(&h, leaf);
	abi_stack_hash_step(&h, 0x5631d467e2a2);
	abi_stack_hash_end(&h, 0);
	return h;
}

/* Forked processes have their code at the same addresses: whatever lies between two calls
 * in a function and between the slots of two processes, they are different stacks. */
static void processes_differ(void)
{
	const uint64_t leaf = 0x5631d4672010;
	struct abi_stack_hash first = hash_of(0, 0, leaf);

	for (uint32_t process = 0; process < 4096; process++) {
		for (uint64_t bytes = process ? 0 : 1; bytes < 4; bytes++) {
			uint64_t other = leaf + process * 256 + bytes;
			struct abi_stack_hash h = hash_of(process, 0, other);

			CHECK(h.hash != first.hash && h.check != first.check);
			h = hash_of(process, 0, leaf - process * 256 - bytes);
			CHECK(h.hash != first.hash && h.check != first.check);
		}
	}
}

static void allocators_differ(void)
{
	const uint64_t leaf = 0x5631d4672000;
	struct abi_stack_hash first = hash_of(7, 0, leaf);

	for (uint32_t allocator = 1; allocator < 256; allocator++) {
		struct abi_stack_hash h = hash_of(7, allocator, leaf + allocator);

		CHECK(h.hash != first.hash && h.check != first.check);
		h = hash_of(7, allocator, leaf - allocator);
		CHECK(h.hash != first.hash && h.check != first.check);
	}
}

int main(void)
{
	RUN(processes_differ);
	RUN(allocators_differ);
	return check_done();
}
