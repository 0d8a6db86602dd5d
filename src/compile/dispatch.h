/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detects threads that use syscall user dispatch (prctl(2),
 * PR_SET_SYSCALL_USER_DISPATCH), which can stop the system call of a return probe. A BPF
 * program looks at each thread (bpf_iter_task, Linux 5.8; of a single process, 6.1) and
 * stops none: docs/probes.md, "Processes without return probes".
 */
#ifndef COMPILE_DISPATCH_H
#define COMPILE_DISPATCH_H

enum dispatch_answer {
	DISPATCH_UNUSED,
	DISPATCH_USED,
	DISPATCH_UNKNOWN, /* the kernel has no way to find out */
};

/* Load the program. Returns its descriptor or -errno. */
int dispatch_open(void);

#define DISPATCH_ALL_PROCESSES 0

/* Check all threads of the process `pid`, or of all processes. The answer is
 * DISPATCH_UNUSED for a process that has ended. */
enum dispatch_answer dispatch_ask(int program, int pid);

#endif
