/* SPDX-License-Identifier: Apache-2.0 */
/* Names in the vdso (vdso(7)): the kernel maps the same one into every 64-bit process, so
 * ours is looked at. */
#ifndef SYMBOL_VDSO_H
#define SYMBOL_VDSO_H

#include "symbol/elf_names.h"

/* The names of our vdso; NULL when there is none. */
struct error *vdso_names(struct elf_names **ret) __attribute__((warn_unused_result));

#endif
