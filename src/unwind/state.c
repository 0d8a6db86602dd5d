// SPDX-License-Identifier: Apache-2.0
#include "unwind/state.h"

#include <string.h>

static bool page_present(const struct stack_copy *stack, uint64_t address)
{
	uint64_t i = (address >> STACK_COPY_PAGE_SHIFT) -
		     (stack->base >> STACK_COPY_PAGE_SHIFT);

	return !stack->pages || stack->pages[i / 64] >> i % 64 & 1;
}

bool stack_copy_read(const struct stack_copy *stack, uint64_t address,
		     unsigned size_bytes, uint64_t *ret)
{
	uint64_t at = address - stack->base;

	if (at >= stack->size_bytes || size_bytes > stack->size_bytes - at ||
	    address > UINT64_MAX - size_bytes || !page_present(stack, address) ||
	    !page_present(stack, address + size_bytes - 1))
		return false;
	*ret = 0;
	memcpy(ret, (const uint8_t *)stack->bytes + at, size_bytes);
	return true;
}
