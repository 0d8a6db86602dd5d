/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops of many rounds. The verifier follows a loop round by round until one begins as
 * an earlier one did. Then the loop has no end as far as it can see, and it takes it only
 * with a may_goto inside (Linux 6.9, commit 011832b97b31): that goes out of the loop
 * after more rounds than any here has (BPF_MAX_LOOPS, include/linux/bpf.h; with 6.15 it
 * begins to look at the clock after 65535, BPF_MAX_TIMED_LOOPS). So where there is such
 * an instruction, which round it is gets forgotten, and a loop is followed two or three
 * times instead of a hundred. Nothing else may tell the rounds apart.
 */

#ifdef HAVE_MAY_GOTO

/* Not every assembler that we meet knows it: BPF_JMP | BPF_JCOND, the distance to `stop`
 * in instructions after this one (16 bits), and an immediate of 0. */
#define loop_goes_on()                                                                   \
	({                                                                               \
		__label__ stop;                                                          \
		int goes_on = 1;                                                         \
                                                                                         \
		__asm__ __volatile__ goto(                                               \
			"1: .byte 0xe5, 0; "                                             \
			".long ((%l[stop] - 1b - 8) / 8) & 0xffff; .short 0"             \
			:                                                                \
			:                                                                \
			:                                                                \
			: stop);                                                         \
		if (0) {                                                                 \
		stop:                                                                    \
			goes_on = 0;                                                     \
		}                                                                        \
		goes_on;                                                                 \
	})

#define ROUND(at, value) forget((at), (value))

#else

#define loop_goes_on()   1
#define ROUND(at, value) (value)

#endif

/* `i` from `first` to one below `end`; `at` is for ROUND(), a word of which no use is made
 * at the same time. */
#define LOOP(i, first, end, at)                                                          \
	_Pragma("clang loop unroll(disable)") for (u64 i = ROUND((at), (first));         \
						   i < (end) && loop_goes_on();          \
						   i = ROUND((at), i + 1))
