/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Loops that the verifier follows to their end (loop.c). */

#define LOOPS_ARE_SHORT 1

#define loop_goes_on()   1
#define ROUND(at, value) (value)
#define ROUND_BY(word, value) (value)
