/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#ifndef MEMTRACE_LINUX_VERSION_H
#define MEMTRACE_LINUX_VERSION_H

#define KERNEL_VERSION(a, b, c) (((a) << 16) + ((b) << 8) + ((c) > 255 ? 255 : (c)))
/* The version of the running kernel; compile/source.c defines it. */
#define LINUX_VERSION_CODE MEMTRACE_LINUX_VERSION_CODE

#endif
