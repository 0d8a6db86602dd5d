/* SPDX-License-Identifier: Apache-2.0 */
/* A run that traces the kernel's own allocations (--kernel). */
#ifndef TRACEES_KERNEL_H
#define TRACEES_KERNEL_H

#include "kernel_heap/kernel_trace.h"
#include "tracees/tracees.h"
#include "symbol/kernel_names.h"
#include "util/error.h"

/*
 * Add the entry that stands for the kernel to the list: the process `pid` on whose behalf
 * the kernel allocates, or, if `pid` is 0, a pseudo-process with number 0. *ret says what
 * to trace. The caller calls kernel_trace_deinit() on it, also on failure.
 */
struct error *kernel_open(struct tracees *tracees, int pid, struct kernel_trace *ret)
	__attribute__((warn_unused_result));

/* Look up the functions of each enum kernel_place in `names` and store their ranges in
 * `ret`, which must be empty. */
struct error *kernel_find_places(const struct kernel_names *names,
				 struct kernel_trace *ret)
	__attribute__((warn_unused_result));

/* Print on standard error what `tracer` traces and what it cannot see. */
void kernel_say_tracing(const struct tracees *tracees, const struct tracer *tracer,
			const struct kernel_trace *trace);

#endif
