// SPDX-License-Identifier: Apache-2.0
#include "compile/dispatch.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <linux/bpf.h>

#include "bpf/kernel_offsets.h"
#include "bpf/syscall.h"
#include "util/cleanup.h"

#define HELPER_SEQ_WRITE 127 /* BPF_FUNC_seq_write */

/* bpf_seq_read() returns EAGAIN after a million threads (kernel/bpf/bpf_iter.c). */
#define TRIES_MAX 64

/* The beginning of union bpf_iter_link_info, which headers before 6.1 lack. */
struct task_filter {
	uint32_t tid, pid, pidfd;
};

#define INSN(c, d, s, o, i)                                                              \
	((struct bpf_insn){                                                              \
		.code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i)})
#define LOAD(to, from, offset) INSN(BPF_LDX | BPF_MEM | BPF_DW, to, from, offset, 0)
#define COPY(to, from)         INSN(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0)
#define SET(to, value)         INSN(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value)
#define SKIP_IF_0(what, count) INSN(BPF_JMP | BPF_JEQ | BPF_K, what, 0, count, 0)

int dispatch_open(void)
{
	struct kernel_dispatch kernel;

	if (!kernel_dispatch_read(&kernel))
		return -EOPNOTSUPP;

	/* struct bpf_iter__task: `meta`, whose first member is `seq`, and `task`, which
	 * is NULL at the end. The program writes one byte for each thread that uses
	 * dispatch. */
	const struct bpf_insn insns[] = {
		COPY(6, 1),
		LOAD(2, 6, 8),
		SKIP_IF_0(2, 10),
		LOAD(3, 2, (int16_t)kernel.task_work),
		INSN(BPF_ALU64 | BPF_AND | BPF_K, 3, 0, 0, 1 << kernel.work_bit),
		SKIP_IF_0(3, 7),
		INSN(BPF_ST | BPF_MEM | BPF_B, 10, 0, -1, 1),
		LOAD(1, 6, 0),
		LOAD(1, 1, 0),
		COPY(2, 10),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, 2, 0, 0, -1),
		SET(3, 1),
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, HELPER_SEQ_WRITE),
		SET(0, 0),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_TRACING;
	attr.expected_attach_type = BPF_TRACE_ITER;
	attr.attach_btf_id = kernel.iterator;
	attr.insns = (uint64_t)(uintptr_t)insns;
	attr.insn_cnt = sizeof(insns) / sizeof(*insns);
	attr.license = (uint64_t)(uintptr_t) "GPL";
	return sys_bpf(BPF_PROG_LOAD, &attr, sizeof(attr));
}

static int create_link(int program, int pid)
{
	const struct task_filter filter = {.pid = (uint32_t)pid};
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.link_create.prog_fd = (uint32_t)program;
	attr.link_create.attach_type = BPF_TRACE_ITER;
	attr.link_create.iter_info = (uint64_t)(uintptr_t)&filter;
	attr.link_create.iter_info_len = sizeof(filter);
	return sys_bpf(BPF_LINK_CREATE, &attr, sizeof(attr));
}

static int create_iterator(int link)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.iter_create.link_fd = (uint32_t)link;
	return sys_bpf(BPF_ITER_CREATE, &attr, sizeof(attr));
}

enum dispatch_answer dispatch_ask(int program, int pid)
{
	_cleanup_(closep) int link = program < 0 ? program : create_link(program, pid);
	_cleanup_(closep) int iterator = link < 0 ? link : create_iterator(link);
	char first;
	ssize_t size;
	int tries = 0;

	if (iterator < 0)
		return DISPATCH_UNKNOWN;
	do {
		size = read(iterator, &first, 1);
	} while (size < 0 && (errno == EINTR || errno == EAGAIN) && ++tries < TRIES_MAX);
	if (size < 0)
		return DISPATCH_UNKNOWN;
	return size ? DISPATCH_USED : DISPATCH_UNUSED;
}
