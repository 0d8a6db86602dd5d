/* SPDX-License-Identifier: Apache-2.0 */
/* The context of a program at a raw tracepoint. Not for files that include linux/bpf.h,
 * which declares it without elements. */
#ifndef HOST_BPF_TRACEPOINT_H
#define HOST_BPF_TRACEPOINT_H

#include <stdint.h>

struct bpf_raw_tracepoint_args {
	uint64_t args[8];
};

#endif
