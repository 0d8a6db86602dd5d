/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing of as much as is asked for: system calls may do a part of it, and
 * signals interrupt them. */
#ifndef UTIL_WHOLE_IO_H
#define UTIL_WHOLE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Read `size` bytes from `offset` on; false when there are not so many, or by an error.
 */
bool whole_pread(int fd, void *to, size_t size, uint64_t offset);

/* Write `size` bytes; false with errno set. A write that comes to a limit writes what
 * still fits, and the next one says why. */
bool whole_write(int fd, const void *from, size_t size);

#endif
