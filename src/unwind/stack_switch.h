/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recognizes code that calls a function on another stack and returns to its own, as
 * Go's runtime.asmcgocall does. It has no unwind information, but the code after the
 * call shows how to find the caller's stack.
 */
#ifndef UNWIND_STACK_SWITCH_H
#define UNWIND_STACK_SWITCH_H

#include <stddef.h>
#include <stdint.h>

/*
 * The rule (probes/unwind_step.h) for a frame whose return address is the address of
 * the first byte of `code`: UNWIND_SP_SWITCH, or UNWIND_SP_DEREF if asmcgocall did not
 * have to change the stack. UNWIND_NONE: the code does not return from another stack in
 * this way.
 */
uint64_t stack_switch_rule(const uint8_t *code, size_t size_bytes);

#endif
