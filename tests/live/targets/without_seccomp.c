// SPDX-License-Identifier: Apache-2.0
/*
 * without_seccomp PROGRAM ARG...: runs a program that cannot install seccomp filters for
 * itself or its children, as in a sandbox. x86_64 only, like memtrace.
 */
#include "filtered.h"

#include <stddef.h>
#include <sys/syscall.h>

int main(int argc, char *argv[])
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_SECCOMP, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	return run_filtered(argc, argv, filter, sizeof(filter) / sizeof(*filter));
}
