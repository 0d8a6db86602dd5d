/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The running task, and a pointer or a number in a structure of the kernel. Typed tasks
 * (Linux 5.11) are read without a helper. */

#define current_task()             get_current_task_btf()
#define kernel_pointer(in, offset) (*(void **)((in) + (offset)))
#define kernel_number(in, offset)  (*(u64 *)((in) + (offset)))
