/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the program text that tell probes/kernel.c about the running kernel; -D
 * flags give it the rest. Only for source.c. */
#ifndef COMPILE_SOURCE_KERNEL_H
#define COMPILE_SOURCE_KERNEL_H

#include "util/strbuf.h"

struct kernel_point;
struct source_options;

/* Append KERNEL_RANGES: the address ranges of the kernel code behind each class of
 * allocations. */
void source_append_ranges(struct strbuf *text, const struct source_options *o);

/* Append the program for a tracepoint. source_point_name() gives its name. */
void source_append_point(struct strbuf *text, const struct kernel_point *point);

#endif
