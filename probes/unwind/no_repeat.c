/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Walks are not compared with the last one (repeat.c). */

#define walk_note(w, address, first, second, first_counts) ((void)0)
#define walk_note_no_more(w)                               ((void)0)
