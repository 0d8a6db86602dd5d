/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Loops of many rounds: the loop counter is laundered, so that the verifier follows a
 * loop two or three times instead of a hundred times. Nothing else may distinguish the
 * rounds. probes/README.md, "Loops of many rounds", says why the verifier accepts this.
 */

/* Run `i` from `first` to `end` - 1. `at` is for ROUND(): a word without another use in
 * the loop, in a map: the verifier knows what it has stored on the stack. */
#define LOOP(i, first, end, at)                                                          \
	_Pragma("clang loop unroll(disable)") for (u64 i = ROUND((at), (first));         \
						   i < (end) && loop_goes_on();          \
						   i = ROUND((at), i + 1))

/* The same without a place in memory. `word` is as for launder_by(). */
#define LOOP_BY(i, first, end, word)                                                     \
	_Pragma("clang loop unroll(disable)") for (u64 i = ROUND_BY((word), (first));    \
						   i < (end) && loop_goes_on();          \
						   i = ROUND_BY((word), i + 1))
