/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds functions that keep a frame pointer in code without unwind information. They
 * begin with "push %rbp; mov %rsp,%rbp" (x86-64 psABI, figure 3.3), and at each call that
 * such a function makes, %rbp is the CFA - 16. docs/unwinding.md, "Frame pointers", says
 * where functions are assumed to begin and to end. For aarch64 no function is found.
 */
#ifndef ARCH_KEPT_BP_H
#define ARCH_KEPT_BP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Called with the start of a stretch of code. `is_kept`: calls in it are made by
 * functions that keep a frame pointer; otherwise this is unknown. */
typedef void kept_bp_fn(void *arg, uint64_t start, bool is_kept);

/*
 * Call `each` where such functions begin and where they end, ascending. Code before the
 * first call of `each` is unknown. `code` has `size` bytes and the address `start`.
 * `each` is not called if functions begin at any address, as in code optimized for
 * size, or if too few such functions are found.
 */
void kept_bp_each(const uint8_t *code, size_t size, uint64_t start, kept_bp_fn *each,
		  void *arg);

/* Is the call that ends with the last byte of `code` made by such a function, which
 * begins in `code`? `code` has `size` bytes and the address `start`. Does not make the
 * checks for unaligned or few functions of kept_bp_each(). */
bool kept_bp_calls(const uint8_t *code, size_t size, uint64_t start);

#endif
