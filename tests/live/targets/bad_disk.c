// SPDX-License-Identifier: Apache-2.0
/* bad_disk PROGRAM ARG...: runs a program and lets its fsync(2) fail, as on a disk with
 * bad blocks. */
#include "filtered.h"

#include <stddef.h>
#include <sys/syscall.h>

int main(int argc, char *argv[])
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fsync, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EIO),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	return run_filtered(argc, argv, filter, sizeof(filter) / sizeof(*filter));
}
