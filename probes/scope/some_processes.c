/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* In place of one_process.c: several processes may be traced. */
#define tracee_is_here        tracee_find
#define only_process_is(slot) ((void)0)
