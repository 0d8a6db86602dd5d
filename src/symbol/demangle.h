/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names as their source has them: C++ (Itanium ABI), Rust's legacy scheme, without its
 * hash, and Rust's v0 (RFC 2603). libiberty knows all three.
 */
#ifndef SYMBOL_DEMANGLE_H
#define SYMBOL_DEMANGLE_H

#include <stddef.h>

/*
 * The demangled form of `name`, owned; NULL if it is not mangled, is longer than 8 KiB,
 * or when out of memory. The result is cut at 64 KiB: a name of a hundred bytes can
 * expand to any length.
 */
char *demangle(const char *name);

#endif
