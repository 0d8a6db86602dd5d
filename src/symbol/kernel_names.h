/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of functions of the kernel and its modules, from /proc/kallsyms, for kernel
 * addresses in stacks.
 */
#ifndef SYMBOL_KERNEL_NAMES_H
#define SYMBOL_KERNEL_NAMES_H

#include <stdbool.h>
#include <stdio.h>

#include "symbol/symbolizer.h"

struct kernel_names;

/*
 * Read the current lines "address type name [module]" (s_show(), kernel/kallsyms.c).
 * Modules that are loaded later have no names. Malformed lines are skipped. NULL when
 * out of memory.
 */
struct kernel_names *kernel_names_read(FILE *file);
void kernel_names_destroy(struct kernel_names *names);

/* True if all addresses are 0, so that the kernel hides them (kernel.kptr_restrict in
 * proc_sys_kernel(5)), or if there were no names. */
bool kernel_names_are_hidden(const struct kernel_names *names);

/* Call `fn` for each function, by address, without modules; `end` is the start of the
 * next function. False as soon as `fn` returns false. */
bool kernel_names_each(const struct kernel_names *names,
		       bool (*fn)(const char *name, uint64_t start, uint64_t end,
				  void *arg),
		       void *arg);

/*
 * A symbolizer that answers from `names` (borrowed) for kernel addresses, and from
 * `user` for others. Takes ownership of `user`, also on failure; NULL: other addresses
 * have no names.
 */
struct error *symbolizer_with_kernel(struct symbolizer *user,
				     const struct kernel_names *names,
				     struct symbolizer **ret)
	__attribute__((warn_unused_result));

#endif
