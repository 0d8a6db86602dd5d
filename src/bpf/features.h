/* SPDX-License-Identifier: Apache-2.0 */
/* Detects what the running kernel supports, by trying. */
#ifndef BPF_FEATURES_H
#define BPF_FEATURES_H

#include <stdbool.h>
#include <stdint.h>

struct bpf_insn;

struct kernel_features {
	bool cookies; /* bpf_get_attach_cookie(), 5.15 */
	/* many uprobes in one link (6.6) that serves all threads of a process (6.10, and
	 * older kernels with the fix) */
	bool uprobe_multi;
	bool sessions; /* one program for entry and return, 6.13 */
	bool atomics;  /* compare-and-exchange in BPF, 5.12 */
	bool task_btf; /* bpf_get_current_task_btf(), 5.11 */
	/* loops that the verifier cannot prove to end, 6.9 */
	bool may_goto;
	/* bpf_probe_read_kernel(), 5.5. Not available under kernel lockdown for
	 * confidentiality. */
	bool reads_kernel;
};

/* Load a program of a few instructions. Returns a descriptor or -errno. */
int kernel_load(uint32_t type, const struct bpf_insn *insns, uint32_t count,
		uint32_t attach_type);

/* Load a program that returns 0. Returns a descriptor or -errno. */
int kernel_load_empty(uint32_t type, uint32_t attach_type);

/* Does the kernel accept this program? */
bool kernel_loads(const struct bpf_insn *insns, uint32_t count);

void kernel_features_detect(struct kernel_features *ret);

#endif
