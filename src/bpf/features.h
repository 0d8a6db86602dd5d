/* SPDX-License-Identifier: Apache-2.0 */
/* What the running kernel can do, found by trying. */
#ifndef BPF_FEATURES_H
#define BPF_FEATURES_H

#include <stdbool.h>
#include <stdint.h>

/* Attach types that older <linux/bpf.h> do not have (include/uapi/linux/bpf.h). */
#define ATTACH_TYPE_PERF_EVENT   41
#define ATTACH_TYPE_UPROBE_MULTI 48

struct kernel_features {
	bool cookies;      /* bpf_get_attach_cookie(), 5.15 */
	bool uprobe_multi; /* many uprobes in one link, 6.6 */
	bool atomics;      /* compare-and-exchange in BPF, 5.12 */
};

void kernel_features_detect(struct kernel_features *ret);

/* bpf(2). Returns a descriptor or 0, or -errno. */
int sys_bpf(int command, void *attr, uint32_t size);

#endif
