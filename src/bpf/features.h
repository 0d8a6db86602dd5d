/* SPDX-License-Identifier: Apache-2.0 */
/* What the running kernel can do, found by trying. */
#ifndef BPF_FEATURES_H
#define BPF_FEATURES_H

#include <stdbool.h>
#include <stdint.h>

struct bpf_insn;

struct kernel_features {
	bool cookies;      /* bpf_get_attach_cookie(), 5.15 */
	bool uprobe_multi; /* many uprobes in one link, 6.6, for all threads of a
				process, 6.10 and corrected older ones */
	bool sessions;     /* one program for entry and return, 6.13 */
	bool atomics;      /* compare-and-exchange in BPF, 5.12 */
	bool task_btf;     /* bpf_get_current_task_btf(), 5.11 */
	bool may_goto;     /* loops whose end the verifier does not see, 6.9 */
	bool reads_kernel; /* bpf_probe_read_kernel(), 5.5; not where the kernel is locked
				down to keep its secrets */
};

/* Load a program of a few instructions; a descriptor or -errno. */
int kernel_load(uint32_t type, const struct bpf_insn *insns, uint32_t count,
		uint32_t attach_type);

/* The same of one that returns 0. */
int kernel_load_empty(uint32_t type, uint32_t attach_type);

/* Does the kernel take this program? */
bool kernel_loads(uint32_t type, const struct bpf_insn *insns, uint32_t count);

void kernel_features_detect(struct kernel_features *ret);

#endif
