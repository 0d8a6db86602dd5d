/* SPDX-License-Identifier: Apache-2.0 */
/* Names in the vdso (vdso(7)). The kernel maps the same vdso into every 64-bit process,
 * so memtrace reads its own. */
#ifndef SYMBOL_VDSO_H
#define SYMBOL_VDSO_H

#include "dwarf/elf_names.h"

/* The names of our vdso; NULL: it has none. */
struct error *vdso_names(struct elf_names **ret) __attribute__((warn_unused_result));

#endif
