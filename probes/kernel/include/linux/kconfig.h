/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* libbcc includes this first, in place of the kernel's kconfig.h. It has only what
 * libbcc's helpers.h and our probes need. See compile/headers.h. */
#define CONFIG_BPF_SYSCALL 1
