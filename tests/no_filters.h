/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that cannot load a seccomp filter any more. */
#ifndef TESTS_NO_FILTERS_H
#define TESTS_NO_FILTERS_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "refuse_call.h"

/*
 * From now on seccomp(2) fails with `errnum` when a filter is loaded. libseccomp also
 * uses it to find out what the kernel supports; that still works.
 */
static inline void make_filters_fail(int errnum)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 0, 5),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SECCOMP_SET_MODE_FILTER, 0, 3),
		/* The program's address: NULL in a question. */
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[2]) + 4),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)errnum),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	load_filter(code, sizeof(code) / sizeof(*code));
}

#endif
