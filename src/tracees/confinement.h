/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Properties of a process that can make a return probe kill it: docs/probes.md,
 * "Processes without return probes". A seccomp filter may forbid the system call of the
 * kernel's return trampoline (x86-64, Linux 6.11), and a shadow stack has a copy of the
 * return address. attach/trampoline.h tests whether this kernel lets its trampoline pass.
 * compile/dispatch.h finds syscall user dispatch.
 */
#ifndef TRACEES_CONFINEMENT_H
#define TRACEES_CONFINEMENT_H

#include <stdbool.h>

struct confinement {
	bool has_seccomp;      /* strict mode or a filter */
	bool has_shadow_stack; /* a user shadow stack (CET) */
};

/*
 * What the text of one thread's /proc/PID/task/TID/status says, by its lines "Seccomp:"
 * (Documentation/filesystems/proc.rst) and "x86_Thread_features:"
 * (Documentation/arch/x86/shstk.rst). A missing line means that the kernel has no such
 * feature.
 */
struct confinement confinement_parse(const char *status);

/*
 * What any thread of the process `pid` has. Reads the status of up to 4096 threads. All
 * members are true if there are more threads, or if a status cannot be read. They are
 * false for a thread or process that has ended.
 */
struct confinement confinement_read(int pid);

#endif
