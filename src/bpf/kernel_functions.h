/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel tells of its functions: `symbols` reads like /proc/kallsyms, lines
 * "address type name [module]", of which types t and w are code (nm(1)). It is read from
 * its current position; NULL tells of nothing.
 */
#ifndef BPF_KERNEL_FUNCTIONS_H
#define BPF_KERNEL_FUNCTIONS_H

#include <stdint.h>
#include <stdio.h>

#include "util/error.h"

/* Why the kernel refused a probe in the function `name`: there is none, and which are
 * like it; there are several (it takes no probe then, since 6.6); or it has to be left
 * alone (Documentation/trace/kprobes.rst, "Blacklist"). Never NULL. */
struct error *kernel_functions_explain(FILE *symbols, const char *name)
	__attribute__((warn_unused_result, returns_nonnull));

/* The kernel takes any offset and counts what is there. ERROR_NOT_FOUND when another
 * function begins before it; NULL also where addresses are hidden. Needs a `symbols` that
 * can be rewound. */
struct error *kernel_functions_check_offset(FILE *symbols, const char *name,
					    uint64_t offset)
	__attribute__((warn_unused_result));

#endif
