// SPDX-License-Identifier: Apache-2.0
/* The helpers of BPF programs (host_bpf.h). */
#include <errno.h>
#include <string.h>

#include "host_bpf/host_bpf.h"

#include "abi.h"

_Thread_local struct host_context *host_now;
uint64_t host_ns = 1u << 20, host_jiffies = 1000;
uint64_t host_run_values[ABI_RUN_VALUES] = {[ABI_RUN_MAX_SIZE] = UINT64_MAX};

void host_point(const char *what)
{
	if (host_now && host_now->point)
		host_now->point(host_now->arg, what);
}

uint32_t bpf_get_smp_processor_id(void)
{
	return host_now ? host_now->cpu : 0;
}

uint64_t bpf_get_current_pid_tgid(void)
{
	const struct host_task *task = host_now->task;

	return (uint64_t)task->tgid << 32 | task->pid;
}

uint64_t bpf_get_current_task(void)
{
	return (uintptr_t)host_now->task;
}

void *host_current_task(void)
{
	return host_now->task;
}

void *host_task_pt_regs(void *task)
{
	return ((struct host_task *)task)->pt_regs;
}

uint64_t host_attach_cookie(void *ctx)
{
	(void)ctx;
	return host_now->cookie;
}

uint64_t host_func_ip(void *ctx)
{
	(void)ctx;
	return host_now->function;
}

int bpf_get_current_comm(void *ret, size_t size)
{
	memset(ret, 0, size);
	if (host_now)
		memcpy(ret, host_now->name,
		       size < sizeof(host_now->name) ? size : sizeof(host_now->name));
	return 0;
}

uint64_t bpf_ktime_get_ns(void)
{
	return __atomic_add_fetch(&host_ns, 1024, __ATOMIC_RELAXED);
}

uint64_t bpf_jiffies64(void)
{
	return __atomic_load_n(&host_jiffies, __ATOMIC_RELAXED);
}

uint32_t bpf_get_prandom_u32(void)
{
	return host_now->random;
}

int bpf_probe_read_user(void *ret, size_t size, const void *from)
{
	uintptr_t start = (uintptr_t)from;

	if (start < host_now->memory_start || start > host_now->memory_end ||
	    size > host_now->memory_end - start)
		return -EFAULT;
	memcpy(ret, from, size);
	return 0;
}

int bpf_probe_read_kernel(void *ret, size_t size, const void *from)
{
	if ((uintptr_t)from < 4096)
		return -EFAULT;
	memcpy(ret, from, size);
	return 0;
}
