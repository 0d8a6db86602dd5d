// SPDX-License-Identifier: Apache-2.0
/*
 * without_watches PROGRAM ARG...: runs a program and lets its epoll_ctl(2) fail, as if
 * fs.epoll.max_user_watches were reached.
 */
#include "filtered.h"

#include <stddef.h>
#include <sys/syscall.h>

int main(int argc, char *argv[])
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_epoll_ctl, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSPC),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	return run_filtered(argc, argv, filter, sizeof(filter) / sizeof(*filter));
}
