/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UTIL_STACK_LIMIT_H
#define UTIL_STACK_LIMIT_H

/*
 * Give this process's first thread the stack that is usual, 8 MiB, whatever limit the
 * user has set: for a child that runs libraries which have no thought for who limits it.
 * libdw reads a table of lines onto the stack (MAX_STACK_ALLOC of dwarf_getsrclines.c),
 * and LLVM recurses.
 */
void stack_limit_raise(void);

#endif
