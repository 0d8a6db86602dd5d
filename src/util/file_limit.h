/* SPDX-License-Identifier: Apache-2.0 */
/* How many descriptors this process may have open (RLIMIT_NOFILE of getrlimit(2)). */
#ifndef UTIL_FILE_LIMIT_H
#define UTIL_FILE_LIMIT_H

#include <stdbool.h>

#include "util/error.h"

/* ERROR_UNSUPPORTED, with what to do, if the hard limit is below `least` descriptors. */
struct error *file_limit_check(unsigned least) __attribute__((warn_unused_result));

/* ERROR_IO if `count` more descriptors cannot be opened now. */
struct error *file_limit_has_room(unsigned count) __attribute__((warn_unused_result));

/* Did something fail as no descriptor was left to this process or to the system? */
bool file_limit_is_reached(const struct error *err);

/* Raise the limit to the hard one, which is the administrator's to set. Children that are
 * started from here on inherit it. */
void file_limit_raise(void);

#endif
