/* SPDX-License-Identifier: Apache-2.0 */
/* The limit on open descriptors of this process (RLIMIT_NOFILE of getrlimit(2)). */
#ifndef UTIL_FILE_LIMIT_H
#define UTIL_FILE_LIMIT_H

#include <stdbool.h>

#include "util/error.h"

/* Returns ERROR_UNSUPPORTED, with advice, if the hard limit is below `least`
 * descriptors. */
struct error *file_limit_check(unsigned least) __attribute__((warn_unused_result));

/* Returns ERROR_IO if `count` more descriptors cannot be opened now. */
struct error *file_limit_has_room(unsigned count) __attribute__((warn_unused_result));

/* Did an operation fail because this process or the system had no descriptor left? */
bool file_limit_is_reached(const struct error *err);

/* Raise the soft limit to the hard limit, which the administrator sets. Later children
 * inherit it. */
void file_limit_raise(void);

#endif
