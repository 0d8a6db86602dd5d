/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Claims by compare-and-exchange (claim.c). */

/* Set `*word` to `value` if it is 0. Returns 1 on success, 0 if another program set it
 * first. */
#define claim_word(word, value) (__sync_val_compare_and_swap((word), 0, (value)) == 0)

/* The same for the tgid of a slot. */
#define claim_process(word, slot, tgid) claim_word((word), (tgid))

/* Set a counter to 0. Returns its old value. */
#define take_all(word) __sync_lock_test_and_set((word), 0)
