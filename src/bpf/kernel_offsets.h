/* SPDX-License-Identifier: Apache-2.0 */
/* What the running kernel's own type information (BTF) says of the structures that
 * the probes look into. */
#ifndef BPF_KERNEL_OFFSETS_H
#define BPF_KERNEL_OFFSETS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/cache.h"

struct kernel_offsets {
	bool has_trampoline;  /* the three offsets below are known */
	uint32_t task_mm;     /* task_struct.mm, bytes */
	uint32_t mm_xol_area; /* mm_struct.uprobes_state.xol_area */
	uint32_t xol_vaddr;   /* xol_area.vaddr */

	bool has_code_pages;    /* task_mm and the offset below are known */
	uint32_t mm_code_pages; /* mm_struct.exec_vm */

	bool has_stack_ends;     /* task_mm and the offsets below are known */
	uint32_t mm_start_stack; /* mm_struct.start_stack */
	uint32_t task_fsbase;    /* task_struct.thread.fsbase */

	bool has_instances;       /* the five offsets below are known */
	uint32_t task_utask;      /* task_struct.utask */
	uint32_t utask_instances; /* uprobe_task.return_instances */
	uint32_t instance_stack, instance_return, instance_next; /* return_instance */

	bool has_task;      /* the two offsets below are known */
	uint32_t task_pid;  /* task_struct.pid */
	uint32_t task_tgid; /* task_struct.tgid */

	bool has_parent;           /* task_mm, task_tgid and the offset below are known */
	uint32_t task_real_parent; /* task_struct.real_parent */

	bool has_stack;       /* the two numbers below are known */
	uint32_t task_stack;  /* task_struct.stack */
	uint32_t stack_bytes; /* of a kernel stack, THREAD_SIZE */

	bool has_pt_regs;         /* struct pt_regs was found */
	bool pt_regs_as_embedded; /* and is laid out as probes/kernel has it */
};

/* Read them. Where the kernel has no BTF everything is false. */
void kernel_offsets_read(struct kernel_offsets *ret);

/* The same, from the cache if an earlier run has read them (5 MB, 50 ms). */
void kernel_offsets_get(const struct cache *cache, struct kernel_offsets *ret);

/* Where the kernel notes that a thread uses syscall user dispatch (bpf/dispatch.h). */
struct kernel_dispatch {
	uint32_t iterator;  /* BTF number of bpf_iter_task(), to attach to */
	uint32_t task_work; /* task_struct.thread_info.syscall_work, bytes */
	uint32_t work_bit;  /* there; below 31 */
};

/* False where the kernel has no BTF, or nothing of this kind. */
bool kernel_dispatch_read(struct kernel_dispatch *ret);

#endif
