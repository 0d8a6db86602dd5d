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

static int element(int command, int fd, const void *key, const void *value,
		   uint64_t flags)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t)fd;
	attr.key = (uint64_t)(uintptr_t)key;
	attr.value = (uint64_t)(uintptr_t)value;
	attr.flags = flags;
	return sys_bpf(command, &attr, sizeof(attr));
}

int sys_bpf_element(int command, int fd, const void *key, void *value)
{
	return element(command, fd, key, value, 0);
}

int sys_bpf_insert(int fd, const void *key, const void *value)
{
	return element(BPF_MAP_UPDATE_ELEM, fd, key, value, BPF_NOEXIST);
}

int sys_bpf_info(int fd, void *info, uint32_t size)
{
	union bpf_attr attr;
	int ret;

	memset(&attr, 0, sizeof(attr));
	attr.info.bpf_fd = (uint32_t)fd;
	attr.info.info_len = size;
	attr.info.info = (uint64_t)(uintptr_t)info;
	ret = sys_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr));
	return ret ? ret : (int)attr.info.info_len;
}
