// SPDX-License-Identifier: Apache-2.0
#include "code/cfg_step.h"

const char *cfg_step(int32_t sp_delta, int32_t bp_delta, const struct insn *insn,
		     int32_t *sp, int32_t *bp)
{
	int64_t delta = (int64_t)sp_delta - insn->sp_change;

	*bp = bp_delta;
	if (insn->moves_sp)
		return CFG_STACK_UNKNOWN;
	if (insn->sp_from_bp) {
		if (bp_delta == CFG_NO_BP)
			return CFG_STACK_UNKNOWN;
		delta = (int64_t)bp_delta - insn->displacement;
		if (insn->is_leave) {
			delta -= 8;
			*bp = CFG_NO_BP;
		}
	} else if (insn->writes & 1u << INSN_BP) {
		*bp = CFG_NO_BP;
		if (insn->kind == INSN_COPY && insn->from == INSN_SP)
			*bp = sp_delta;
		else if (insn->memory == INSN_MEMORY_ADDRESS && insn->base == INSN_SP &&
			 !insn->is_indexed)
			*bp = sp_delta - insn->displacement;
	} else if (insn->kind == INSN_OPAQUE) {
		/* rep movs etc.: compilers do not emit opaque instructions that change
		 * rbp. */
		*bp = bp_delta;
	}
	if (delta < 0 || delta > INT16_MAX)
		return CFG_STACK_UNKNOWN;
	*sp = (int32_t)delta;
	return NULL;
}

static bool is_exit(const struct cfg_insn *at)
{
	return at->exit == CFG_RETURNS || at->exit == CFG_LEAVES;
}

void cfg_find_returns(struct cfg *cfg)
{
	bool changed = true;

	while (changed && work_spend(cfg->work, cfg->insns.len)) {
		changed = false;
		for (size_t i = cfg->insns.len; i-- > 0;) {
			struct cfg_insn *at = &cfg->insns.data[i];
			bool returns = is_exit(at);

			for (uint8_t n = 0; n < at->next_count; n++)
				returns |= cfg->insns.data[at->next[n]].returns;
			changed |= returns != at->returns;
			at->returns = returns;
		}
	}
}

const char *cfg_find_bp(struct cfg *cfg)
{
	bool changed = true;

	while (changed && work_spend(cfg->work, cfg->insns.len)) {
		changed = false;
		vec_foreach (at, &cfg->insns) {
			int32_t sp, bp;

			if (at->is_pseudo || at->exit != CFG_GOES_ON)
				continue;
			if (cfg_step(at->sp_delta, at->bp_delta, &at->insn, &sp, &bp))
				return CFG_STACK_UNKNOWN;
			for (uint8_t n = 0; n < at->next_count; n++) {
				struct cfg_insn *to = &cfg->insns.data[at->next[n]];

				if (to->bp_delta == CFG_NO_BP || to->bp_delta == bp)
					continue;
				to->bp_delta = CFG_NO_BP;
				changed = true;
			}
		}
	}
	return NULL;
}
