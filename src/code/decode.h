/* SPDX-License-Identifier: Apache-2.0 */
/* Decode several instructions (arch/insn.h), one after the other. */
#ifndef CODE_DECODE_H
#define CODE_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/insn.h"

#define INSN_NOT_DECODED SIZE_MAX

/* Decode from code[0] on: the first offset, not before `at`, where an instruction begins.
 * It is `at` when one begins there. INSN_NOT_DECODED: an instruction before is unknown.
 */
size_t insn_decode_to(const uint8_t *code, size_t size, size_t at);

/* The first offset at or after `at` where no nop begins; at most `size` if `at` is. */
size_t insn_skip_nops(const uint8_t *code, size_t size, size_t at);

/* Bytes that insn_line_ends() needs at most. */
#define INSN_LINE_MAX 96

/* Is this straight-line code with a nop after its first call? Compilers put nops after
 * a call that they know not to return. */
bool insn_line_ends(const uint8_t *code, size_t size);

#endif
