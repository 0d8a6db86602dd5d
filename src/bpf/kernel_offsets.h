/* SPDX-License-Identifier: Apache-2.0 */
/* Offsets in kernel structures that the probes read, from the running kernel's BTF. */
#ifndef BPF_KERNEL_OFFSETS_H
#define BPF_KERNEL_OFFSETS_H

#include <stdbool.h>
#include <stdint.h>

struct kernel_offsets {
	bool has_trampoline;  /* the three offsets below are valid */
	uint32_t task_mm;     /* task_struct.mm; all offsets are in bytes */
	uint32_t mm_xol_area; /* mm_struct.uprobes_state.xol_area */
	uint32_t xol_vaddr;   /* xol_area.vaddr */

	bool has_code_pages;    /* task_mm and the offset below are valid */
	uint32_t mm_code_pages; /* mm_struct.exec_vm */

	bool has_stack_ends;     /* task_mm and the offsets below are valid */
	uint32_t mm_start_stack; /* mm_struct.start_stack */
	uint32_t task_fsbase;    /* task_struct.thread.fsbase */

	bool has_instances;       /* the five offsets below are valid */
	uint32_t task_utask;      /* task_struct.utask */
	uint32_t utask_instances; /* uprobe_task.return_instances */
	uint32_t instance_stack, instance_return, instance_next; /* return_instance */

	bool has_task;      /* the two offsets below are valid */
	uint32_t task_pid;  /* task_struct.pid */
	uint32_t task_tgid; /* task_struct.tgid */

	bool has_parent;           /* task_mm, task_tgid and the offset below are valid */
	uint32_t task_real_parent; /* task_struct.real_parent */

	bool has_live;        /* the two offsets below are valid */
	uint32_t task_signal; /* task_struct.signal */
	uint32_t signal_live; /* signal_struct.live */

	bool has_stack;       /* the two numbers below are valid */
	uint32_t task_stack;  /* task_struct.stack */
	uint32_t stack_bytes; /* size of a kernel stack, THREAD_SIZE */

	bool has_pt_regs;         /* the BTF has struct pt_regs */
	bool pt_regs_as_embedded; /* and its layout is as in probes/kernel */
};

/* Read the offsets. If the kernel has no BTF, all flags are false. */
void kernel_offsets_read(struct kernel_offsets *ret);

/* Where the kernel stores that a thread uses syscall user dispatch (compile/dispatch.h).
 */
struct kernel_dispatch {
	uint32_t iterator;  /* BTF id of bpf_iter_task(), to attach to */
	uint32_t task_work; /* task_struct.thread_info.syscall_work, bytes */
	uint32_t work_bit;  /* the bit in syscall_work; below 31 */
};

/* Returns false if the kernel has no BTF or no syscall user dispatch. */
bool kernel_dispatch_read(struct kernel_dispatch *ret);

#endif
