/* SPDX-License-Identifier: Apache-2.0 */
/* Finds kernel functions and explains why they cannot be probed. `symbols` has the format
 * of /proc/kallsyms: lines "address type name [module]"; types t and w are code (nm(1)).
 * It is read from its current position. NULL stands for an empty file. */
#ifndef KERNEL_HEAP_KERNEL_FUNCTIONS_H
#define KERNEL_HEAP_KERNEL_FUNCTIONS_H

#include <stdint.h>
#include <stdio.h>

#include "util/error.h"

/*
 * Explain why the kernel refused to probe the function `name`. Either it does not exist
 * (names similar ones), or there are several (the kernel refuses those since 6.6), or the
 * kernel forbids probes there (Documentation/trace/kprobes.rst, "Blacklist"). Never
 * returns NULL.
 */
struct error *kernel_functions_explain(FILE *symbols, const char *name)
	__attribute__((warn_unused_result, returns_nonnull));

/*
 * Check that `offset` lies in the function: the kernel accepts any offset, and counts
 * what is at that address. Returns ERROR_NOT_FOUND if another function begins at or
 * before the offset, and NULL also if addresses are hidden. `symbols` must be seekable.
 */
struct error *kernel_functions_check_offset(FILE *symbols, const char *name,
					    uint64_t offset)
	__attribute__((warn_unused_result));

#endif
