// SPDX-License-Identifier: Apache-2.0
#include "bpf/features.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/bpf.h>

#include "bpf/link.h"
#include "bpf/syscall.h"
#include "util/cleanup.h"
#include "util/locked_memory.h"

#define BPF_JCOND                   0xe0 /* may_goto; not every <linux/bpf.h> has it */

#define HELPER_PROBE_READ_KERNEL    113 /* BPF_FUNC_probe_read_kernel */
#define HELPER_GET_CURRENT_TASK_BTF 158 /* BPF_FUNC_get_current_task_btf */
#define HELPER_GET_ATTACH_COOKIE    174 /* BPF_FUNC_get_attach_cookie */

int kernel_load(uint32_t type, const struct bpf_insn *insns, uint32_t count,
		uint32_t attach_type)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = type;
	attr.insns = (uint64_t)(uintptr_t)insns;
	attr.insn_cnt = count;
	attr.license = (uint64_t)(uintptr_t) "GPL";
	attr.expected_attach_type = attach_type;
	return sys_bpf(BPF_PROG_LOAD, &attr, sizeof(attr));
}

#define INSN(c, d, s, o, i)                                                              \
	((struct bpf_insn){                                                              \
		.code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i)})
#define INSN_RETURN_0                                                                    \
	INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0),                                   \
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

int kernel_load_empty(uint32_t type, uint32_t attach_type)
{
	const struct bpf_insn insns[] = {INSN_RETURN_0};

	return kernel_load(type, insns, sizeof(insns) / sizeof(*insns), attach_type);
}

bool kernel_loads(const struct bpf_insn *insns, uint32_t count)
{
	_cleanup_(closep) int fd = kernel_load(BPF_PROG_TYPE_KPROBE, insns, count, 0);

	return fd >= 0;
}

/* `helper` takes at most one argument, the context. */
static bool has_helper(int helper)
{
	const struct bpf_insn insns[] = {
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, helper),
		INSN_RETURN_0,
	};

	return kernel_loads(insns, sizeof(insns) / sizeof(*insns));
}

static bool has_atomics(void)
{
	/* *(u64 *)(r10 - 8) = 0; r0 = 0; r1 = 1; cmpxchg(r10 - 8, r0, r1) */
	const struct bpf_insn insns[] = {
		INSN(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -8, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, 1, 0, 0, 1),
		INSN(BPF_STX | 0xc0 | BPF_DW, 10, 1, -8, 0xf1),
		INSN_RETURN_0,
	};

	return kernel_loads(insns, sizeof(insns) / sizeof(*insns));
}

/* A kernel under lockdown for "confidentiality" does not offer the helper and rejects
 * programs that call it with EINVAL (LOCKDOWN_BPF_READ_KERNEL where
 * bpf_tracing_func_proto() and bpf_base_func_proto() choose helpers). */
static bool has_kernel_reads(void)
{
	/* bpf_probe_read_kernel(r10 - 8, 8, r10 - 8) */
	const struct bpf_insn insns[] = {
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, 1, 10, 0, 0),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, 1, 0, 0, -8),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, 2, 0, 0, 8),
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, 3, 1, 0, 0),
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, HELPER_PROBE_READ_KERNEL),
		INSN_RETURN_0,
	};

	return kernel_loads(insns, sizeof(insns) / sizeof(*insns));
}

static bool has_may_goto(void)
{
	/* for (;;) may_goto out; out: return 0 */
	const struct bpf_insn insns[] = {
		INSN(BPF_JMP | BPF_JCOND, 0, 0, 1, 0),
		INSN(BPF_JMP | BPF_JA, 0, 0, -2, 0),
		INSN_RETURN_0,
	};

	return kernel_loads(insns, sizeof(insns) / sizeof(*insns));
}

/* A kernel that supports this attach type checks the path, and rejects a directory with
 * EBADF (kernel/trace/bpf_trace.c, bpf_uprobe_multi_link_attach()). */
static bool has_uprobe_multi(uint32_t attach_type)
{
	_cleanup_(closep) int program =
		kernel_load_empty(BPF_PROG_TYPE_KPROBE, attach_type);
	uint64_t offset = 0;

	if (program < 0)
		return false;

	_cleanup_(closep) int link = link_uprobe_multi(program, attach_type, "/", &offset,
						       NULL, NULL, 1, false, 0);

	return link == -EBADF;
}

struct attempt {
	int program;
	int error; /* errno value of a link for the thread itself, 0: success */
};

static void *try_thread(void *arg)
{
	struct attempt *attempt = arg;
	/* The kernel checks the offset after it has found the process. This one is past
	 * the end of the file, so no link can result. */
	const uint64_t offset = INT64_MAX;
	_cleanup_(closep) int link = link_uprobe_multi(
		attempt->program, ATTACH_TYPE_UPROBE_MULTI, "/proc/self/exe", &offset,
		NULL, NULL, 1, false, (int)syscall(SYS_gettid));

	attempt->error = link < 0 ? -link : 0;
	return NULL;
}

/*
 * Does a link for a process serve all of its threads? At first a link served only the
 * thread with that number, and hits of others were ignored (uprobe_prog_run(),
 * kernel/trace/bpf_trace.c). Releases from 6.10 on, and older ones with the fix, reject
 * the number of a thread other than the main thread with ESRCH.
 */
static bool has_whole_processes(void)
{
	_cleanup_(closep) int program =
		kernel_load_empty(BPF_PROG_TYPE_KPROBE, ATTACH_TYPE_UPROBE_MULTI);
	struct attempt attempt = {.program = program};
	pthread_t thread;

	if (program < 0 || pthread_create(&thread, NULL, try_thread, &attempt))
		return false;
	pthread_join(thread, NULL);
	return attempt.error == ESRCH;
}

void kernel_features_detect(struct kernel_features *ret)
{
	struct rlimit before;

	locked_memory_lift(&before);
	ret->cookies = has_helper(HELPER_GET_ATTACH_COOKIE);
	ret->uprobe_multi = ret->cookies && has_uprobe_multi(ATTACH_TYPE_UPROBE_MULTI) &&
			    has_whole_processes();
	ret->sessions = ret->uprobe_multi && has_uprobe_multi(ATTACH_TYPE_UPROBE_SESSION);
	ret->atomics = has_atomics();
	ret->task_btf = has_helper(HELPER_GET_CURRENT_TASK_BTF);
	ret->may_goto = has_may_goto();
	ret->reads_kernel = has_kernel_reads();
	locked_memory_restore(&before);
}
