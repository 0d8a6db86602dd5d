/* SPDX-License-Identifier: Apache-2.0 */
/* A run that traces the kernel's own allocations (--kernel). */
#ifndef CLI_KERNEL_H
#define CLI_KERNEL_H

#include "bpf/kernel_trace.h"
#include "cli/tracees.h"
#include "symbol/kernel_names.h"
#include "util/error.h"

/* Frames of a stack in the kernel, where nothing else is asked for. */
#define KERNEL_STACK_DEPTH 64

/*
 * Put on the list what stands for the kernel: the process on behalf of which it
 * allocates, or with `pid` 0 a process of number 0. *ret: what is to be traced, the
 * caller's to deinit, also on failure.
 */
struct error *kernel_open(struct tracees *tracees, int pid, struct kernel_trace *ret)
	__attribute__((warn_unused_result));

/* The functions of enum kernel_place among `names`, into `ret`, which is empty. */
struct error *kernel_find_places(const struct kernel_names *names,
				 struct kernel_trace *ret)
	__attribute__((warn_unused_result));

/* Say on standard error what `tracer` traces, and what cannot be seen. */
void kernel_say_tracing(const struct tracees *tracees, const struct tracer *tracer,
			const struct kernel_trace *trace);

/* What --dry-run prints. */
struct error *kernel_dry_run(const struct options *options)
	__attribute__((warn_unused_result));

#endif
