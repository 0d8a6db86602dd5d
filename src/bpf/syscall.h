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

/* One command on an element of the map `fd`: `value` is the element's, or where it goes,
 * or for BPF_MAP_GET_NEXT_KEY where the next key goes (one field of union bpf_attr); NULL
 * for BPF_MAP_DELETE_ELEM. Returns 0, or -errno. */
int sys_bpf_element(int command, int fd, const void *key, void *value);

/* Put an element into a hash that has none of this key: 0, or -EEXIST and others. */
int sys_bpf_insert(int fd, const void *key, const void *value);

#endif
