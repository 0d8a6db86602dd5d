/* SPDX-License-Identifier: Apache-2.0 */
/* Interrupts allocation functions in the middle: at the mmap() for a large block. */
#ifndef TARGETS_TRAP_MMAP_H
#define TARGETS_TRAP_MMAP_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LARGE   5000000 /* size of a block that is mapped separately, bytes */
#define TRAPPED 4000000 /* mmap() of more bytes is trapped */

/* From now on such an mmap() raises SIGSYS instead, which `action` handles. */
static inline void trap_large_blocks(const struct sigaction *action)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, TRAPPED, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};

	if (sigaction(SIGSYS, action, NULL) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(2);
}

#endif
