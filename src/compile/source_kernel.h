/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the program text that tell probes/kernel.c about the running kernel; -D
 * flags give it the rest. */
#ifndef COMPILE_SOURCE_KERNEL_H
#define COMPILE_SOURCE_KERNEL_H

#include "compile/source_run.h"
#include "util/strbuf.h"

/* Append KERNEL_RANGES: the address ranges of the kernel code behind each class of
 * allocations. */
void source_append_ranges(struct strbuf *text, const struct source_run *o);

/* Append the program for a tracepoint. source_point_name() gives its name. */
void source_append_point(struct strbuf *text, const struct kernel_point *point);

/* The name of the program for a tracepoint of the kernel's allocations. */
void source_point_name(const struct kernel_point *point, char ret[PROGRAM_NAME_MAX]);

#endif
