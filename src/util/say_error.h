/* SPDX-License-Identifier: Apache-2.0 */
/* Prints errors on standard error. Their messages contain names that the target or the
 * user chose, so they are escaped (util/escape.h). */
#ifndef UTIL_SAY_ERROR_H
#define UTIL_SAY_ERROR_H

#include "util/error.h"

/* Print "memtrace: BEFORE MESSAGE AFTER", without these spaces, as one line. */
void say_error(const char *before, const struct error *err, const char *after);

#endif
