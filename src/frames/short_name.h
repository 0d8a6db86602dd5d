/* SPDX-License-Identifier: Apache-2.0 */
/* Names of functions, short enough to read. */
#ifndef FRAMES_SHORT_NAME_H
#define FRAMES_SHORT_NAME_H

#include "util/strbuf.h"

/*
 * Append the short form of a demangled name:
 *  - without template arguments, parameters, return type and qualifiers:
 *    "void Shop::add<int>(int) const" gives "Shop::add". Operators keep their symbols:
 *    "operator<", "operator()", "operator new[]", "operator bool".
 *  - without ABI tags, "(anonymous namespace)::", inline namespaces of the C++ libraries
 *    ("std::__cxx11::", "std::__1::") and suffixes of compilers (".isra.0",
 *    "[clone .cold]");
 *  - "std::basic_string<char, ...>" gives "std::string", and the same for streams;
 *  - a lambda is "{lambda#1}", without "operator()";
 *  - of Rust without hashes; "<Vec<T> as Drop>::drop" gives "Vec::drop";
 *  - of Go without the path of the package: "store.(*DB).Put".
 * A name of any other form, such as one of a JIT compiler, stays as it is. The result is
 * not escaped. It is never empty unless `name` is, and at most twice as long as `name`.
 * Takes time linear in the length of the name.
 */
void short_name_append(struct strbuf *out, const char *name);

#endif
