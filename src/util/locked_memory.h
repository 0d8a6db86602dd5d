/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Before Linux 5.11 the memory of BPF programs and maps counts as locked memory. The
 * kernel checks the total of all processes of the user against the calling process's
 * limit (RLIMIT_MEMLOCK, usually 64 KiB; bpf_charge_memlock(), kernel/bpf/syscall.c).
 */
#ifndef UTIL_LOCKED_MEMORY_H
#define UTIL_LOCKED_MEMORY_H

#include <sys/resource.h>

/* Raise this process's limit as far as permitted. *before (may be NULL) receives the
 * old limit for locked_memory_restore(). */
void locked_memory_lift(struct rlimit *before);
void locked_memory_restore(const struct rlimit *before);

#endif
