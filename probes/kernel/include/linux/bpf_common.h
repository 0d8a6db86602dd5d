/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Classic BPF opcodes that libbcc's bpf.h builds on (kernel: uapi/linux/bpf_common.h). */
#ifndef MEMTRACE_LINUX_BPF_COMMON_H
#define MEMTRACE_LINUX_BPF_COMMON_H

#define BPF_CLASS(code) ((code) & 0x07)
#define BPF_LD		0x00
#define BPF_LDX		0x01
#define BPF_ST		0x02
#define BPF_STX		0x03
#define BPF_ALU		0x04
#define BPF_JMP		0x05
#define BPF_RET		0x06
#define BPF_MISC	0x07

#endif
