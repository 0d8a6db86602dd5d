/* SPDX-License-Identifier: Apache-2.0 */
/* Rows packed into the rules that the probes step by (probes/unwind_step.h). */
#ifndef UNWIND_RULES_H
#define UNWIND_RULES_H

#include <stdint.h>

#include "unwind/cfi_row.h"
#include "unwind_step.h" /* of probes/ */

/*
 * The rule that says of pc, bp and stack pointer what `row` says. `pc` is the value of
 * the pc register there, as expressions may use it. UNWIND_RULE_SLOW when no rule says
 * it: then the frame is for walk.h alone. Never UNWIND_NONE.
 */
uint64_t rule_from_row(const struct cfi_row *row, uint64_t pc);

#endif
