/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that use syscall user dispatch (prctl(2), PR_SET_SYSCALL_USER_DISPATCH): for
 * each of their system calls, the one of a return probe too, the kernel may send SIGSYS
 * instead. /proc does not show it, and ptrace(2) shows it for stopped threads only. So a
 * BPF program looks at each thread (bpf_iter_task, Linux 5.8; for one process alone 6.1).
 * No thread is stopped by that.
 */
#ifndef BPF_DISPATCH_H
#define BPF_DISPATCH_H

enum dispatch_answer {
	DISPATCH_UNUSED,
	DISPATCH_USED,
	DISPATCH_UNKNOWN, /* the kernel does not let itself be asked */
};

/* The program, as a descriptor; or -errno. */
int dispatch_open(void);

#define DISPATCH_ALL_PROCESSES 0

/* Ask it about all threads of the process `pid`, or of all processes. One that has ended
 * has none. */
enum dispatch_answer dispatch_ask(int program, int pid);

#endif
