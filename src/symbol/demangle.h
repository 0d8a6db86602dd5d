/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names as their source has them: C++ (Itanium ABI), Rust's legacy scheme, whose hash is
 * left away, and v0 (RFC 2603). By libiberty, which knows all three.
 */
#ifndef SYMBOL_DEMANGLE_H
#define SYMBOL_DEMANGLE_H

#include <stddef.h>

/*
 * The demangled form of `name`, owned; NULL when it is not mangled, when it is longer
 * than 8 KiB, or when memory is out. What is longer than 64 KiB is cut there: a name of a
 * hundred bytes can stand for text without end.
 */
char *demangle(const char *name);

#endif
