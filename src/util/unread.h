/* SPDX-License-Identifier: Apache-2.0 */
/* Pipes without readers, as in `memtrace ... | head`, and other descriptors that cannot
 * be written to. */
#ifndef UTIL_UNREAD_H
#define UTIL_UNREAD_H

#include <stdbool.h>

/* Is the descriptor a pipe or a socket whose other end is closed? Then a write fails with
 * EPIPE. */
bool fd_is_unread(int fd);

/* Why an earlier write to the descriptor failed, as far as it can still be found out: an
 * errno, EIO if the descriptor now seems to work. */
int fd_write_errno(int fd);

#endif
