/* SPDX-License-Identifier: Apache-2.0 */
/* What probes/kernel.c is told of the running kernel as text of the program, besides -D
 * flags. For source.c only. */
#ifndef BPF_SOURCE_KERNEL_H
#define BPF_SOURCE_KERNEL_H

#include "util/strbuf.h"

struct kernel_point;
struct source_options;

/* Append the KERNEL_RANGES: where the kernel's code of each class of allocations is. */
void source_append_ranges(struct strbuf *text, const struct source_options *o);

/* Append the program of a point, named by source_point_name(). */
void source_append_point(struct strbuf *text, const struct kernel_point *point);

#endif
