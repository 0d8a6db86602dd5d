/* SPDX-License-Identifier: Apache-2.0 */
/* Make a system call fail in this process, as in a sandbox or on an older kernel. */
#ifndef TESTS_REFUSE_CALL_H
#define TESTS_REFUSE_CALL_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

#include "check.h"

/* Load these instructions as a seccomp filter of this process. */
static inline void load_filter(struct sock_filter *code, size_t count)
{
	const struct sock_fprog program = {(unsigned short)count, code};

	REQUIRE(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	REQUIRE(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

/* From now on the system call `number` fails with `errnum` in this process. */
static inline void refuse_call(unsigned number, int errnum)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)errnum),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	load_filter(code, sizeof(code) / sizeof(*code));
}

#endif
