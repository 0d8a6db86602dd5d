/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Loops of many rounds. The verifier follows a loop round by round until a round begins
 * in the same state as an earlier one. It then takes the loop for endless, and accepts it
 * only with a may_goto inside (Linux 6.9, commit 011832b97b31). may_goto leaves the loop
 * after more rounds than any loop here has (BPF_MAX_LOOPS, include/linux/bpf.h; since
 * 6.15 it looks at the clock after 65535 rounds, BPF_MAX_TIMED_LOOPS). So with may_goto
 * the loop counter is laundered, and the verifier follows a loop two or three times
 * instead of a hundred times. Nothing else may distinguish the rounds.
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
