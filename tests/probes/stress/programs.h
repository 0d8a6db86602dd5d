/* SPDX-License-Identifier: Apache-2.0 */
/* The programs of one variant of the probes (host_bpf/variants.c). */
#ifndef STRESS_PROGRAMS_H
#define STRESS_PROGRAMS_H

#include <stdbool.h>

#include "host_bpf/host_bpf.h"
#include "host_bpf/sites.h"

struct pt_regs;
struct bpf_raw_tracepoint_args;

/* NULL: the variant has no such program. */
struct host_programs {
	const char *variant;
	int (*entry[FN_COUNT])(struct pt_regs *ctx); /* of a function */
	int (*returned)(struct pt_regs *ctx);        /* return probe */
	int (*result)(struct pt_regs *ctx);          /* site inside a function */
	int (*fork)(struct bpf_raw_tracepoint_args *ctx);
	int (*exec)(struct bpf_raw_tracepoint_args *ctx);
	int (*thread_end)(struct bpf_raw_tracepoint_args *ctx);
	bool is_session;   /* a return probe only for calls whose entry returned 0 */
	bool frees_return; /* free has a return probe */
	bool has_traffic, is_sampled_by_bytes;
};

extern const struct host_programs host_programs;

#endif
