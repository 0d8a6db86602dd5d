/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes all requested bytes: a system call may transfer only a part, and
 * signals interrupt it. */
#ifndef UTIL_WHOLE_IO_H
#define UTIL_WHOLE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Read `size` bytes at `offset`. False: the file has fewer, or an error. */
bool whole_pread(int fd, void *to, size_t size, uint64_t offset);

/* Write `size` bytes. False with errno set. A write that reaches a limit writes what
 * fits; the next one fails with the reason. */
bool whole_write(int fd, const void *from, size_t size);

#endif
