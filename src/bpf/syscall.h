/* SPDX-License-Identifier: Apache-2.0 */
/* bpf(2), and the numbers of its interface that older headers do not have. */
#ifndef BPF_SYSCALL_H
#define BPF_SYSCALL_H

#include <stdint.h>

/* enum bpf_attach_type, include/uapi/linux/bpf.h. */
#define ATTACH_TYPE_PERF_EVENT     41
#define ATTACH_TYPE_UPROBE_MULTI   48
#define ATTACH_TYPE_UPROBE_SESSION 57

/* Returns a descriptor or 0, or -errno. */
int sys_bpf(int command, void *attr, uint32_t size);

#endif
