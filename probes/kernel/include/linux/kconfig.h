/* SPDX-License-Identifier: Apache-2.0 */
/* What libbcc includes before everything else, in place of the kernel's own: the
 * least that its helpers.h and our probes need. See bpf/headers.h. */
#define CONFIG_BPF_SYSCALL 1
