/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Process and thread id. memtrace is in the initial pid namespace, whose numbers BPF
 * uses. */
#define current_pid_tgid() bpf_get_current_pid_tgid()
