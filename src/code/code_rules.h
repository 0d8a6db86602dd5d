/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind rules for code without unwind information, such as musl, assembly and stubs of
 * the procedure linkage table. They are derived from the machine code: on the path from
 * an address to a return instruction the code releases its whole frame. x86-64.
 */
#ifndef CODE_CODE_RULES_H
#define CODE_CODE_RULES_H

#include <stdint.h>

#include "unwind/walk.h"

/* A walk_code_fn. Derives rules from paths of at most some hundred instructions. The
 * code does not say which calls return, so a rule may be wrong: check that it leads to
 * a return address. */
void code_rules_read(const struct cfi *cfi, uint64_t address,
		     struct walk_code_rules *ret);

#endif
