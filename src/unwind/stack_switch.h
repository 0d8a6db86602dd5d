/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that calls a function on another stack and comes back, as Go's runtime.asmcgocall
 * does: it has no unwind information, but what follows the call says where the caller's
 * stack is. x86-64.
 */
#ifndef UNWIND_STACK_SWITCH_H
#define UNWIND_STACK_SWITCH_H

#include <stddef.h>
#include <stdint.h>

/* No sequence that is recognised is longer. */
#define STACK_SWITCH_MAX_BYTES 64u

/*
 * The rule (probes/unwind_step.h) of a frame whose return address is that of the first of
 * these bytes of code: UNWIND_SP_SWITCH, or UNWIND_SP_DEREF where asmcgocall had no need
 * to change to another stack. UNWIND_NONE: the code does not come back from a stack so.
 */
uint64_t stack_switch_rule(const uint8_t *code, size_t size_bytes);

#endif
