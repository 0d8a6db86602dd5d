/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The running task. */

/* Some versions of libbcc do not declare them (BPF_FUNC_get_current_task_btf, Linux 5.11,
 * and BPF_FUNC_task_pt_regs, 5.15). What they return can be read without a helper. */
static void *(*get_current_task_btf)(void) = HELPER(158);
static void *(*task_pt_regs)(void *task) = HELPER(175);
