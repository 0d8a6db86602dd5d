/* SPDX-License-Identifier: Apache-2.0 */
/* Names of functions, short enough to read. */
#ifndef FRAMES_SHORT_NAME_H
#define FRAMES_SHORT_NAME_H

#include "util/strbuf.h"

/*
 * Append the short form of a demangled name: docs/options.md, "Names, paths and
 * addresses". A name of any other form, such as one of a JIT compiler, stays as it is.
 * The result is not escaped. It is never empty unless `name` is, and at most twice as
 * long as `name`. Takes time linear in the length of the name.
 */
void short_name_append(struct strbuf *out, const char *name);

#endif
