// SPDX-License-Identifier: Apache-2.0
#include "trace/usdt_record.h"

#include "arch/arch.h"

/* The offset in struct pt_regs of a register by its number (usdt_args.h). */
static uint8_t register_offset(uint8_t number)
{
	uint8_t offset;

	return arch_register_offset(number, &offset) ? offset : ABI_USDT_NO_REGISTER;
}

void usdt_record(const struct plan_site *site, struct abi_usdt *ret)
{
	_Static_assert(USDT_ARGS == ABI_USDT_ARGS, "the same ones");

	*ret = (struct abi_usdt){0};
	for (size_t i = 0; i < USDT_ARGS; i++) {
		const struct usdt_arg *from = &site->usdt[i];
		struct abi_usdt_arg *to = &ret->arg[i];

		if (from->kind == USDT_ARG_NONE || from->kind == USDT_ARG_UNKNOWN)
			continue;
		*to = (struct abi_usdt_arg){
			.value = (uint64_t)from->value,
			.kind = from->kind == USDT_ARG_MEMORY ? ABI_USDT_MEMORY
							      : ABI_USDT_VALUE,
			.base = register_offset(from->base),
			.index = register_offset(from->index),
			.index_shift = from->shift,
			.size_bytes = from->size_bytes,
			.is_signed = from->is_signed,
		};
	}
}
