/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#ifndef MEMTRACE_ASM_PAGE_H
#define MEMTRACE_ASM_PAGE_H

/* The page size of the running kernel; compile/source.c defines it. */
#define PAGE_SIZE MEMTRACE_PAGE_SIZE

#endif
