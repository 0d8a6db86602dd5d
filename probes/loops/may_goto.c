/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Loops that the verifier follows a few times (loop.c). */

/* Not every assembler in use knows the instruction: BPF_JMP | BPF_JCOND, the distance to
 * `stop` in instructions after this one (16 bits), and an immediate of 0. */
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

#define ROUND(at, value) launder((at), (value))
#define ROUND_BY(word, value) launder_by((word), (value))

/* The number of bytes to send, which is `most` or less. */
#define SEND_BYTES(bytes, most) (bytes)

/* The number of outermost frames that a deep stack keeps (unwind/deep.c). */
#define WALK_ROOT ABI_ROOT_FRAMES(WALK_DEPTH)
