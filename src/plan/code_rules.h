/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind rules for code without unwind information, such as musl, assembly and stubs of
 * the procedure linkage table. They are read from the machine code: on the way from an
 * address to a return instruction the code gives back its whole frame. x86-64.
 */
#ifndef PLAN_CODE_RULES_H
#define PLAN_CODE_RULES_H

#include <stdint.h>

#include "unwind/walk.h"

/* A walk_code_fn. The rules are what paths of at most some hundred instructions say. Code
 * does not say which calls return, so a rule may be wrong: check that it leads to a
 * return address. */
void code_rules_read(const struct cfi *cfi, uint64_t address,
		     struct walk_code_rules *ret);

#endif
