/* SPDX-License-Identifier: Apache-2.0 */
/* The privileges and kernel features that tracing needs. Reading them and judging them
 * are separate functions, so that tests can judge machines that they do not run on. */
#ifndef PROCESS_PRIVILEGES_H
#define PROCESS_PRIVILEGES_H

#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

struct privileges {
	uint64_t capabilities;    /* CapEff of /proc/self/status, bit = number */
	unsigned last_capability; /* /proc/sys/kernel/cap_last_cap */
	bool is_root;             /* effective uid 0 */
	int bpf_errno;            /* errno of creating a small map; 0: it was created */
	bool sys_missing,
		has_uprobes; /* /sys is not mounted; the kernel has the uprobe PMU */
};

/* Look at this process and this kernel. */
struct error *privileges_read(struct privileges *ret) __attribute__((warn_unused_result));

/* The first missing privilege or feature, as an error; NULL: nothing is missing. */
struct error *privileges_judge(const struct privileges *privileges)
	__attribute__((warn_unused_result));

#endif
