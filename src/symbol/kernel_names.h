/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of the kernel's functions and of its modules', from /proc/kallsyms, where
 * addresses of the kernel stand in stacks of processes.
 */
#ifndef SYMBOL_KERNEL_NAMES_H
#define SYMBOL_KERNEL_NAMES_H

#include <stdbool.h>
#include <stdio.h>

#include "symbol/symbolizer.h"

struct kernel_names;

/*
 * Read the lines "address type name [module]" of kernel/kallsyms.c, s_show(), as of now;
 * modules that are loaded later have no names. NULL when memory is out. What cannot be
 * parsed is passed over.
 */
struct kernel_names *kernel_names_read(FILE *file);
void kernel_names_destroy(struct kernel_names *names);

/* All addresses were 0: the kernel hides them (kernel.kptr_restrict of
 * proc_sys_kernel(5)), or there are none. */
bool kernel_names_are_hidden(const struct kernel_names *names);

/* Give each function, by address, to `fn`: with its end, where the next one begins, and
 * without its module. False as soon as `fn` is. */
bool kernel_names_each(const struct kernel_names *names,
		       bool (*fn)(const char *name, uint64_t start, uint64_t end,
				  void *arg),
		       void *arg);

/*
 * A symbolizer that answers from `names` (borrowed) for addresses of the kernel, and else
 * asks `user`, which it takes over, also on failure; NULL: all else has no name.
 */
struct error *symbolizer_with_kernel(struct symbolizer *user,
				     const struct kernel_names *names,
				     struct symbolizer **ret)
	__attribute__((warn_unused_result));

#endif
