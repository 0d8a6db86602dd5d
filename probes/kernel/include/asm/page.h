/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MEMTRACE_ASM_PAGE_H
#define MEMTRACE_ASM_PAGE_H

/* The running kernel's, from bpf/source. */
#define PAGE_SIZE MEMTRACE_PAGE_SIZE

#endif
