// SPDX-License-Identifier: Apache-2.0
#include "bpf/syscall.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

int sys_bpf(int command, void *attr, uint32_t size)
{
	long ret = syscall(SYS_bpf, command, attr, size);

	return ret < 0 ? -errno : (int)ret;
}
