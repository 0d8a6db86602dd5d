/* SPDX-License-Identifier: Apache-2.0 */
/* The runs whose probes are compiled for the host. */
#ifndef HOST_BPF_VARIANTS_H
#define HOST_BPF_VARIANTS_H

#include <stdbool.h>

#include "compile/source.h"

struct variant {
	struct trace_config config;
	struct source_run run; /* points to `config`: do not copy */
};

/* Returns false if the name is unknown. */
bool variant_init(const char *name, struct variant *ret);

/* The sites of all functions that the variant traces. Returns false without memory. */
bool variant_meanings(const struct source_run *run, struct meanings *ret);

#endif
