/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UTIL_STACK_LIMIT_H
#define UTIL_STACK_LIMIT_H

/*
 * Raise the stack limit of this process's main thread to the usual 8 MiB if the user
 * has set less. For a child whose libraries need much stack: libdw reads a table of
 * lines onto the stack (MAX_STACK_ALLOC of dwarf_getsrclines.c), and LLVM recurses.
 */
void stack_limit_raise(void);

#endif
