/* SPDX-License-Identifier: Apache-2.0 */
/* What tracing needs of this process and of the kernel, judged apart from looking it
 * up, so that a test can ask about machines that it does not run on. */
#ifndef TARGET_PRIVILEGES_H
#define TARGET_PRIVILEGES_H

#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

struct privileges {
	uint64_t capabilities;         /* CapEff of /proc/self/status, bit = number */
	unsigned last_capability;      /* /proc/sys/kernel/cap_last_cap */
	bool is_root;                  /* effective uid 0 */
	int bpf_errno;                 /* of making a small map; 0: it was made */
	bool sys_missing, has_uprobes; /* no /sys to look at; the uprobe PMU is there */
};

/* Look at this process and this kernel. */
struct error *privileges_read(struct privileges *ret) __attribute__((warn_unused_result));

/* The first thing that is missing, or NULL. */
struct error *privileges_judge(const struct privileges *privileges)
	__attribute__((warn_unused_result));

#endif
