/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#ifndef MEMTRACE_LINUX_LOG2_H
#define MEMTRACE_LINUX_LOG2_H

#define roundup_pow_of_two(n) (1UL << (64 - __builtin_clzl((n) - 1)))

#endif
