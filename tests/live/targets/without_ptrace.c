// SPDX-License-Identifier: Apache-2.0
/*
 * without_ptrace PROGRAM ARG...: runs a program that may stop no other process, as under
 * a security module. x86_64 only, like memtrace.
 */
#include "filtered.h"

#include <stddef.h>
#include <sys/syscall.h>

int main(int argc, char *argv[])
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	return run_filtered(argc, argv, filter, sizeof(filter) / sizeof(*filter));
}
