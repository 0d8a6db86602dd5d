/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* In place of miss.c and hand_over.c, without unwind rules. */
#define miss_send(t, ctx, w, s, allocator)      ABI_NO_STACK
#define miss_send_walked(t, w, s, allocator)    ABI_NO_STACK
#define miss_hand_over(t, ctx, w, s, allocator) ABI_NO_STACK
