/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that keep a frame pointer, in code without unwind information: they begin
 * with "push %rbp; mov %rsp,%rbp" (x86-64 psABI, figure 3.3), and wherever such a
 * function calls another one, %rbp is the CFA - 16. They are taken to begin at multiples
 * of 16 bytes, as compilers place them, and to last until there is padding of int3, or an
 * instruction at such a place that only functions of another kind begin with: push or sub
 * of %rsp. A function that begins otherwise, and calls others without a frame pointer, is
 * mistaken.
 */
#ifndef UNWIND_KEPT_BP_H
#define UNWIND_KEPT_BP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A stretch of code whose calls are in functions that keep a frame pointer, or are not
 * known to be. */
typedef void kept_bp_fn(void *arg, uint64_t start, bool is_kept);

/*
 * Call `each` where such functions begin and where they end, ascending; what lies before
 * the first call is not known. `code` are the `size` bytes at the address `start`.
 * Nothing is called where functions begin anywhere, as in code that was optimized for
 * size, or where only few of them are found.
 */
void kept_bp_each(const uint8_t *code, size_t size, uint64_t start, kept_bp_fn *each,
		  void *arg);

/* Is the call at the last byte of `code`, `size` bytes at the address `start`, in such a
 * function, which begins in them? What kept_bp_each() is careful about is not looked at.
 */
bool kept_bp_calls(const uint8_t *code, size_t size, uint64_t start);

#endif
