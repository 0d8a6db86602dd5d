/* SPDX-License-Identifier: Apache-2.0 */
/* Packs rows into the unwind rules of the probes (probes/unwind_step.h). */
#ifndef UNWIND_RULES_H
#define UNWIND_RULES_H

#include <stdint.h>

#include "unwind/cfi_row.h"
#include "unwind_step.h" /* of probes/ */

/*
 * The rule that is equivalent to `row` for pc, bp and stack pointer. `pc` is the value
 * of the pc register there, which expressions may use. UNWIND_RULE_SLOW if no rule is
 * equivalent: then only walk.h can step over the frame. Never UNWIND_NONE.
 */
uint64_t rule_from_row(const struct cfi_row *row, uint64_t pc);

#endif
