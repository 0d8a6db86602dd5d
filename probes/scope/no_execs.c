/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* In place of execs.c: no process waits for its exec. */
#define exec_is_awaited(tgid)                0
#define exec_await(tgid)                     ((void)0)
#define exec_awaits_no_more(tgid)            ((void)0)
#define child_awaits_exec(parent, is_shared) 0
