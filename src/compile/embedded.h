/* SPDX-License-Identifier: Apache-2.0 */
/* Files of probes/ that cmake/Embed.cmake puts into the binary. */
#ifndef COMPILE_EMBEDDED_H
#define COMPILE_EMBEDDED_H

#include "util/embedded.h"

/* The fragments of the BPF program; source_fragments.c joins them. */
extern const struct embedded_file embedded_probes[];

/* The minimal kernel header tree, by path within the tree. */
extern const struct embedded_file embedded_headers[];

#endif
