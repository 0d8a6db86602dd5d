/* SPDX-License-Identifier: Apache-2.0 */
/* Code of Go's runtime and compiler that unwinding has to recognize. */
#ifndef ARCH_GO_CODE_H
#define ARCH_GO_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How code after a call returns from another stack, as in runtime.asmcgocall. */
enum go_switch {
	GO_SWITCH_NONE, /* not in a known way */
	/* The word at stack pointer + offset is g. The stack's end is the word at g + 8,
	 * and the word before the offset says how far below it the stack pointer was. */
	GO_SWITCH_G,
	/* The word at stack pointer + offset is the other stack pointer. */
	GO_SWITCH_SP,
};

/* Read the code at a return address. */
enum go_switch go_switch_read(const uint8_t *code, size_t size_bytes,
			      int32_t *ret_offset);

/* go_saves_bp() reads this many bytes. The stack pointer has changed for the first time
 * before the byte GO_SAVE_BEFORE. */
#define GO_SAVE_BYTES  9
#define GO_SAVE_BEFORE 1

/* Does the function save the frame pointer below the return address? Compiled functions
 * with a frame do. `depth`: of the stack after the change of the stack pointer, bytes. */
bool go_saves_bp(const uint8_t *code, int32_t depth);

#endif
