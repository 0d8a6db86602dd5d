/* SPDX-License-Identifier: Apache-2.0 */
/* Propagates facts along the paths of a function whose instructions are linked. Private
 * to cfg.c. */
#ifndef CODE_CFG_STEP_H
#define CODE_CFG_STEP_H

#include "code/cfg.h"

#define CFG_STACK_UNKNOWN "the stack pointer moves in an unknown way"

/* The positions of rsp and rbp after the instruction, from those before it. Returns NULL
 * or CFG_STACK_UNKNOWN. */
const char *cfg_step(int32_t sp_delta, int32_t bp_delta, const struct insn *insn,
		     int32_t *sp, int32_t *bp);

/* Find out which instructions some path leads from to a return (cfg_insn.returns). */
void cfg_find_returns(struct cfg *cfg);

/* Check that the position of rbp is the same on all paths to an instruction. Returns NULL
 * or CFG_STACK_UNKNOWN. */
const char *cfg_find_bp(struct cfg *cfg);

#endif
