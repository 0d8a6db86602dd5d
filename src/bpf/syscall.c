// SPDX-License-Identifier: Apache-2.0
#include "bpf/syscall.h"

#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int sys_bpf(int command, void *attr, uint32_t size)
{
	long ret = syscall(SYS_bpf, command, attr, size);

	return ret < 0 ? -errno : (int)ret;
}

int sys_bpf_element(int command, int fd, const void *key, void *value)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t)fd;
	attr.key = (uint64_t)(uintptr_t)key;
	attr.value = (uint64_t)(uintptr_t)value;
	return sys_bpf(command, &attr, sizeof(attr));
}
