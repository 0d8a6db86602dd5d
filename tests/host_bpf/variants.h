/* SPDX-License-Identifier: Apache-2.0 */
/* The runs whose probes are compiled for the host. */
#ifndef HOST_BPF_VARIANTS_H
#define HOST_BPF_VARIANTS_H

#include <stdbool.h>

#include "compile/source.h"

/* Sets the options of a run. Returns false if there is none of this name. */
bool variant_options(const char *name, struct source_options *ret);

/* The sites of all functions that the variant traces. Returns false without memory. */
bool variant_meanings(const struct source_options *options, struct meanings *ret);

#endif
