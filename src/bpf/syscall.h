/* SPDX-License-Identifier: Apache-2.0 */
/* bpf(2), and constants of its interface that older headers lack. */
#ifndef BPF_SYSCALL_H
#define BPF_SYSCALL_H

#include <stdint.h>

/* enum bpf_attach_type, include/uapi/linux/bpf.h */
#define ATTACH_TYPE_PERF_EVENT     41
#define ATTACH_TYPE_UPROBE_MULTI   48
#define ATTACH_TYPE_UPROBE_SESSION 57

/* Returns a descriptor or 0, or -errno. */
int sys_bpf(int command, void *attr, uint32_t size);

/* Run one command on an element of the map `fd`. `value` is the element's value or the
 * buffer for it; for BPF_MAP_GET_NEXT_KEY, the buffer for the next key (union bpf_attr
 * has one field for both); for BPF_MAP_DELETE_ELEM, NULL. Returns 0 or -errno. */
int sys_bpf_element(int command, int fd, const void *key, void *value);

/* Insert an element into a hash. Returns 0 or -errno; -EEXIST if the key exists. */
int sys_bpf_insert(int fd, const void *key, const void *value);

/* Read what the kernel says of the map, program or link `fd`: struct bpf_map_info,
 * bpf_prog_info or bpf_link_info. The `size` bytes at `info` are 0 before. Returns how
 * many of them the kernel knows, or -errno. */
int sys_bpf_info(int fd, void *info, uint32_t size);

#endif
