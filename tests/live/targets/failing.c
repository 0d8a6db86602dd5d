// SPDX-License-Identifier: Apache-2.0
/*
 * failing CALL ERROR PROGRAM ARG...: runs a program and lets a system call fail with this
 * error, for it and its children, as on another kernel, in a sandbox or without memory.
 * x86_64 only, like memtrace.
 */
#include "filtered.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>

struct number {
	const char *name;
	int number;
};

/* clang-format off */
#define CALL(name)  { #name, SYS_##name }
#define ERROR(name) { #name, name }

static const struct number calls[] = {
	CALL(bpf),
	CALL(capset),
	CALL(clone),
	CALL(epoll_create1),
	CALL(fsopen),
	CALL(memfd_create),
	CALL(perf_event_open),
	CALL(pidfd_open),
	CALL(pipe2),
	CALL(ptrace),
	CALL(setresuid),
	CALL(signalfd4),
	CALL(socketpair),
	CALL(timerfd_create),
	{ NULL, 0 },
};

static const struct number errors[] = {
	ERROR(EACCES),
	ERROR(EIO),
	ERROR(EMFILE),
	ERROR(ENOMEM),
	ERROR(ENOSYS),
	ERROR(EPERM),
	{ NULL, 0 },
};
/* clang-format on */

static unsigned find(const char *name, const struct number *numbers)
{
	for (; numbers->name; numbers++)
		if (!strcmp(numbers->name, name))
			return (unsigned)numbers->number;
	fprintf(stderr, "failing: %s is not known\n", name);
	exit(92);
}

int main(int argc, char *argv[])
{
	if (argc < 4)
		return 91;

	unsigned call = find(argv[1], calls), error = find(argv[2], errors);
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	return run_filtered(argc - 2, argv + 2, filter, sizeof(filter) / sizeof(*filter));
}
