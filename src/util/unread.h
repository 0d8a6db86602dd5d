/* SPDX-License-Identifier: Apache-2.0 */
/* Pipes without readers, as in `memtrace ... | head`. */
#ifndef UTIL_UNREAD_H
#define UTIL_UNREAD_H

#include <stdbool.h>

/* Is the descriptor a pipe or a socket whose other end is closed? Then a write fails with
 * EPIPE. */
bool fd_is_unread(int fd);

#endif
