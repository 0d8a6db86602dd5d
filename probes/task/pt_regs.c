/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The user-space registers of the running task (Linux 5.15). */
#define user_registers() task_pt_regs(get_current_task_btf())
