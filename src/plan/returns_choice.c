// SPDX-License-Identifier: Apache-2.0
#include "plan/returns_choice.h"

#include "arch/emulated.h"

bool choice_is_taken(const struct returns *r, uint64_t address)
{
	return r->is_taken && r->is_taken(r->arg, address);
}

int32_t choice_cut(struct choice *c, uint32_t source, uint32_t sink)
{
	int32_t price = cut_solve(&c->cut, source, sink, PRICE_LIMIT);

	uint64_t work = c->cut.work / 4 + 2 * WORK_VALUES * c->cfg->insns.len;

	return work_spend(c->cfg->work, work) ? price : -1;
}

const char *choice_emulated(const struct choice *c, const struct cfg_insn *at)
{
	uint8_t code[INSN_LENGTH_MAX + 1];
	/* Start one byte early: emulated_reason() then does not take it for a function's
	 * beginning. */
	size_t size = c->returns->source->read(c->returns->source->arg, at->address - 1,
					       code, sizeof(code));

	if (at->is_pseudo || at->insn.no_probe || size <= at->insn.length ||
	    choice_is_taken(c->returns, at->address))
		return NULL;
	return emulated_reason(code, 1, &at->insn, c->returns->emulated);
}
