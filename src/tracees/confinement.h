/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Properties of a process that can make a return probe kill it. The kernel's return
 * trampoline enters the kernel by a system call (x86-64, Linux 6.11), which a seccomp
 * filter may forbid. It also changes a return address, which a shadow stack holds a copy
 * of. Whether this kernel lets its trampoline pass is tested by attach/trampoline.h.
 *
 * Syscall user dispatch (prctl(2), PR_SET_SYSCALL_USER_DISPATCH) also stops that system
 * call. /proc does not show it; compile/dispatch.h finds it.
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
