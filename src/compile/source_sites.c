// SPDX-License-Identifier: Apache-2.0
#include "compile/source_sites.h"

#include "arch/arch.h"
#include "abi.h"
#include "plan/site.h"

_Static_assert((int)EFFECT_ALLOC == ABI_EFFECT_ALLOC, "same numbers");
_Static_assert((int)EFFECT_ALLOC_OUT == ABI_EFFECT_ALLOC_OUT, "same numbers");
_Static_assert((int)EFFECT_REALLOC == ABI_EFFECT_REALLOC, "same numbers");
_Static_assert((int)EFFECT_FREE == ABI_EFFECT_FREE, "same numbers");
_Static_assert((int)EFFECT_MAP == ABI_EFFECT_MAP, "same numbers");
_Static_assert((int)EFFECT_UNMAP == ABI_EFFECT_UNMAP, "same numbers");
_Static_assert((int)EFFECT_REMAP == ABI_EFFECT_REMAP, "same numbers");
_Static_assert((int)EFFECT_RESIZE == ABI_EFFECT_RESIZE, "same numbers");
_Static_assert((int)EFFECT_ALLOC_USDT == ABI_EFFECT_ALLOC_USDT, "same numbers");
_Static_assert((int)EFFECT_FREE_USDT == ABI_EFFECT_FREE_USDT, "same numbers");
_Static_assert((int)RETURN_REGISTER == ABI_RESULT_REGISTER, "same numbers");
_Static_assert((int)RETURN_FRAME == ABI_RESULT_FRAME, "same numbers");
_Static_assert((int)RETURN_VALUE == ABI_RESULT_CONSTANT, "same numbers");
_Static_assert((int)RETURN_BLOCK == ABI_RESULT_BLOCK, "same numbers");

/* The register of an argument; ABI_ARG_NONE for a missing argument. */
static uint8_t abi_arg(const struct plan_site *site, uint8_t arg)
{
	uint8_t reg = arg < PLACE_ARGUMENTS ? site->arg_reg[arg] : PLACE_NO_REGISTER;

	return reg == PLACE_NO_REGISTER ? ABI_ARG_NONE : reg;
}

static uint64_t common_bits(const struct plan_site *site, unsigned allocator,
			    unsigned number)
{
	return (site->unrecorded ? ABI_SITE_UNRECORDED : 0) |
	       (uint64_t)allocator << ABI_SITE_ALLOCATOR_SHIFT |
	       (uint64_t)number << ABI_SITE_NUMBER_SHIFT;
}

uint64_t source_site(const struct plan_site *site, unsigned allocator, unsigned number,
		     bool inside)
{
	const struct alloc_function *f = site->function;

	return ABI_SITE(f->effect, abi_arg(site, f->size_arg),
			abi_arg(site, f->count_arg), abi_arg(site, f->old_arg),
			abi_arg(site, f->out_arg)) |
	       common_bits(site, allocator, number) | ABI_SITE_SP(site->sp_delta) |
	       (inside ? ABI_SITE_INSIDE : 0);
}

/* The index of a register's word in struct pt_regs. Callers never ask for the stack
 * pointer, which the four bits of a site have no room for. */
static uint64_t register_word(uint8_t reg)
{
	uint8_t offset = 0;

	(void)arch_register_offset(reg % INSN_REGISTERS, &offset);
	return offset / 8;
}

static uint64_t result_bits(uint32_t effect, int32_t sp_delta, uint8_t bp_words)
{
	return effect | (uint64_t)bp_words << ABI_RESULT_BP_SHIFT | ABI_SITE_SP(sp_delta);
}

uint64_t source_body_site(const struct plan_site *site, const struct body_site *at,
			  unsigned allocator, unsigned number)
{
	const uint64_t unrecorded = site->unrecorded ? ABI_RESULT_UNRECORDED : 0;
	uint8_t bp_words = site->body.bp_words[at - site->body.sites];
	uint64_t whole = result_bits(ABI_EFFECT_WHOLE, at->sp_delta, bp_words);
	uint64_t result = result_bits(ABI_EFFECT_RESULT, at->sp_delta, bp_words);
	uint64_t in_rax = ABI_RESULT(ABI_RESULT_REGISTER, register_word(INSN_RESULT))
			  << ABI_RESULT_VALUE0_SHIFT;

	switch (at->part) {
	case BODY_WHOLE:
		return whole | unrecorded | in_rax |
		       register_word(at->size_reg) << ABI_WHOLE_SIZE_SHIFT |
		       (uint64_t)allocator << ABI_WHOLE_ALLOCATOR_SHIFT;
	case BODY_RETURN:
		return result | unrecorded | in_rax;
	case BODY_FAILURE:
		return result | unrecorded | ABI_RESULT_FAILS_ALONE |
		       ABI_RESULT(ABI_RESULT_CONSTANT, 0) << ABI_RESULT_VALUE0_SHIFT;
	case BODY_ENTRY:
	case BODY_STOP:
		break;
	}
	return ABI_SITE(site->function->effect,
			at->part == BODY_ENTRY ? at->size_reg : ABI_ARG_NONE,
			ABI_ARG_NONE, ABI_ARG_NONE, ABI_ARG_NONE) |
	       common_bits(site, allocator, number) | ABI_SITE_SP(at->sp_delta) |
	       (at->part == BODY_ENTRY ? ABI_SITE_INSIDE | ABI_SITE_ALONE
				       : ABI_SITE_STOPS);
}

static uint64_t result_value(const struct return_value *value)
{
	switch (value->kind) {
	case RETURN_REGISTER:
	case RETURN_BLOCK:
		return ABI_RESULT(value->kind, register_word(value->reg));
	case RETURN_FRAME:
		return ABI_RESULT(value->kind, value->offset / 8);
	case RETURN_VALUE:
		return ABI_RESULT(value->kind, value->offset);
	case RETURN_OPEN:
		break;
	}
	return 0;
}

static uint64_t whole_site(const struct plan_site *site, const struct return_site *at,
			   unsigned allocator)
{
	bool when_taken = at->has_condition && at->value[1].kind;

	return result_bits(ABI_EFFECT_WHOLE, at->sp_delta, at->bp_words) |
	       result_value(&at->value[when_taken]) << ABI_RESULT_VALUE0_SHIFT |
	       (when_taken ? ABI_WHOLE_WHEN_TAKEN : 0) |
	       (site_asked(site->function) == VALUE_PRODUCT ? ABI_WHOLE_PRODUCT : 0) |
	       (site->unrecorded ? ABI_RESULT_UNRECORDED : 0) |
	       register_word(at->size_reg) << ABI_WHOLE_SIZE_SHIFT |
	       (uint64_t)allocator << ABI_WHOLE_ALLOCATOR_SHIFT;
}

uint64_t source_return_site(const struct plan_site *site, const struct return_site *at,
			    unsigned allocator)
{
	uint64_t condition =
		at->has_condition
			? ABI_RESULT_HAS_CONDITION | (uint64_t)at->condition
							     << ABI_RESULT_CONDITION_SHIFT
			: 0;
	uint64_t common = condition | (at->lacks_cfi ? ABI_RESULT_NO_CFI : 0);

	if (at->is_whole)
		return whole_site(site, at, allocator) | common;
	return result_bits(ABI_EFFECT_RESULT, at->sp_delta, at->bp_words) | common |
	       result_value(&at->value[0]) << ABI_RESULT_VALUE0_SHIFT |
	       result_value(&at->value[1]) << ABI_RESULT_VALUE1_SHIFT |
	       (at->is_shared ? ABI_RESULT_SHARED : 0);
}

uint64_t source_entry_site(const struct plan_site *site, const struct entry_site *at,
			   unsigned allocator, unsigned number)
{
	return ABI_SITE(site->function->effect, at->size_reg, ABI_ARG_NONE, ABI_ARG_NONE,
			ABI_ARG_NONE) |
	       common_bits(site, allocator, number) | ABI_SITE_SP(at->sp_delta) |
	       ABI_SITE_INSIDE;
}

uint64_t source_exit_site(const struct plan_site *site, const struct return_exit *exit)
{
	enum alloc_effect effect = site->function->effect;
	bool is_int = effect == EFFECT_ALLOC_OUT || effect == EFFECT_UNMAP;

	return result_bits(ABI_EFFECT_CHECK, 0, 0) |
	       ABI_RESULT(ABI_RESULT_REGISTER,
			  register_word(exit->is_jump ? INSN_ARGUMENT_0 : INSN_RESULT))
		       << ABI_RESULT_VALUE0_SHIFT |
	       ABI_RESULT_SHARED | (exit->lacks_cfi ? ABI_RESULT_NO_CFI : 0) |
	       (is_int ? ABI_CHECK_SHORT : 0) | (exit->is_own ? ABI_CHECK_OWN : 0);
}

bool source_site_is_result(uint64_t site)
{
	return ABI_SITE_EFFECT(site) == ABI_EFFECT_RESULT ||
	       ABI_SITE_EFFECT(site) == ABI_EFFECT_WHOLE;
}

bool source_site_begins(uint64_t site)
{
	return !source_site_is_result(site);
}

unsigned source_site_registers(uint64_t site)
{
	unsigned registers = 1u << ABI_SITE_SIZE_ARG(site) |
			     1u << ABI_SITE_COUNT_ARG(site) |
			     1u << ABI_SITE_OLD_ARG(site) | 1u << ABI_SITE_OUT_ARG(site);

	return registers & ~(1u << ABI_ARG_NONE);
}
