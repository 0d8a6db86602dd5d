/* SPDX-License-Identifier: Apache-2.0 */
/* What the running kernel can do, found by trying. */
#ifndef BPF_FEATURES_H
#define BPF_FEATURES_H

#include <stdbool.h>

struct kernel_features {
	bool cookies;      /* bpf_get_attach_cookie(), 5.15 */
	bool uprobe_multi; /* many uprobes in one link, 6.6 */
	bool atomics;      /* compare-and-exchange in BPF, 5.12 */
};

void kernel_features_detect(struct kernel_features *ret);

#endif
