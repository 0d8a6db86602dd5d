/* SPDX-License-Identifier: Apache-2.0 */
/* Does a function begin where a symbol says? */
#ifndef PLAN_START_H
#define PLAN_START_H

#include "target/elf.h"
#include "unwind/cfi.h"

/*
 * Why no function is known to begin at the symbol, or NULL: a static string. The file's
 * own unwind information is asked (`cfi`; NULL: it has none), since a debug file may be
 * forged, and a breakpoint inside an instruction destroys the code of every process that
 * maps the file. Without unwind information the file's own symbols are trusted, and
 * symbols of a debug file are not.
 */
const char *start_doubt(const struct cfi *cfi, const struct elf_symbol *symbol);

#endif
