/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* In place of untraced_moves.c, if memtrace selects the processes. */
#define moves_of_untraced(tgid, is_fixed) ((void)0)
