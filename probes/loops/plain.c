/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Loops that the verifier follows to their end (loop.c). */

#define loop_goes_on()   1
#define ROUND(at, value) (value)
#define ROUND_BY(word, value) (value)

/* The number of bytes to send. Before Linux 5.16 the verifier loses the bound of a number
 * that is stored on the stack, so the largest number is sent, which is a constant. */
#define SEND_BYTES(bytes, most) (most)

/* Deep stacks end at the limit (unwind/deep.c), and far pages are not sent: the verifier
 * would follow each round of these loops. */
#define WALK_ROOT 0
#define miss_send_far(ring, r, sp, pages) 0
