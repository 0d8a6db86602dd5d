/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Before Linux 5.11 the memory of BPF programs and maps counts as locked, of which a
 * user's processes may together have as much as the limit of the one that asks says
 * (RLIMIT_MEMLOCK, mostly 64 KiB; bpf_charge_memlock(), kernel/bpf/syscall.c).
 */
#ifndef UTIL_LOCKED_MEMORY_H
#define UTIL_LOCKED_MEMORY_H

#include <sys/resource.h>

/* Lift this process's limit as far as it may be; *before, if that is not NULL, is for
 * locked_memory_restore(). */
void locked_memory_lift(struct rlimit *before);
void locked_memory_restore(const struct rlimit *before);

#endif
